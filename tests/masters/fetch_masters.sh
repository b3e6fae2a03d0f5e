#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Fetch the real mooncake_master of several Mooncake versions for test_real_master.py.
#
#   tests/masters/fetch_masters.sh DIRECTORY
#   KVCACHE_REAL_MASTERS=DIRECTORY pytest tests/masters
#
# Makes DIRECTORY/<version>/mooncake/mooncake_master, one folder per version; a version that is
# already there is left alone. The binaries need the system libraries libibverbs1, libcurl4 and
# libnuma1 (Debian package names); the high availability tests also need etcd (etcd-server).
#
# PYTHON picks the interpreter (default python3). It must be one that the wheels exist for
# (CPython 3.9 to 3.12), since the tests attach a store client with the wheel's own library.
set -eu

# These versions cover each change of the HTTP endpoints that the probe reads:
# 0.3.7 (/health is "OK", metrics appear when touched, no RPC version), 0.3.8 (all metrics),
# 0.3.13 (/health is JSON, /role exists).
VERSIONS="0.3.7.post1 0.3.8.post1 0.3.13.post1"

if [ "$#" -ne 1 ]; then
    echo "usage: $0 DIRECTORY" >&2
    exit 2
fi

directory=$1
python=${PYTHON:-python3}
mkdir -p "$directory"

for version in $VERSIONS; do
    target=$directory/$version
    if [ -x "$target/mooncake/mooncake_master" ]; then
        echo "$version: already in $target"
        continue
    fi
    # Installed beside its final place and then renamed: an interrupted run leaves no half folder
    # that the next run would take for a whole one.
    rm -rf "$target.partial"
    "$python" -m pip install --quiet --disable-pip-version-check --no-deps --no-compile \
        --target "$target.partial" "mooncake-transfer-engine-non-cuda==$version"
    chmod +x "$target.partial/mooncake/mooncake_master"
    rm -rf "$target"
    mv "$target.partial" "$target"
    echo "$version: fetched into $target"
done

missing=$(ldd "$directory"/*/mooncake/mooncake_master | awk '/not found/ {print $1}' | sort -u)
if [ -n "$missing" ]; then
    echo "Libraries that mooncake_master needs are missing on this host: $missing" >&2
    echo "Install them (Debian: apt-get install libibverbs1 libcurl4 libnuma1)." >&2
    exit 1
fi
