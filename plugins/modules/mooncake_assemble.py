#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Make the tree of a build out of what Mooncake's install rules left behind."""

from __future__ import annotations

DOCUMENTATION = r"""
module: mooncake_assemble
short_description: Make the tree of a Mooncake build out of an installation
version_added: 0.1.0
description:
  - Takes programs, shared libraries and the Python package from a prefix, strips them, and lets them find one another.
  - Tells which OS packages hold the libraries that the build needs, so that hosts that do not compile can have them.
author:
  - The kvcache.ascend authors (@kvcache-ascend)
attributes:
  check_mode:
    support: full
    description: Says that the tree would be made.
  diff_mode:
    support: none
    description: A build is a tree of binaries.
options:
  prefix:
    description: Where Mooncake was installed. Its Python package is in C(packages/) below it.
    type: path
    required: true
  staging:
    description: Folder to make; what is in it is removed before.
    type: path
    required: true
  manager:
    description: Package manager of the host.
    type: str
    choices: [apt, dnf]
    required: true
  compiler:
    description: The C++ compiler, for its version.
    type: str
    default: c++
  environment:
    description: Environment variables for looking up libraries, such as C(LD_LIBRARY_PATH) with CANN's.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Make the tree
  kvcache.ascend.mooncake_assemble:
    prefix: /opt/kvcache/mooncake/.build/install
    staging: /opt/kvcache/mooncake/.staging-0.3.12.post1-0a1b2c3d4e5f
    manager: apt
"""

RETURN = r"""
runtime_packages:
  description: OS packages that hold the libraries which the build needs.
  returned: success
  type: list
  elements: str
  sample: [libc6, libgoogle-glog0v6]
tools:
  description: Versions of what compiled it.
  returned: success
  type: dict
  contains:
    compiler:
      description: First line of the compiler's C(--version).
      type: str
    cmake:
      description: First line of CMake's C(--version).
      type: str
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.kvcache.ascend.plugins.module_utils import (
    mooncake_assemble,
    mooncake_proof,
)


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "prefix": {"type": "path", "required": True},
            "staging": {"type": "path", "required": True},
            "manager": {"type": "str", "choices": ["apt", "dnf"], "required": True},
            "compiler": {"type": "str", "default": "c++"},
            "environment": {"type": "dict", "default": {}},
        },
        supports_check_mode=True,
    )
    if module.check_mode:
        module.exit_json(changed=True, runtime_packages=[], tools={})
    staging = module.params["staging"]
    run = mooncake_proof.tolerant(module.run_command)
    environment = {key: str(value) for key, value in module.params["environment"].items()}
    try:
        mooncake_assemble.assemble(module.params["prefix"], staging)
    except mooncake_assemble.AssembleError as error:
        module.fail_json(msg=str(error))
    except OSError as error:
        module.fail_json(msg=f"{error.filename or staging}: {error.strerror}")
    mooncake_assemble.strip(staging, run)
    module.exit_json(
        changed=True,
        runtime_packages=mooncake_assemble.runtime_packages(
            staging, module.params["manager"], run, environment
        ),
        tools=mooncake_assemble.tools(run, module.params["compiler"]),
    )


if __name__ == "__main__":
    main()
