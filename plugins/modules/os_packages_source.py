#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Let a package manager see a folder of packages, and nothing else, for one call."""

from __future__ import annotations

DOCUMENTATION = r"""
module: os_packages_source
short_description: Let a package manager see a folder of packages, and nothing else, for one call
version_added: 0.1.0
description:
  - Writes settings for apt or dnf into a folder that holds the description of packages (C(Packages), C(repodata)), such that
    whoever uses them sees the packages of that folder alone. The host's own repositories, lists and caches are not touched.
  - For apt, also says which of the folder's packages an installation needs, so that only these have to be brought.
  - Makes the folder if it is not there. Whoever calls removes it.
author:
  - The kvcache.ascend authors (@kvcache-ascend)
attributes:
  check_mode:
    support: none
    description: Is about a folder that a run in check mode does not bring.
  diff_mode:
    support: none
    description: The settings are gone when the packages are installed.
options:
  folder:
    description: The folder.
    type: path
    required: true
  name:
    description: Names of the packages that shall be installed.
    type: list
    elements: str
    required: true
  manager:
    description: The package manager of the host.
    type: str
    choices: [apt, dnf]
    required: true
"""

EXAMPLES = r"""
- name: Let apt see the bundle
  kvcache.ascend.os_packages_source:
    folder: /var/cache/kvcache/bundle
    name: [libnuma1]
    manager: apt
  register: source

- name: Install from it
  ansible.builtin.apt:
    name: libnuma1
  environment: "{{ source.environment_variables }}"
"""

RETURN = r"""
environment_variables:
  description: Environment in which apt uses the settings; empty for dnf.
  returned: always
  type: dict
  sample: {APT_CONFIG: /var/cache/kvcache/bundle/apt.conf}
conf_file:
  description: File with dnf's settings; empty for apt.
  returned: always
  type: str
files:
  description: Files that an installation needs, as C(Packages) names them; empty for dnf, which is to have all.
  returned: always
  type: list
  elements: str
"""

import os

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.kvcache.ascend.plugins.module_utils import (
    host_files,
    mooncake_proof,
    os_download,
    os_source,
)


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "folder": {"type": "path", "required": True},
            "name": {"type": "list", "elements": "str", "required": True},
            "manager": {"type": "str", "choices": ["apt", "dnf"], "required": True},
        }
    )
    folder = module.params["folder"]
    environment, conf, files = {}, "", []
    try:
        os_source.write_settings(folder, module.params["manager"])
        if module.params["manager"] == "dnf":
            conf = os.path.join(folder, os_source.DNF_CONF)
        else:
            environment = {"APT_CONFIG": os.path.join(folder, os_source.APT_CONF)}
            index = host_files.read_text(os.path.join(folder, "Packages"))
            run = mooncake_proof.tolerant(module.run_command)
            files = os_source.needed_files(module.params["name"], index, environment, run)
    except os_download.DownloadError as error:
        module.fail_json(msg=str(error))
    except OSError as error:
        module.fail_json(msg=f"{error.filename or folder}: {error.strerror}")
    module.exit_json(changed=True, environment_variables=environment, conf_file=conf, files=files)


if __name__ == "__main__":
    main()
