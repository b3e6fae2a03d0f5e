#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Compare a host's NPUs with what is expected of them."""

from __future__ import annotations

DOCUMENTATION = r"""
module: npu_check
short_description: Fail with all that is wrong with a host's Ascend NPUs, each with its fix
version_added: 0.1.0
description:
  - Looks as M(kvcache.ascend.npu_info) does, compares what it sees with what is expected, and fails with all findings at
    once.
  - Hardware, driver, tool and the right to use the device nodes are always expected, the rest where it is asked for.
  - What can't be judged is not a failure. An unknown pair of driver and CANN, or a port that could not be asked, is a
    warning.
author:
  - The kvcache.ascend authors (@kvcache-ascend)
extends_documentation_fragment:
  - kvcache.ascend.attributes
  - kvcache.ascend.npu
options:
  count:
    description: Number of chips that the host must have. An A3 card and a 300I Duo card have two chips each.
    type: int
  devices:
    description:
      - Physical ids (the numbers of C(/dev/davinci*)) that must be there.
      - Ports, memory and processes are then checked on these chips only, and the state of others is told as a warning.
    type: list
    elements: int
    default: []
  min_driver:
    description: Oldest driver that will do, such as V(25.2.0). A release candidate is older than its release.
    type: str
  cann:
    description: Version of CANN that must be the active one. V(8.3) takes every 8.3, also its release candidates.
    type: str
  min_cann:
    description: Oldest CANN that will do.
    type: str
  health:
    description: The worst state that is accepted. An accepted warning is told as a warning. V(any) accepts all.
    type: str
    choices: [ok, warning, any]
    default: ok
  links_up:
    description: Whether every RoCE port must be up, have an address, and pass its network check. Needs root and O(links).
    type: bool
    default: false
  min_free_memory_mb:
    description: Memory that must be free on each chip, in MB. Some GB of an idle chip are in use.
    type: int
  foreign_processes:
    description: Whether processes are accepted that do not belong to O(own_units).
    type: bool
    default: true
  own_units:
    description: Patterns of the systemd units whose processes may use the chips, such as V(vllm@*.service).
    type: list
    elements: str
    default: []
  compatibility:
    description:
      - Which drivers go with which CANN. A pair that is not in it is a warning, one that is known not to work is an error.
      - Empty, pairs are not judged. Versions name a family, V(25.5) takes 25.5.2. A longer name wins over a shorter one.
    type: list
    elements: dict
    default: []
    suboptions:
      cann:
        description: CANN, such as V(8.5.0) or V(9.0).
        type: str
        required: true
      drivers:
        description: Drivers (HDK) that it is paired with.
        type: list
        elements: str
        default: []
      fails:
        description: Drivers that are known not to work with it.
        type: list
        elements: str
        default: []
seealso:
  - module: kvcache.ascend.npu_info
"""

EXAMPLES = r"""
- name: Expect eight healthy chips with their ports up
  kvcache.ascend.npu_check:
    count: 8
    links_up: true
    min_driver: 25.2.0
    cann: "8.5"
  become: true

- name: Expect two chips that nobody else uses
  kvcache.ascend.npu_check:
    devices: [0, 1]
    health: warning
    foreign_processes: false
    own_units: [vllm@*.service]
    min_free_memory_mb: 57000
    compatibility:
      - {cann: 8.5.0, drivers: ["25.5", "25.3", "25.2"]}
  become: true
"""

RETURN = r"""
msg:
  description: The findings in words, what is wrong, where, what was expected and what to do.
  returned: always
  type: str
  sample: |-
    NPU 5 chip 0 (/dev/davinci5) is in state Alarm, codes 80E3A203 (from host npu-02). Expected: OK.
      Fix: look the codes up in the manual of black box error codes; reset the card or replace it
npu:
  description: What was seen, as M(kvcache.ascend.npu_info) returns it.
  returned: when the arguments could be read
  type: dict
findings:
  description: What is wrong; one finding of severity V(ok) when nothing is.
  returned: when the arguments could be read
  type: list
  elements: dict
  contains:
    check:
      description:
        - V(npu_hardware), V(npu_driver), V(npu_tool), V(npu_access), V(npu_count), V(npu_devices), V(npu_driver_version),
          V(npu_cann), V(npu_compatibility), V(npu_firmware), V(npu_health), V(npu_links), V(npu_memory) or V(npu_processes).
      type: str
      sample: npu_health
    severity:
      description: V(ok), V(warning) or V(error).
      type: str
      sample: error
    host:
      description: The host on which the module ran.
      type: str
      sample: npu-02
    observed:
      description: What is wrong, and where.
      type: str
      sample: NPU 5 chip 0 (/dev/davinci5) is in state Alarm, codes 80E3A203
    expected:
      description: What should have been there.
      type: str
      sample: OK
    fix:
      description: What to do next.
      type: str
      sample: look the codes up in the manual of black box error codes; reset the card or replace it
"""

import os
import platform

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.kvcache.ascend.plugins.module_utils import (
    finding,
    limited_command,
    npu_arguments,
    npu_observation,
    npu_requirements,
    proc_services,
)
from ansible_collections.kvcache.ascend.plugins.module_utils.npu_files import Files


def main() -> None:
    module = AnsibleModule(
        argument_spec={**npu_arguments.LOOK, **npu_arguments.EXPECT}, supports_check_mode=True
    )
    mistakes = npu_arguments.mistakes(module.params) + npu_arguments.wanted_mistakes(module.params)
    if mistakes:
        module.fail_json(msg="\n".join(mistakes))
    seen = npu_observation.observe(
        npu_arguments.options(module.params),
        Files(),
        limited_command.run,
        dict(os.environ),
        is_root=os.geteuid() == 0,
        unit_of=proc_services.unit_of_process,
    )
    host = platform.node()
    wanted = npu_arguments.wanted(module.params)
    found = npu_requirements.compare(wanted, seen, host)
    findings = found or [npu_requirements.all_well(seen, host)]
    returned = {"changed": False, "npu": seen, "findings": findings}
    if finding.worst(findings) == finding.ERROR:
        module.fail_json(msg=finding.render(finding.problems(findings)), **returned)
    module.exit_json(msg=finding.render(findings), **returned)


if __name__ == "__main__":
    main()
