#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Which environment CANN's set_env.sh makes on this host."""

from __future__ import annotations

DOCUMENTATION = r"""
module: cann_environment_info
short_description: Tell the environment that CANN's set_env.sh makes on this host
version_added: 0.1.0
description:
  - Sources CANN's C(set_env.sh), and nnal's where it is installed, in an empty environment, adds the folders of the driver's
    libraries, and returns the variables. A systemd unit, which sources nothing, can have them as they are.
  - Never fails because of what it saw.
author:
  - The kvcache.ascend authors (@kvcache-ascend)
extends_documentation_fragment:
  - kvcache.ascend.attributes
options:
  set_env_files:
    description:
      - Files to source, in this order.
      - When empty, that of the CANN in use and of nnal below it are looked for, in every place where a CANN puts them.
    type: list
    elements: path
    default: []
  programs:
    description: Folder that comes first in E(PATH). nnal's file asks the Python in it for the ABI of its torch.
    type: path
"""

EXAMPLES = r"""
- name: Capture CANN's environment
  kvcache.ascend.cann_environment_info:
    programs: /opt/kvcache/stack/current/bin
  register: cann

- name: Show the folders of its libraries
  ansible.builtin.debug:
    var: cann.cann_environment.variables.LD_LIBRARY_PATH
"""

RETURN = r"""
cann_environment:
  description: What was seen.
  returned: always
  type: dict
  contains:
    files:
      description: The files that were sourced.
      type: list
      elements: str
      sample: [/usr/local/Ascend/cann/set_env.sh, /usr/local/Ascend/nnal/atb/set_env.sh]
    missing:
      description: Those of O(set_env_files) that are not there.
      type: list
      elements: str
    variables:
      description: The environment, by name.
      type: dict
    error:
      description: Why it could not be captured; null when it was.
      type: str
"""

import os

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.kvcache.ascend.plugins.module_utils import cann_environment
from ansible_collections.kvcache.ascend.plugins.module_utils.mooncake_proof import tolerant
from ansible_collections.kvcache.ascend.plugins.module_utils.npu_files import Files


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "set_env_files": {"type": "list", "elements": "path", "default": []},
            "programs": {"type": "path"},
        },
        supports_check_mode=True,
    )
    wanted = module.params["set_env_files"] or cann_environment.find(Files())
    there = [path for path in wanted if os.path.isfile(path)]
    captured = cann_environment.capture(
        there, module.params["programs"] or "", tolerant(module.run_command)
    )
    missing = [path for path in wanted if path not in there]
    module.exit_json(
        changed=False, cann_environment={"files": there, "missing": missing, **captured}
    )


if __name__ == "__main__":
    main()
