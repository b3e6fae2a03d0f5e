#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""What the preflight must know of a host beside its NPUs."""

from __future__ import annotations

DOCUMENTATION = r"""
module: preflight_info
short_description: Tell what the preflight must know of a host, in one look
version_added: 0.1.0
description:
  - Tells system, Python, memory, disks, who listens on ports, the clock, whether the master's host can be reached, and which
    Mooncake is installed.
  - Never fails because of what it saw, and changes nothing.
  - The clock is compared by an action plugin of the same name, which notes when it asked and when it was answered.
author:
  - The kvcache.ascend authors (@kvcache-ascend)
extends_documentation_fragment:
  - kvcache.ascend.attributes
options:
  ports:
    description: TCP ports of which to tell who listens on them.
    type: list
    elements: int
    default: []
  paths:
    description: Folders of which to tell how much room there is. They need not exist yet.
    type: list
    elements: path
    default: []
  master_host:
    description: Name or address of the master's host.
    type: str
  master_port:
    description: Its RPC port. A refused connection is an answer, too.
    type: int
    default: 50088
  mooncake_root:
    description: Folder with the Mooncake builds.
    type: path
    default: /opt/kvcache/mooncake
  python:
    description: The Python whose version is told.
    type: path
    default: /usr/bin/python3
  timeout:
    description: Seconds for each step that waits for something.
    type: float
    default: 5.0
"""

EXAMPLES = r"""
- name: Look at a host
  kvcache.ascend.preflight_info:
    ports: [8000]
    paths: [/opt/kvcache]
    master_host: master-1
  become: true
  register: result
"""

RETURN = r"""
host:
  description: What was seen.
  returned: always
  type: dict
  contains:
    hostname:
      description: Name of the host by itself.
      type: str
      sample: npu-01
    architecture:
      description: Machine architecture.
      type: str
      sample: aarch64
    kernel:
      description: Release of the kernel.
      type: str
      sample: 5.10.0-216.0.0
    glibc:
      description: Version of the C library; null when it is another one.
      type: str
      sample: "2.38"
    os:
      description: C(os-release).
      type: dict
      contains:
        id:
          description: C(ID).
          type: str
          sample: openEuler
        id_like:
          description: C(ID_LIKE).
          type: str
          sample: null
        name:
          description: C(NAME).
          type: str
          sample: openEuler
        version:
          description: C(VERSION_ID).
          type: str
          sample: "24.03"
    python:
      description: O(python).
      type: dict
      contains:
        path:
          description: Its path.
          type: str
          sample: /usr/bin/python3
        platform:
          description: C(architecture), C(glibc), C(python_version) and C(python_tag); null when it can't be run.
          type: dict
        problem:
          description: Why it can't be run.
          type: str
          sample: null
    memory:
      description: C(/proc/meminfo).
      type: dict
      contains:
        total_bytes:
          description: Memory.
          type: int
          sample: 1622000000000
        available_bytes:
          description: Memory that could be had now.
          type: int
          sample: 1500000000000
        hugepage_bytes:
          description: Size of a huge page.
          type: int
          sample: 2097152
        hugepages_total:
          description: Number of huge pages that are set aside.
          type: int
          sample: 0
        hugepages_free:
          description: Number of those that are free.
          type: int
          sample: 0
    memlock_limit_bytes:
      description: Most memory that systemd lets a service lock; null for no bound.
      type: int
      sample: null
    disks:
      description: The file systems of O(paths).
      type: list
      elements: dict
      contains:
        path:
          description: The path.
          type: str
          sample: /opt/kvcache
        free_bytes:
          description: Bytes that are free for everyone.
          type: int
          sample: 200000000000
        total_bytes:
          description: Bytes in all.
          type: int
          sample: 400000000000
    listeners:
      description: Who listens on O(ports), as M(kvcache.ascend.service_state_info) tells it.
      type: list
      elements: dict
    local_ports:
      description: First and last port that the kernel gives to outgoing connections.
      type: list
      elements: int
      sample: [32768, 60999]
    master:
      description: The master's host; null without O(master_host).
      type: dict
      contains:
        host:
          description: O(master_host).
          type: str
          sample: master-1
        port:
          description: O(master_port).
          type: int
          sample: 50088
        resolved:
          description: Its addresses.
          type: list
          elements: str
          sample: [192.0.2.11]
        name_problem:
          description: Why it is not resolved.
          type: str
          sample: null
        outcome:
          description: How far a connection came, such as V(silent) (connected), V(refused) or V(timed_out).
          type: str
          sample: refused
        reached:
          description: Whether something at the address answered, also by refusing; null when the name is not resolved.
          type: bool
          sample: true
    mooncake:
      description: The Mooncake build in use.
      type: dict
      contains:
        current:
          description: Its build id; null when there is none.
          type: str
          sample: 0.3.13.post1-0a1b2c3d4e5f
        version:
          description: Its version.
          type: str
          sample: 0.3.13.post1
    time:
      description: The host's clock, in seconds since 1970.
      type: float
      sample: 1790000000.5
    clock:
      description: The host's clock beside the control node's, in seconds since 1970.
      type: dict
      contains:
        host:
          description: The host's.
          type: float
          sample: 1790000000.5
        asked:
          description: The control node's when it asked.
          type: float
          sample: 1790000000.1
        answered:
          description: The control node's when it was answered.
          type: float
          sample: 1790000001.0
"""

import time

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.kvcache.ascend.plugins.module_utils import (
    limited_command,
    preflight_host,
)
from ansible_collections.kvcache.ascend.plugins.module_utils.npu_files import Files


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "ports": {"type": "list", "elements": "int", "default": []},
            "paths": {"type": "list", "elements": "path", "default": []},
            "master_host": {"type": "str"},
            "master_port": {"type": "int", "default": 50088},
            "mooncake_root": {"type": "path", "default": "/opt/kvcache/mooncake"},
            "python": {"type": "path", "default": "/usr/bin/python3"},
            "timeout": {"type": "float", "default": 5.0},
        },
        supports_check_mode=True,
    )
    params = module.params
    now = time.time()
    options = preflight_host.Options(
        ports=tuple(params["ports"]),
        paths=tuple(params["paths"]),
        master_host=params["master_host"],
        master_port=params["master_port"],
        mooncake_root=params["mooncake_root"],
        seconds=params["timeout"],
    )
    seen = preflight_host.look(options, Files(), limited_command.run, params["python"], now)
    module.exit_json(changed=False, host=seen)


if __name__ == "__main__":
    main()
