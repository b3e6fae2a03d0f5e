#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""What a host is like, as far as compiling Mooncake is concerned."""

from __future__ import annotations

DOCUMENTATION = r"""
module: mooncake_source_info
short_description: Tell what decides a build of Mooncake from source, and whether a host can compile it
version_added: 0.1.0
description:
  - Reads OS, C library, Python, memory, disk and the CANN toolkit of a host, in one call.
  - Never fails because of what it saw.
author:
  - The kvcache.ascend authors (@kvcache-ascend)
extends_documentation_fragment:
  - kvcache.ascend.attributes
options:
  python:
    description: The Python that imports Mooncake.
    type: path
    default: /usr/bin/python3
  build_dir:
    description: Folder that would be compiled in.
    type: path
    required: true
  cann:
    description: What is needed of CANN. Without it, CANN is not looked for.
    type: dict
    suboptions:
      headers:
        description: Headers, relative to CANN's C(include).
        type: list
        elements: str
        required: true
      libraries:
        description: Libraries; alternatives are separated by C(|).
        type: list
        elements: str
        required: true
      min:
        description: Oldest version.
        type: str
  cann_home:
    description: Folder of the toolkit. Empty to look at every known place.
    type: path
    default: ""
"""

EXAMPLES = r"""
- name: Look at the host
  kvcache.ascend.mooncake_source_info:
    build_dir: /opt/kvcache/mooncake
    cann:
      headers: [acl/acl.h]
      libraries: [libascendcl.so]
  register: result
"""

RETURN = r"""
host:
  description: What was seen.
  returned: always
  type: dict
  contains:
    os_id:
      description: C(ID) of /etc/os-release.
      type: str
      sample: openEuler
    os_version:
      description: C(VERSION_ID) of /etc/os-release.
      type: str
      sample: "24.03"
    os_name:
      description: Name of the system for people.
      type: str
    architecture:
      description: Machine architecture; null when O(python) could not be run.
      type: str
    glibc:
      description: Version of the C library.
      type: str
    python_tag:
      description: Tag of O(python), such as C(cp311).
      type: str
    cores:
      description: Cores that may be used.
      type: int
    memory_bytes:
      description: Memory that is available, or the container's limit, in bytes.
      type: int
    free_bytes:
      description: Free space where O(build_dir) is, in bytes.
      type: int
    ccache:
      description: Path of ccache; null when there is none.
      type: str
    openmpi:
      description: Packages of OpenMPI that are installed.
      type: list
      elements: str
cann:
  description: The toolkit that would be compiled with; null when O(cann) was not given.
  returned: always
  type: dict
  contains:
    home:
      description: Its folder; null when none will do.
      type: str
    include:
      description: Its headers.
      type: str
    lib:
      description: Its libraries.
      type: str
    version:
      description: Its version; null when its files do not tell.
      type: str
    environment:
      description: What its set_env.sh sets, without PATH and PYTHONPATH.
      type: dict
    rejected:
      description: Folders that were looked at and will not do, each with C(path) and C(reason).
      type: list
      elements: dict
"""

import json
import os
import platform

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.kvcache.ascend.plugins.module_utils import (
    build_host,
    cann_toolkit,
    mooncake_build,
    mooncake_proof,
    mooncake_source,
    os_packages,
)

OPENMPI_NAMES = ["openmpi", "openmpi-bin", "openmpi-devel", "libopenmpi-dev"]


def installed_openmpi(run: mooncake_proof.Runner) -> list[str]:
    """Return the packages of OpenMPI that dpkg or rpm knows as installed."""
    status, output, _error = run(os_packages.DPKG_QUERY, {"LC_ALL": "C"})
    if status == 0:
        names = [
            line.split("\t")[0] for line in output.splitlines() if "\tinstalled\t" in f"{line}\t"
        ]
    else:
        _status, output, _error = run(
            ["rpm", "-q", "--qf", "%{NAME}\\n", *OPENMPI_NAMES], {"LC_ALL": "C"}
        )
        names = output.split("\n")
    return mooncake_source.openmpi_in(names)


def seen_platform(python: str, run: mooncake_proof.Runner) -> dict:
    status, output, _error = run([python, "-c", mooncake_build.PLATFORM_SCRIPT], {})
    told = json.loads(output) if status == 0 else {}
    return {key: told.get(key) for key in ("architecture", "glibc", "python_tag")}


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "python": {"type": "path", "default": "/usr/bin/python3"},
            "build_dir": {"type": "path", "required": True},
            "cann": {
                "type": "dict",
                "options": {
                    "headers": {"type": "list", "elements": "str", "required": True},
                    "libraries": {"type": "list", "elements": "str", "required": True},
                    "min": {"type": "str"},
                },
            },
            "cann_home": {"type": "path", "default": ""},
        },
        supports_check_mode=True,
    )
    run = mooncake_proof.tolerant(module.run_command)
    host = dict(
        build_host.look(module.params["build_dir"]),
        **seen_platform(module.params["python"], run),
        openmpi=installed_openmpi(run),
    )
    cann = None
    if module.params["cann"]:
        cann = cann_toolkit.look(
            module.params["cann"],
            host["architecture"] or platform.machine(),
            cann_toolkit.candidates(
                module.params["cann_home"], os.environ.get("ASCEND_HOME_PATH", "")
            ),
            run,
        )
    module.exit_json(changed=False, host=host, cann=cann)


if __name__ == "__main__":
    main()
