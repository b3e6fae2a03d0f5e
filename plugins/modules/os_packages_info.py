#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Which of some OS packages are missing on a host."""

from __future__ import annotations

DOCUMENTATION = r"""
module: os_packages_info
short_description: Tell which of some OS packages are missing
version_added: 0.1.0
description:
  - Asks dpkg or rpm which of the named packages are not installed, in one call and without root.
  - Needs nothing on the host beyond the package manager; C(ansible.builtin.apt) needs C(python3-apt), and in check mode
    fails without it.
author:
  - The kvcache.ascend authors (@kvcache-ascend)
extends_documentation_fragment:
  - kvcache.ascend.attributes
options:
  name:
    description: Names of packages. A name that an installed package provides counts as installed.
    type: list
    elements: str
    required: true
  manager:
    description: The package manager of the host, V(apt) or V(dnf). The packages are listed by dpkg or rpm.
    type: str
    choices: [apt, dnf]
    required: true
  folder:
    description: Folder that an installation uses, and removes at its end.
    type: path
"""

EXAMPLES = r"""
- name: Look whether Mooncake's libraries are there
  kvcache.ascend.os_packages_info:
    name: [libibverbs1, libnuma1]
    manager: apt
  register: packages
"""

RETURN = r"""
missing:
  description: Those of the named packages that are not installed, in the order in which they were named.
  returned: always
  type: list
  elements: str
  sample: [libibverbs1]
check_mode_works:
  description: Whether Ansible's own package module runs in check mode here. That of apt does so only with C(python3-apt).
  returned: always
  type: bool
  sample: true
interrupted:
  description: Whether a package manager was killed at its work, so that dpkg has to be told to finish it first.
  returned: always
  type: bool
leftover:
  description: Whether O(folder) is there, as after an installation that was killed.
  returned: always
  type: bool
system:
  description: OS, version and architecture of the host, as bundles name them.
  returned: always
  type: str
  sample: openeuler-24.03-sp1-aarch64
"""

import os

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.kvcache.ascend.plugins.module_utils import (
    host_files,
    os_bundle,
    os_packages,
)

APT_BINDINGS = "python3-apt"


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "name": {"type": "list", "elements": "str", "required": True},
            "manager": {"type": "str", "choices": ["apt", "dnf"], "required": True},
            "folder": {"type": "path"},
        },
        supports_check_mode=True,
    )
    names = module.params["name"]
    environment = {"LC_ALL": "C", "LANGUAGE": "C"}
    if module.params["manager"] == "apt":
        command = os_packages.DPKG_QUERY
        text = module.run_command(command, check_rc=True, environ_update=environment)[1]
        missing = os_packages.missing_from_dpkg(text, [*names, APT_BINDINGS])
        journal = os_packages.DPKG_JOURNAL
        interrupted = os_packages.dpkg_was_interrupted(
            os.listdir(journal) if os.path.isdir(journal) else []
        )
    else:
        interrupted = False
        command = os_packages.rpm_query(names)
        missing = os_packages.missing_from_rpm(
            "".join(module.run_command(command, environ_update=environment)[1:3]), names
        )
    module.exit_json(
        changed=False,
        missing=[name for name in missing if name in names],
        check_mode_works=APT_BINDINGS not in missing and not interrupted,
        interrupted=interrupted,
        leftover=os.path.isdir(module.params["folder"] or ""),
        system=os_bundle.system(
            host_files.os_release(host_files.read_text("/etc/os-release")), os.uname().machine
        ),
    )


if __name__ == "__main__":
    main()
