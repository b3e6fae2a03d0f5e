#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""What state a systemd service is in, with which environment it runs, and who listens on its ports."""

from __future__ import annotations

DOCUMENTATION = r"""
module: service_state_info
short_description: Tell the state of a service, the environment that it runs with, and who listens on its ports
version_added: 0.1.0
description:
  - Answers in one call what a role must know before it touches a service. Does it run, does it still run with an older
    configuration, and are its ports free.
  - The environment is that of the running process, not that of the unit's files, so that a restart that got lost when a run
    was killed is seen.
  - Never fails because of what it saw.
author:
  - The kvcache.ascend authors (@kvcache-ascend)
extends_documentation_fragment:
  - kvcache.ascend.attributes
options:
  name:
    description: The unit, with its ending.
    type: str
    required: true
  ports:
    description: TCP ports of which to tell who listens on them.
    type: list
    elements: int
    default: []
  environment:
    description: Names of the environment variables to read from the running process.
    type: list
    elements: str
    default: []
  wait_seconds:
    description: Most seconds to wait until the unit itself listens on all of O(ports).
    type: int
    default: 0
  address:
    description: Name or IP address of which to tell whether a service on this host can listen on it.
    type: str
"""

EXAMPLES = r"""
- name: Look at the master
  kvcache.ascend.service_state_info:
    name: mooncake-master.service
    ports: [50088, 10022]
    environment: [KVCACHE_CONFIG]
  register: result
"""

RETURN = r"""
service_state:
  description: What was seen.
  returned: always
  type: dict
  contains:
    exists:
      description: Whether systemd knows the unit.
      type: bool
    masked:
      description: Whether somebody has masked the unit, so that it can't be started.
      type: bool
    drop_ins:
      description: Files that change the unit, by whomever they were written.
      type: list
      elements: str
    active:
      description: The unit's active state, V(active), V(inactive), V(failed), V(activating) and so on.
      type: str
      sample: active
    main_pid:
      description: Process id of the main process; null when none runs.
      type: int
      sample: 4711
    main_uid:
      description: User id of the main process; null when none runs.
      type: int
      sample: 998
    main_state:
      description: State of the main process in the kernel, V(S) (sleeps), V(R) (runs), V(T) (halted); null when none runs.
      type: str
      sample: S
    address_problem:
      description: Why a service can't listen on O(address); empty when it can, null when none was given.
      type: str
      sample: Cannot assign requested address
    restarts:
      description: How often systemd restarted it by itself since it was started.
      type: int
      sample: 0
    environment:
      description:
        - The wanted variables of the running process, null for each that is not set.
        - Null as a whole when no process runs, or when its environment may not be read.
      type: dict
    listeners:
      description: Who listens on the wanted ports, sorted by port. Free ports are not listed.
      type: list
      elements: dict
      contains:
        port:
          description: TCP port.
          type: int
          sample: 50088
        uid:
          description: User id of the owner of the socket.
          type: int
          sample: 998
        pid:
          description: Process id; null when the process may not be looked at.
          type: int
        command:
          description: Name of the program.
          type: str
          sample: mooncake_master
        unit:
          description: The systemd service to which the process belongs; null when to none.
          type: str
          sample: mooncake-master.service
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.kvcache.ascend.plugins.module_utils import host_files, proc_services

PROPERTIES = "LoadState,ActiveState,MainPID,NRestarts,DropInPaths"


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "name": {"type": "str", "required": True},
            "ports": {"type": "list", "elements": "int", "default": []},
            "environment": {"type": "list", "elements": "str", "default": []},
            "wait_seconds": {"type": "int", "default": 0},
            "address": {"type": "str"},
        },
        supports_check_mode=True,
    )
    unit = module.params["name"]
    listeners = proc_services.await_listeners(
        unit, module.params["ports"], module.params["wait_seconds"]
    )
    text = module.run_command(["systemctl", "show", unit, "--property", PROPERTIES])[1]
    properties = proc_services.parse_properties(text)
    main_pid = int(properties.get("MainPID") or 0) or None
    block = host_files.read_text(f"/proc/{main_pid}/environ") if main_pid else ""
    status = host_files.read_text(f"/proc/{main_pid}/status") if main_pid else ""
    address = module.params["address"]
    module.exit_json(
        changed=False,
        service_state={
            "exists": properties.get("LoadState") == "loaded",
            "active": properties.get("ActiveState", "unknown"),
            "main_pid": main_pid,
            "main_uid": proc_services.owner_uid(status),
            "main_state": proc_services.process_state(status),
            "masked": properties.get("LoadState") == "masked",
            "drop_ins": properties.get("DropInPaths", "").split(),
            "address_problem": proc_services.listen_problem(address) if address else None,
            "restarts": int(properties.get("NRestarts") or 0),
            "environment": proc_services.parse_environment(block, module.params["environment"]),
            "listeners": listeners,
        },
    )


if __name__ == "__main__":
    main()
