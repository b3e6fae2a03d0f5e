#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Turn a staged Mooncake tree into a build: prove it, describe it, put it in its place."""

from __future__ import annotations

DOCUMENTATION = r"""
module: mooncake_build
short_description: Prove a staged Mooncake tree and put it in its place
version_added: 0.1.0
description:
  - Takes a folder with C(bin/), C(python/) and possibly C(lib/), proves that Mooncake works from it, writes
    C(manifest.json) and renames the folder to its build id.
  - The rename is the last step, so that a folder with a manifest is always a complete build, whenever a run was killed.
  - A build that is in its place already is only opened to services again, should its modes have been changed.
  - Does not touch the link C(current).
author:
  - The kvcache.ascend authors (@kvcache-ascend)
attributes:
  check_mode:
    support: full
    description: Says whether the build would be put in its place, or its modes would be set.
  diff_mode:
    support: partial
    description: Shows what a build is made from, or the paths that are opened to services, not the files of a build.
options:
  root:
    description: Folder that holds one folder per build.
    type: path
    required: true
  staging:
    description:
      - The staged tree, on the same file system as O(root).
      - Needed when the build is not in its place yet.
    type: path
  build_id:
    description: Name of the build.
    type: str
    required: true
  inputs:
    description: Everything that decided the bytes of this build, for the manifest. Must hold C(version) and C(method).
    type: dict
    required: true
  details:
    description: What else the manifest shall tell, beside O(inputs).
    type: dict
    default: {}
  python:
    description: The Python that imports Mooncake.
    type: path
    default: /usr/bin/python3
  environment:
    description: Environment variables for the proof, for example C(LD_LIBRARY_PATH) with CANN's libraries.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Put the build in its place
  kvcache.ascend.mooncake_build:
    root: /opt/kvcache/mooncake
    staging: /opt/kvcache/mooncake/.staging-0.3.13.post1-0a1b2c3d4e5f
    build_id: 0.3.13.post1-0a1b2c3d4e5f
    inputs:
      version: 0.3.13.post1
      method: wheel
"""

RETURN = r"""
path:
  description: Folder of the build.
  returned: always
  type: str
  sample: /opt/kvcache/mooncake/0.3.13.post1-0a1b2c3d4e5f
manifest:
  description: The manifest without its list of files.
  returned: when the build was put in its place
  type: dict
  contains:
    build_id:
      description: Name of the build.
      type: str
    version:
      description: Version of Mooncake.
      type: str
    method:
      description: How the build came to be, for example V(wheel).
      type: str
    inputs:
      description: Everything that decided the bytes of the build.
      type: dict
    created:
      description: When, in UTC and ISO 8601.
      type: str
      sample: "2026-11-30T08:00:00Z"
    size_bytes:
      description: Size of all its files, in bytes.
      type: int
    version_line:
      description: What C(mooncake_master --version) printed.
      type: str
findings:
  description:
    - What is wrong with the staged tree.
    - Each has C(check), C(severity), C(host), C(observed), C(expected) and C(fix).
  returned: failure
  type: list
  elements: dict
"""

import os
import platform
import time

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.kvcache.ascend.plugins.module_utils import (
    finding,
    mooncake_build,
    mooncake_proof,
    mooncake_tree,
)

SHOWN = 10
"""How many paths a diff names before it says how many more there are."""


def open_again(module: AnsibleModule, path: str) -> dict:
    """Make a build that is in its place readable for services; return what is told of it."""
    closed = mooncake_tree.closed_paths(path)
    if closed and not module.check_mode:
        mooncake_build.open_to_services(path)
    header = f"{path} (what services can't read or run)"
    before = "".join(f"{name}\n" for name in closed[:SHOWN])
    if len(closed) > SHOWN:
        before += f"and {len(closed) - SHOWN} more\n"
    return {
        "changed": bool(closed),
        "path": path,
        "diff": {"before_header": header, "after_header": header, "before": before, "after": ""},
    }


def new_build_diff(path: str, inputs: dict) -> dict:
    """Return a diff that shows what a build is made from."""
    lines = [f"{key}: {value}\n" for key, value in sorted(inputs.items())]
    return {"before": "", "after": "".join(lines), "before_header": path, "after_header": path}


def seal(module: AnsibleModule, path: str) -> dict:
    """Prove the staged tree, write its manifest, rename it to `path`; return the manifest without its files."""
    staging, inputs = module.params["staging"], module.params["inputs"]
    mooncake_build.open_to_services(staging)
    proof = mooncake_proof.prove(
        staging,
        module.params["python"],
        platform.node(),
        mooncake_proof.tolerant(module.run_command),
        {key: str(value) for key, value in module.params["environment"].items()},
    )
    if proof["findings"]:
        module.fail_json(msg=finding.render(proof["findings"]), findings=proof["findings"])
    shipped = mooncake_build.read_manifest(staging)
    if shipped and shipped.get("build_id") == module.params["build_id"]:
        # It was made, proven and described on another host; its files were compared with the manifest when it was unpacked.
        shipped.pop("files", None)
        os.sync()
        os.rename(staging, path)
        return shipped
    manifest = {
        **module.params["details"],
        "build_id": module.params["build_id"],
        "version": inputs["version"],
        "method": inputs["method"],
        "inputs": inputs,
        "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "size_bytes": mooncake_build.tree_size_bytes(staging),
        "version_line": proof["version_line"],
    }
    mooncake_build.write_manifest(
        staging, dict(manifest, files=mooncake_build.file_digests(staging))
    )
    os.sync()
    os.rename(staging, path)
    return manifest


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "root": {"type": "path", "required": True},
            "staging": {"type": "path"},
            "build_id": {"type": "str", "required": True},
            "inputs": {"type": "dict", "required": True},
            "details": {"type": "dict", "default": {}},
            "python": {"type": "path", "default": "/usr/bin/python3"},
            "environment": {"type": "dict", "default": {}},
        },
        supports_check_mode=True,
    )
    root, name = module.params["root"], module.params["build_id"]
    path = os.path.join(root, name)
    if name in [build["build_id"] for build in mooncake_build.read_builds(root)]:
        module.exit_json(**open_again(module, path))
    if os.path.lexists(path):
        module.fail_json(
            msg=f"{path} exists and has no {mooncake_build.MANIFEST} that names it, "
            "so it is not a whole build of this role. Fix: move it away, then run again."
        )
    diff = new_build_diff(path, module.params["inputs"])
    if module.check_mode:
        module.exit_json(changed=True, path=path, diff=diff)
    if not os.path.isdir(module.params["staging"] or ""):
        module.fail_json(
            msg=f"{module.params['staging']}: there is no such folder to take a build from."
        )
    try:
        manifest = seal(module, path)
    except OSError as error:
        module.fail_json(
            msg=f"{error.filename or path}: {error.strerror}. The build was not put in its place. "
            "Fix the cause on the host, then run again."
        )
    module.exit_json(changed=True, path=path, manifest=manifest, diff=diff)


if __name__ == "__main__":
    main()
