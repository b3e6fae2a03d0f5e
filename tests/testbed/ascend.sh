# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# `testbed ascend`, sourced by `testbed`: lets a running host look like an NPU server (see ascend/README.md).

readonly ASCEND_HOME=/usr/local/lib/testbed-ascend

ascend_copy() { # CONTAINER
  tar -C "$TESTBED_DIR/ascend" --exclude=__pycache__ --owner=0 --group=0 -c . |
    docker exec -i "$1" sh -ec "rm -rf $ASCEND_HOME && mkdir -p $ASCEND_HOME && tar -C $ASCEND_HOME -x"
  tar -C "$TESTBED_DIR/../unit/samples/npu" --owner=0 --group=0 -c . |
    docker exec -i "$1" sh -ec "mkdir -p $ASCEND_HOME/samples && tar -C $ASCEND_HOME/samples -x"
}

ascend_set() { # NAME STATE CANN…
  local container version
  container=$(container_of "$1")
  container_runs "$container" || die "no running host '$1': 'testbed up $1=OCTET' first"
  ascend_copy "$container"
  docker exec "$container" python3 "$ASCEND_HOME/simulate.py" "$2" || die "$1: state $2 was not set: see the line above"
  shift 2
  for version in "$@"; do
    docker exec "$container" bash "$ASCEND_HOME/install" /usr/local/Ascend "$version" >/dev/null
  done
}
