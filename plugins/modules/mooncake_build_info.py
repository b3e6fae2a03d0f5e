#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Which Mooncake builds are on a host, and whether the current one works."""

from __future__ import annotations

DOCUMENTATION = r"""
module: mooncake_build_info
short_description: Tell which Mooncake builds are on a host and whether the current one works
version_added: 0.1.0
description:
  - Lists the complete builds below a folder, the one that the link C(current) names, and the platform that decides which
    build fits.
  - With O(prove=true), also runs the current build, as a service would use it.
  - Never fails because of what it saw.
author:
  - The kvcache.ascend authors (@kvcache-ascend)
extends_documentation_fragment:
  - kvcache.ascend.attributes
options:
  root:
    description: Folder that holds one folder per build, and the link C(current).
    type: path
    default: /opt/kvcache/mooncake
  python:
    description: The Python that imports Mooncake.
    type: path
    default: /usr/bin/python3
  prove:
    description:
      - Whether to prove that the current build works. Its libraries are looked up, C(mooncake_master --version) is run and
        C(mooncake.engine) and C(mooncake.store) are imported.
    type: bool
    default: false
  environment:
    description: Environment variables for the proof, for example C(LD_LIBRARY_PATH) with CANN's libraries.
    type: dict
    default: {}
  libraries:
    description: Names of CANN's shared libraries to look for, such as C(libascendcl.so), where the loader looks.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: Look at the builds
  kvcache.ascend.mooncake_build_info:
    prove: true
  register: result

- name: Show which one is in use
  ansible.builtin.debug:
    var: result.mooncake_build.current
"""

RETURN = r"""
mooncake_build:
  description: What was seen.
  returned: always
  type: dict
  contains:
    platform:
      description: What decides which build fits this host; null when O(python) could not be run.
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
      description: Build id of the build in use; null when there is none.
      type: str
      sample: 0.3.13.post1-0a1b2c3d4e5f
    builds:
      description: The manifests of the complete builds, without their lists of files, sorted by build id.
      type: list
      elements: dict
    version_line:
      description: What C(mooncake_master --version) of the current build printed; null when it was not run or failed.
      type: str
      sample: "mooncake_master version 0.3.13.post1 (git: 7197358)"
    tree:
      description: Whether the folder is as services need it.
      type: dict
      contains:
        root:
          description: The folder.
          type: str
        root_is_file:
          description: Whether O(root) is something else than a folder.
          type: bool
        link:
          description: What C(current) is.
          type: dict
          contains:
            state:
              description: One of V(absent), V(link), V(dangling), V(directory), V(other).
              type: str
            target:
              description: Where the link points to; null when it is none.
              type: str
        broken_builds:
          description: Folders that are no complete build, each with C(build_id) and C(reason).
          type: list
          elements: dict
        closed_folders:
          description: Folders from C(/) down to O(root) that others can't enter, each with C(path) and C(mode).
          type: list
          elements: dict
        closed_builds:
          description: Builds with paths that others can't read or run, each with C(build_id), C(count) and C(first).
          type: list
          elements: dict
    cann:
      description: Where CANN's libraries were looked for.
      type: dict
      contains:
        missing:
          description: Those of O(libraries) that the loader would not find.
          type: list
          elements: str
        looked_in:
          description: Folders that were looked at, in the loader's order.
          type: list
          elements: str
        elsewhere:
          description: Folders in which missing ones lie, although the loader does not look there.
          type: list
          elements: str
    findings:
      description: What is wrong, each with C(check), C(severity), C(host), C(observed), C(expected) and C(fix).
      type: list
      elements: dict
"""

import json
import platform

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.kvcache.ascend.plugins.module_utils import (
    mooncake_build,
    mooncake_cann,
    mooncake_proof,
    mooncake_tree,
)


def look_at_platform(python: str, run: mooncake_proof.Runner, findings: list) -> dict | None:
    """Ask the configured Python for the platform; on failure add findings and return None."""
    result = run([python, "-c", mooncake_build.PLATFORM_SCRIPT], {})
    if result[0] == 0:
        return json.loads(result[1])
    findings += mooncake_proof.check_command(
        "mooncake_python",
        platform.node(),
        result,
        python,
        "install it, or set mooncake_python to one that is there",
    )
    return None


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "root": {"type": "path", "default": "/opt/kvcache/mooncake"},
            "python": {"type": "path", "default": "/usr/bin/python3"},
            "prove": {"type": "bool", "default": False},
            "environment": {"type": "dict", "default": {}},
            "libraries": {"type": "list", "elements": "str", "default": []},
        },
        supports_check_mode=True,
    )
    root = module.params["root"]
    environment = {key: str(value) for key, value in module.params["environment"].items()}
    findings: list = []
    run = mooncake_proof.tolerant(module.run_command)
    seen_platform = look_at_platform(module.params["python"], run, findings)
    current = mooncake_build.current_build(root)
    proof: dict = {"version_line": None, "findings": []}
    if module.params["prove"] and current and seen_platform:
        proof = mooncake_proof.prove(
            f"{root}/{current}",
            module.params["python"],
            platform.node(),
            run,
            environment,
        )
    builds = mooncake_build.read_builds(root)
    module.exit_json(
        changed=False,
        mooncake_build={
            "platform": seen_platform,
            "current": current,
            "builds": builds,
            "tree": mooncake_tree.look(root, [build["build_id"] for build in builds]),
            "cann": mooncake_cann.look(module.params["libraries"], environment, run),
            "version_line": proof["version_line"],
            "findings": findings + proof["findings"],
        },
    )


if __name__ == "__main__":
    main()
