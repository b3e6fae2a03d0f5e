#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Take and release a lock on a host that lasts over several tasks."""

from __future__ import annotations

DOCUMENTATION = r"""
module: host_lock
short_description: Hold a lock on a host over several tasks
version_added: 0.1.0
description:
  - Keeps two runs from working at the same thing on one host at once. The second one waits, and goes on when the first has
    given the lock back or has ended without doing so.
  - A run that was killed is recognised at once on the control node where it was started.
  - From another control node (AWX starts every job in a container of its own) its lock counts as abandoned when its work
    has not moved for 30 minutes.
  - As long as a process of the killed run is still at work on the host, the lock stands.
  - The file is below C(/run), so that it does not outlive a restart of the host.
author:
  - The kvcache.ascend authors (@kvcache-ascend)
attributes:
  check_mode:
    support: full
    description: Takes no lock, and waits for none.
  diff_mode:
    support: none
    description: A lock is no change that would last.
options:
  path:
    description: The file that says who holds the lock.
    type: path
    required: true
  state:
    description: Whether to take the lock or to give it back.
    type: str
    choices: [held, released]
    default: held
  work:
    description:
      - What the paths begin with that the work is done in, such as C(/opt/kvcache/mooncake/.staging-).
      - Processes that name such a path, and changes of what lies there, show that the holder is still at work.
    type: path
    required: true
  purpose:
    description: What the holder does, for the message of the run that waits in vain, such as V(installs Mooncake).
    type: str
    default: works on this host
  timeout:
    description: Most seconds to wait for the lock.
    type: int
    default: 600
  token:
    description: With O(state=released), what taking the lock returned.
    type: str
    default: ""
  owner:
    description: Who takes the lock; set by the action of the same name.
    type: dict
    default: {}
  replace:
    description: Token of a holder that has ended; set by the action of the same name.
    type: str
    default: ""
"""

EXAMPLES = r"""
- name: Keep other runs out
  kvcache.ascend.host_lock:
    path: /run/kvcache/mooncake.lock
    work: /opt/kvcache/mooncake/.staging-
    purpose: installs Mooncake
  register: lock

- name: Let other runs in
  kvcache.ascend.host_lock:
    path: /run/kvcache/mooncake.lock
    work: /opt/kvcache/mooncake/.staging-
    state: released
    token: "{{ lock.token }}"
"""

RETURN = r"""
token:
  description: What gives the lock back.
  returned: when the lock was taken
  type: str
taken_over:
  description: Whether the lock was that of a run that had ended without giving it back.
  returned: when the lock was taken
  type: bool
holder:
  description: Who holds the lock; null when this run does.
  returned: when the lock was to be taken
  type: dict
since:
  description: When the holder took it, in seconds since 1970.
  returned: when somebody else holds it
  type: float
idle_seconds:
  description: For how long nothing has happened to the holder's work.
  returned: when somebody else holds it
  type: float
processes:
  description: Processes of the holder on the host, each with C(pid) and C(command).
  returned: when somebody else holds it
  type: list
  elements: dict
"""

import os
import time

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.kvcache.ascend.plugins.module_utils import host_lock


def take(module: AnsibleModule) -> dict:
    """Try once to take the lock; return who holds it, and what is seen of its work."""
    path, work = module.params["path"], module.params["work"]
    holder = host_lock.take(path, module.params["owner"], module.params["replace"])
    if holder is None:
        return {"holder": None}
    now = time.time()
    return {
        "holder": holder,
        "since": os.path.getmtime(path) if os.path.exists(path) else now,
        "idle_seconds": host_lock.idle_seconds(path, work, now),
        "processes": host_lock.processes(work),
    }


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "state": {"type": "str", "choices": ["held", "released"], "default": "held"},
            "work": {"type": "path", "required": True},
            "purpose": {"type": "str", "default": "works on this host"},
            "timeout": {"type": "int", "default": 600},
            "token": {"type": "str", "default": "", "no_log": False},
            "owner": {"type": "dict", "default": {}},
            "replace": {"type": "str", "default": ""},
        },
        supports_check_mode=True,
    )
    if module.check_mode:
        module.exit_json(changed=False, token="", taken_over=False, holder=None)
    try:
        if module.params["state"] == "released":
            host_lock.release(module.params["path"], module.params["token"])
            module.exit_json(changed=False)
        module.exit_json(changed=False, **take(module))
    except OSError as error:
        module.fail_json(
            msg=f"{error.filename or module.params['path']}: {error.strerror}. The lock can't be changed. "
            "Fix the cause on the host, then run again."
        )


if __name__ == "__main__":
    main()
