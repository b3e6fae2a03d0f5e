#!/usr/bin/python
# Copyright The kvcache.ascend authors
# SPDX-License-Identifier: Apache-2.0
"""Wait until Mooncake masters serve, or fail with what is wrong."""

from __future__ import annotations

DOCUMENTATION = r"""
module: mooncake_master_check
short_description: Prove that Mooncake masters serve, or say what is wrong and what to do
version_added: 0.1.0
description:
  - Asks each master, from the host on which the module runs, over its real RPC protocol and over HTTP on its metrics port,
    until all of them serve or O(timeout) is over.
  - Fails with the findings of the last try, those of all addresses at once, each with its fix.
  - Tells apart a name that is not known, a refused connection, a firewall, no route, another service on the port, a hanging
    master, a standby, a master that is not ready yet, a missing or foreign metrics port, and a pool without clients.
  - Every address must be a master that serves. Of a high availability group give the leader only.
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
      - Seconds to wait until all is well. V(0) asks once.
      - A try that has begun is finished, since one that is cut short tells nothing. The module can thus take longer by
        some times O(step_timeout).
    type: float
    default: 30.0
  interval:
    description: Seconds between two tries.
    type: float
    default: 1.0
  min_clients:
    description:
      - Number of clients that must be attached to each master, and at least one of them with memory for the pool.
      - V(0) never fails. A pool without clients is reported as such, clients without memory as a warning.
      - A version that doesn't export the number of its clients (0.3.7) is only held to a pool with memory.
    type: int
    default: 0
  segments:
    description:
      - Segments that must be in the pool, by their names (C(host:port)), and the bytes of each.
      - A version that doesn't export them (0.3.7) has none.
    type: dict
    default: {}
  step_timeout:
    description: Seconds that one network step may take (resolve the name, connect, get one answer).
    type: float
    default: 3.0
notes:
  - The RPC probe is one call without arguments (ServiceReady). It creates no client in the master and counts in no metric.
  - A master that runs with RDMA as its RPC transport (E(MC_RPC_PROTOCOL=rdma)) can't be asked in this way.
  - Needs nothing but Python on the host on which it runs; in particular not Mooncake.
seealso:
  - module: kvcache.ascend.mooncake_master_info
"""

EXAMPLES = r"""
- name: Prove from every host that the master can be used
  kvcache.ascend.mooncake_master_check:
    address: master-1:50088

- name: Wait longer, until two instances have joined the pool
  kvcache.ascend.mooncake_master_check:
    address: master-1:50088
    timeout: 300
    interval: 5
    min_clients: 2

- name: Wait until the pool has a store node's segment
  kvcache.ascend.mooncake_master_check:
    address: master-1:50088
    segments: {"npu-03:50052": 42949672960}

- name: Check from a host that may reach the RPC port only
  kvcache.ascend.mooncake_master_check:
    address: "[fd00::12]:50088"
    metrics_port: 0
"""

RETURN = r"""
msg:
  description: The findings in words, what is wrong, where, what was expected and what to do.
  returned: always
  type: str
  sample: |-
    master-1:50088 refused the connection (from host demo-2). Expected: a Mooncake master.
      Fix: start it there (sudo systemctl start mooncake-master) or correct mooncake_master_address
attempts:
  description: Number of tries.
  returned: when the arguments could be read
  type: int
  sample: 1
waited_seconds:
  description: Seconds from the start to the end of the last try.
  returned: when the arguments could be read
  type: float
  sample: 0.1
masters:
  description:
    - What was seen of each address, in the order of O(address). What is unknown is null.
    - When the module fails, what is unknown is left out, so that the failure can be read.
  returned: when the arguments could be read
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
  returned: when the arguments could be read
  type: list
  elements: dict
  contains:
    check:
      description:
        - V(mooncake_master_name), V(mooncake_master_rpc), V(mooncake_master_metrics), V(mooncake_master_role),
          V(mooncake_master_clients) or V(mooncake_master_segment).
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
    finding,
    mooncake_master,
    mooncake_master_arguments,
)


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "address": {"type": "list", "elements": "str", "required": True},
            "metrics_port": {"type": "int", "default": 10022},
            "timeout": {"type": "float", "default": 30.0},
            "interval": {"type": "float", "default": 1.0},
            "step_timeout": {"type": "float", "default": 3.0},
            "min_clients": {"type": "int", "default": 0},
            "segments": {"type": "dict", "default": {}},
        },
        supports_check_mode=True,
    )
    mistakes = mooncake_master_arguments.mistakes(module.params)
    if mistakes:
        module.fail_json(msg="\n".join(mistakes))

    result = mooncake_master.wait_until_all_serve(
        mooncake_master_arguments.addresses(module.params),
        mooncake_master.Options(
            metrics_port=module.params["metrics_port"],
            step_timeout_seconds=module.params["step_timeout"],
            min_clients=module.params["min_clients"],
            segments={name: int(size) for name, size in module.params["segments"].items()},
        ),
        this_host=platform.node(),
        timeout_seconds=module.params["timeout"],
        interval_seconds=module.params["interval"],
    )
    returned = {
        "changed": False,
        "masters": result.masters,
        "findings": result.findings,
        "attempts": result.attempts,
        "waited_seconds": result.waited_seconds,
    }
    if finding.worst(result.findings) == finding.ERROR:
        returned["masters"] = finding.without_unknown(result.masters)
        module.fail_json(msg=finding.render(finding.problems(result.findings)), **returned)
    module.exit_json(msg=finding.render(result.findings), **returned)


if __name__ == "__main__":
    main()
