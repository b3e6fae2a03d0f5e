#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes a repository of empty packages.
#   make_rpms.sh FOLDER NAME…
set -euo pipefail

folder=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$folder"
for name in "$@"; do
  cat >"$work/$name.spec" <<SPEC
Name: $name
Version: 1.0
Release: 1
Summary: $name for a test
License: Apache-2.0
BuildArch: noarch
%description
An empty package.
%files
SPEC
  rpmbuild --quiet --define "_topdir $work" -bb "$work/$name.spec" >/dev/null
done
cp "$work"/RPMS/noarch/*.rpm "$folder/"
createrepo_c --quiet "$folder"
