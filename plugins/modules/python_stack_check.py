#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Fail when the Python stack in use is not as its lock and its release say, or can't be imported."""

from __future__ import annotations

DOCUMENTATION = r"""
module: python_stack_check
short_description: Check that the Python stack in use is what it should be
version_added: 0.1.0
description:
  - Fails with everything that M(kvcache.ascend.python_stack_info) finds wrong, each with its cause and fix.
  - Changes nothing.
author:
  - The kvcache.ascend authors (@kvcache-ascend)
extends_documentation_fragment:
  - kvcache.ascend.attributes
  - kvcache.ascend.python_stack
"""

EXAMPLES = r"""
- name: Check every file of the stack in use, and that vLLM can be imported
  kvcache.ascend.python_stack_check:
    prove: true
    deep: true
"""

RETURN = r"""
python_stack:
  description: What M(kvcache.ascend.python_stack_info) returns.
  returned: always
  type: dict
findings:
  description: What is wrong.
  returned: always
  type: list
  elements: dict
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.kvcache.ascend.plugins.module_utils import finding, python_stack_report


def main() -> None:
    module = AnsibleModule(argument_spec=python_stack_report.SPEC, supports_check_mode=True)
    seen = python_stack_report.look(module.params, module.run_command)
    findings = list(seen["findings"])
    if not findings and seen["current"] is None and not module.params["place"]:
        findings.append(python_stack_report.nothing_here(module.params["root"]))
    if findings:
        module.fail_json(msg=finding.render(findings), python_stack=seen, findings=findings)
    module.exit_json(changed=False, python_stack=seen, findings=[])


if __name__ == "__main__":
    main()
