#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Which stacks of Python packages are on a host, and what of them is not as it should be."""

from __future__ import annotations

DOCUMENTATION = r"""
module: python_stack_info
short_description: Tell which Python stacks are on a host and whether they are as their locks say
version_added: 0.1.0
description:
  - Lists the complete virtual environments below a folder and compares each with the lock that it was made from.
  - With O(prove=true), also imports the modules of one of them, as C(vllm serve) would.
  - Never fails because of what it saw.
author:
  - The kvcache.ascend authors (@kvcache-ascend)
extends_documentation_fragment:
  - kvcache.ascend.attributes
  - kvcache.ascend.python_stack
"""

EXAMPLES = r"""
- name: Look at the stacks
  kvcache.ascend.python_stack_info:
    prove: true
  register: result

- name: Show what vLLM activates
  ansible.builtin.debug:
    var: result.python_stack.imports.platform.value
"""

RETURN = r"""
python_stack:
  description: What was seen.
  returned: always
  type: dict
  contains:
    platform:
      description: What decides which lock fits this host; null when O(python) could not be run.
      type: dict
      contains:
        architecture:
          description: Machine architecture.
          type: str
          sample: aarch64
        glibc:
          description: Version of the C library.
          type: str
          sample: "2.38"
        python_version:
          description: Version of O(python).
          type: str
          sample: 3.11.6
        python_tag:
          description: Tag by which wheels name that Python.
          type: str
          sample: cp311
    current:
      description: Place that the link C(current) points to; null when there is none.
      type: str
      sample: 0.13.0-0a1b2c3d4e5f
    free_bytes:
      description: Free space of the file system that holds O(root), in bytes.
      type: int
    stacks:
      description: The complete stacks, the oldest first, each its manifest with what was seen.
      type: list
      elements: dict
      contains:
        stack_id:
          description: Name of the stack.
          type: str
        place:
          description: Name of its folder; the id, possibly with a number.
          type: str
        usable:
          description: Whether packages and files are exactly as the lock says.
          type: bool
        error:
          description: Why the environment could not be looked at; null when it could.
          type: str
        packages:
          description: Version of each installed package, by its normalised name.
          type: dict
        missing:
          description: Packages of the lock that are not installed, as C(name==version).
          type: list
          elements: str
        extra:
          description: Installed packages that are not in the lock, as C(name==version).
          type: list
          elements: str
        different:
          description: Packages with another version than the lock; C(name), C(locked), C(installed).
          type: list
          elements: dict
        twice:
          description: Packages with more than one set of metadata.
          type: list
          elements: str
        damaged_count:
          description: How many files are not as their package brought them.
          type: int
        damaged:
          description: The first ten of them, each with the reason.
          type: list
          elements: list
        unmet:
          description:
            - Requirements that C(pip check) would report; C(package), C(requires), C(installed).
            - Null when they could not be read.
          type: list
          elements: dict
        plugins:
          description: vLLM's plugins, by entry point group and name.
          type: dict
    imports:
      description: With O(prove=true), C(value) and C(error) of each import and of C(vllm --version); null otherwise.
      type: dict
    findings:
      description:
        - What is wrong with O(place), or with the current stack when it is not set.
        - Each has C(check), C(severity), C(host), C(observed), C(expected) and C(fix).
      type: list
      elements: dict
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.kvcache.ascend.plugins.module_utils import python_stack_report


def main() -> None:
    module = AnsibleModule(argument_spec=python_stack_report.SPEC, supports_check_mode=True)
    module.exit_json(
        changed=False, python_stack=python_stack_report.look(module.params, module.run_command)
    )


if __name__ == "__main__":
    main()
