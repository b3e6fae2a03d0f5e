#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Documentation of the action plugin preflight_report."""

from __future__ import annotations

DOCUMENTATION = r"""
module: preflight_report
short_description: Make every check of the preflight and print one table
version_added: 0.1.0
description:
  - Makes every check on what was seen of all hosts, prints the findings as one table, and publishes them as C(set_stats)
    does, under C(kvcache_preflight). Runs on the control node. Never fails because of a finding.
  - Meant for the role C(preflight).
author:
  - The kvcache.ascend authors (@kvcache-ascend)
extends_documentation_fragment:
  - kvcache.ascend.attributes
options:
  hosts:
    description:
      - What is known of each host. C(name), C(groups), C(settings) (the result of M(kvcache.ascend.preflight_settings)),
        C(host) (that of M(kvcache.ascend.preflight_info)) and C(npu) (that of M(kvcache.ascend.npu_info)).
    type: list
    elements: dict
    required: true
  inventory:
    description: All groups of the inventory, by name, as C(groups) has them.
    type: dict
    default: {}
  skip:
    description: Names of checks to leave out.
    type: list
    elements: str
    default: []
  file:
    description: File on the control node for the findings as JSON; empty for none. It is also written in check mode.
    type: path
    default: ""
"""

EXAMPLES = r"""
- name: Report on a host that was looked at
  kvcache.ascend.preflight_report:
    hosts:
      - name: npu-01
        groups: [vllm]
        settings: "{{ its_settings }}"
        host: "{{ its_look }}"
        npu: "{{ its_npus }}"
"""

RETURN = r"""
findings:
  description: What is wrong, each with C(check), C(severity), C(host), C(observed), C(expected) and C(fix).
  returned: always
  type: list
  elements: dict
not_checked:
  description: What was not asked, each with C(check), C(reason) and C(hosts).
  returned: always
  type: list
  elements: dict
error_count:
  description: Number of findings of severity V(error).
  returned: always
  type: int
  sample: 0
warning_count:
  description: Number of findings of severity V(warning).
  returned: always
  type: int
  sample: 0
table:
  description: The table that was printed.
  returned: always
  type: str
summary:
  description: One line that says how it went.
  returned: always
  type: str
  sample: "preflight: 3 hosts, nothing is wrong"
"""
