#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Pack a Mooncake build, or unpack one."""

from __future__ import annotations

DOCUMENTATION = r"""
module: mooncake_artifact
short_description: Pack a Mooncake build for shipping, or unpack one
version_added: 0.1.0
description:
  - Packing writes the folder of a build into a compressed archive and tells its checksum.
  - Unpacking refuses an archive whose checksum is not the one that the packing host told, or that has another file than its
    manifest names.
author:
  - The kvcache.ascend authors (@kvcache-ascend)
attributes:
  check_mode:
    support: full
    description: Says that it would be packed or unpacked.
  diff_mode:
    support: none
    description: A build is a tree of binaries.
options:
  state:
    description: What to do.
    type: str
    choices: [packed, unpacked]
    required: true
  archive:
    description: The archive on the host.
    type: path
    required: true
  tree:
    description: Folder of the build to pack, or to unpack into; what is in it then is removed before.
    type: path
    required: true
  sha256:
    description: Checksum that the archive must have.
    type: str
"""

EXAMPLES = r"""
- name: Pack a build
  kvcache.ascend.mooncake_artifact:
    state: packed
    tree: /opt/kvcache/mooncake/0.3.12.post1-0a1b2c3d4e5f
    archive: /opt/kvcache/mooncake/.0.3.12.post1-0a1b2c3d4e5f.tar.gz
"""

RETURN = r"""
note:
  description: What goes with the archive into a store.
  returned: when packed
  type: dict
  contains:
    build_id:
      description: Name of the build.
      type: str
    sha256:
      description: Checksum of the archive.
      type: str
    size_bytes:
      description: Size of the archive, in bytes.
      type: int
    manifest:
      description: The manifest of the build, without its list of files.
      type: dict
"""

import tarfile

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.kvcache.ascend.plugins.module_utils import mooncake_artifact


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "state": {"type": "str", "choices": ["packed", "unpacked"], "required": True},
            "archive": {"type": "path", "required": True},
            "tree": {"type": "path", "required": True},
            "sha256": {"type": "str"},
        },
        required_if=[("state", "unpacked", ["sha256"])],
        supports_check_mode=True,
    )
    archive, tree = module.params["archive"], module.params["tree"]
    if module.check_mode:
        module.exit_json(changed=True)
    try:
        if module.params["state"] == "packed":
            module.exit_json(changed=True, note=mooncake_artifact.pack(tree, archive))
        mooncake_artifact.unpack(archive, module.params["sha256"], tree)
    except (mooncake_artifact.ArtifactError, tarfile.TarError, ValueError) as error:
        module.fail_json(msg=f"the artifact is refused: {error}")
    except OSError as error:
        module.fail_json(msg=f"{error.filename or tree}: {error.strerror}")
    module.exit_json(changed=True)


if __name__ == "__main__":
    main()
