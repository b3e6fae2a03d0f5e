#!/usr/bin/python
# Copyright The kvcache.ascend authors
# SPDX-License-Identifier: Apache-2.0
"""What a Mooncake master says of itself, seen from this host."""

from __future__ import annotations

DOCUMENTATION = r"""
module: mooncake_master_info
short_description: Tell whether Mooncake masters can be reached, what they are, and their numbers
version_added: 0.1.0
description:
  - Asks each master once, from the host on which the module runs, over its real RPC protocol and over HTTP on its metrics
    port.
  - Never fails because of what it saw, only because of an argument that it can't read.
  - M(kvcache.ascend.mooncake_master_check) fails when a master doesn't serve, and waits for it.
author:
  - The kvcache.ascend authors (@kvcache-ascend)
extends_documentation_fragment:
  - kvcache.ascend.attributes
options:
  address:
    description:
      - RPC address of the master, C(host:port), or C([address]:port) for an IPv6 address. Several may be given.
      - Addresses of a high availability backend, such as C(etcd://), are not supported yet.
    type: list
    elements: str
    required: true
  metrics_port:
    description:
      - Port on which the masters serve HTTP (metrics, health, role).
      - V(0) leaves it out, for a host that a firewall keeps from that port.
    type: int
    default: 10022
  timeout:
    description:
      - Seconds for all of it. All addresses are asked at the same time.
      - A step for which no time was left is reported as V(not_asked).
    type: float
    default: 10.0
  step_timeout:
    description: Seconds that one network step may take (resolve the name, connect, get one answer).
    type: float
    default: 3.0
notes:
  - The RPC probe is one call without arguments (ServiceReady). It creates no client in the master and counts in no metric.
  - A master that runs with RDMA as its RPC transport (E(MC_RPC_PROTOCOL=rdma)) can't be asked in this way.
  - Needs nothing but Python on the host on which it runs; in particular not Mooncake.
seealso:
  - module: kvcache.ascend.mooncake_master_check
"""

EXAMPLES = r"""
- name: Look at the master
  kvcache.ascend.mooncake_master_info:
    address: master-1:50088
  register: master

- name: Show how full the pool is
  ansible.builtin.debug:
    msg: "{{ master.masters[0].metrics.allocated_bytes }} of {{ master.masters[0].metrics.capacity_bytes }} bytes"

- name: Look at two masters that serve their metrics on Mooncake's own default port
  kvcache.ascend.mooncake_master_info:
    address:
      - master-1:50051
      - "[fd00::12]:50051"
    metrics_port: 9003
"""

RETURN = r"""
masters:
  description: What was seen of each address, in the order of O(address). What is unknown is null.
  returned: always
  type: list
  elements: dict
  contains:
    address:
      description: The address, as host and port.
      type: str
      sample: master-1:50088
    host:
      description: Host name or IP address out of the address.
      type: str
      sample: master-1
    port:
      description: RPC port out of the address.
      type: int
      sample: 50088
    metrics_port:
      description: The metrics port that was asked, 0 if none.
      type: int
      sample: 10022
    resolved:
      description: IP addresses of the host; empty when the name was not resolved.
      type: list
      elements: str
      sample: [192.0.2.10]
    serving:
      description: Whether the master answered the RPC without an error and doesn't say that it is a standby or not ready.
      type: bool
      sample: true
    rpc:
      description: The RPC port.
      type: dict
      contains:
        outcome:
          description:
            - How far the request came.
            - V(answered), V(refused), V(timed_out) (no connection), V(unreachable), V(failed) (another error of the
              operating system), V(closed) (connected, then closed without an answer), V(silent) (connected, no answer),
              or V(not_asked) (the name was not resolved or the time was used up).
          type: str
          sample: answered
        detail:
          description: The error behind the outcome in words, empty for V(answered).
          type: str
          sample: ""
        is_master:
          description: Whether what answered is a Mooncake master.
          type: bool
          sample: true
        error_code:
          description: Error code of a coro_rpc answer, 0 for success, null if the answer was none.
          type: int
          sample: 0
        error_text:
          description: The service's words for an error code other than 0.
          type: str
          sample: null
        protocol_version:
          description: Version of the store protocol, not of Mooncake. Null for Mooncake 0.3.7, which has none.
          type: str
          sample: 2.0.0
    health:
      description: The page /health of the metrics port.
      type: dict
      contains:
        outcome:
          description: As RV(masters[].rpc.outcome).
          type: str
          sample: answered
        detail:
          description: As RV(masters[].rpc.detail).
          type: str
          sample: ""
        status_code:
          description: HTTP status, null if the answer was not HTTP.
          type: int
          sample: 200
        is_master:
          description: Whether the pages of this port are those of a Mooncake master.
          type: bool
          sample: true
        service_ready:
          description: What the master says of itself; null on versions older than 0.3.10.
          type: bool
          sample: true
        ha_state:
          description: State of the master; null on versions older than 0.3.10.
          type: str
          sample: serving
        leader_address:
          description: RPC address of the leader, as far as this master knows and tells it.
          type: str
          sample: null
    role:
      description: V(leader) or V(standby); null on versions older than 0.3.10, which don't tell.
      type: str
      sample: leader
    metrics:
      description: Numbers of the page /metrics; null for one that this version doesn't export.
      type: dict
      contains:
        outcome:
          description: As RV(masters[].rpc.outcome).
          type: str
          sample: answered
        capacity_bytes:
          description: Memory of the pool, all segments together, in bytes.
          type: int
          sample: 42949672960
        allocated_bytes:
          description: Memory of the pool that holds values, in bytes.
          type: int
          sample: 1073741824
        file_capacity_bytes:
          description: Space for values on disks, in bytes.
          type: int
          sample: 0
        file_allocated_bytes:
          description: Space on disks that holds values, in bytes.
          type: int
          sample: 0
        key_count:
          description: Number of keys.
          type: int
          sample: 1024
        soft_pinned_key_count:
          description: Number of keys that are evicted last.
          type: int
          sample: 0
        active_clients:
          description: Number of clients; null for 0.3.7, which doesn't export it.
          type: int
          sample: 8
        evictions_total:
          description: Number of eviction rounds that freed memory, since the master's start.
          type: int
          sample: 0
        eviction_attempts_total:
          description: Number of eviction rounds, since the master's start.
          type: int
          sample: 0
        evicted_key_count:
          description: Number of keys evicted, since the master's start.
          type: int
          sample: 0
        evicted_bytes:
          description: Memory freed by evictions, in bytes, since the master's start.
          type: int
          sample: 0
        put_start_failures_total:
          description: Number of puts that the master refused, since its start.
          type: int
          sample: 0
        put_start_allocation_failures_total:
          description: Those of them for which there was no room in the pool.
          type: int
          sample: 0
        mount_segment_failures_total:
          description: Number of segments that could not be added to the pool, since the master's start.
          type: int
          sample: 0
findings:
  description: What is wrong; for an address with which all is well one finding of severity V(ok).
  returned: always
  type: list
  elements: dict
  contains:
    check:
      description:
        - V(mooncake_master_name), V(mooncake_master_rpc), V(mooncake_master_metrics), V(mooncake_master_role) or
          V(mooncake_master_clients).
      type: str
      sample: mooncake_master_rpc
    severity:
      description: V(ok), V(warning) or V(error).
      type: str
      sample: error
    host:
      description: The host on which the module ran.
      type: str
      sample: demo-2
    observed:
      description: What is wrong, and where.
      type: str
      sample: master-1:50088 refused the connection
    expected:
      description: What should have been there.
      type: str
      sample: a Mooncake master
    fix:
      description: What to do next.
      type: str
      sample: start it there (sudo systemctl start mooncake-master) or correct mooncake_master_address
"""

import platform

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.kvcache.ascend.plugins.module_utils import (
    mooncake_master,
    mooncake_master_arguments,
)


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "address": {"type": "list", "elements": "str", "required": True},
            "metrics_port": {"type": "int", "default": 10022},
            "timeout": {"type": "float", "default": 10.0},
            "step_timeout": {"type": "float", "default": 3.0},
        },
        supports_check_mode=True,
    )
    mistakes = mooncake_master_arguments.mistakes(module.params)
    if mistakes:
        module.fail_json(msg="\n".join(mistakes))

    result = mooncake_master.ask_all(
        mooncake_master_arguments.addresses(module.params),
        mooncake_master.Options(
            metrics_port=module.params["metrics_port"],
            step_timeout_seconds=module.params["step_timeout"],
        ),
        this_host=platform.node(),
        total_seconds=module.params["timeout"],
    )
    module.exit_json(changed=False, masters=result.masters, findings=result.findings)


if __name__ == "__main__":
    main()
