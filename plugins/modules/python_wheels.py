#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Bring the wheels of a lock into a folder."""

from __future__ import annotations

DOCUMENTATION = r"""
module: python_wheels
short_description: Bring the wheels of a lock into a folder
version_added: 0.1.0
description:
  - Fetches every wheel that a lock names and the folder lacks, with pip, also for another architecture and Python than
    those of the machine that it runs on. Each is compared with its checksum.
author:
  - The kvcache.ascend authors (@kvcache-ascend)
attributes:
  check_mode:
    support: full
    description: Says which wheels would be fetched.
  diff_mode:
    support: none
    description: Wheels are binaries; the result names them.
options:
  lock:
    description: Text of the lock.
    type: str
    required: true
  dest:
    description: Folder for the wheels.
    type: path
    required: true
  python:
    description: A Python on this machine that has pip.
    type: path
    default: /usr/bin/python3
"""

EXAMPLES = r"""
- name: Fetch the wheels
  kvcache.ascend.python_wheels:
    lock: "{{ lookup('ansible.builtin.file', 'cpu-x86_64-cp311.txt') }}"
    dest: /srv/bundle/wheels
    python: "{{ ansible_playbook_python }}"
  delegate_to: localhost
"""

RETURN = r"""
wheels:
  description: Names of all wheels of the lock.
  returned: always
  type: list
  elements: str
fetched:
  description: Those that were fetched, or would be in check mode.
  returned: always
  type: list
  elements: str
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.kvcache.ascend.plugins.module_utils import (
    mooncake_proof,
    python_lock,
    python_wheels,
)


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "lock": {"type": "str", "required": True},
            "dest": {"type": "path", "required": True},
            "python": {"type": "path", "default": "/usr/bin/python3"},
        },
        supports_check_mode=True,
    )
    folder = module.params["dest"]
    try:
        lock = python_lock.parse(module.params["lock"])
        wanted = [item for item in lock["packages"] if not python_wheels.is_whole(folder, item)]
        if not module.check_mode:
            run = mooncake_proof.tolerant(module.run_command)
            number = lock["head"]["python"]
            python_wheels.fetch(wanted, number, folder, module.params["python"], run)
    except (ValueError, python_wheels.FetchError) as error:
        module.fail_json(msg=f"{folder}: {error}")
    except OSError as error:
        module.fail_json(
            msg=f"{error.filename or folder}: {error.strerror}. Fix it, then run again."
        )
    module.exit_json(
        changed=bool(wanted),
        wheels=[item["wheel"] for item in lock["packages"]],
        fetched=[item["wheel"] for item in wanted],
    )


if __name__ == "__main__":
    main()
