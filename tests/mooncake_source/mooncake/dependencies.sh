#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# As upstream's: asks without -y, wants root, and runs from the repository's root. Counts its runs.
[ "$1" = -y ] || exit 0
[ "$(id -u)" -eq 0 ] || exit 1
[ -f CMakeLists.txt ] || exit 1
echo run >>/var/lib/dependencies.sh.runs
