#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Which artifacts are in a store."""

from __future__ import annotations

DOCUMENTATION = r"""
module: mooncake_store_info
short_description: Tell which packed Mooncake builds are in a store
version_added: 0.1.0
description:
  - Lists the artifacts in a folder and compares the checksums of those that are asked for.
  - Never fails because of what it saw.
author:
  - The kvcache.ascend authors (@kvcache-ascend)
extends_documentation_fragment:
  - kvcache.ascend.attributes
options:
  path:
    description: Folder of the store. One that is not there is an empty one.
    type: path
    required: true
  verify:
    description: Build ids whose archives are read to compare their checksums.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: Look into the store on the control node
  kvcache.ascend.mooncake_store_info:
    path: ~/.cache/kvcache/mooncake
  delegate_to: localhost
  register: store
"""

RETURN = r"""
artifacts:
  description: By build id, each with C(sha256), C(size_bytes) and C(manifest).
  returned: always
  type: dict
damaged:
  description: By build id, what is wrong with those of O(verify) that are damaged.
  returned: always
  type: dict
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.kvcache.ascend.plugins.module_utils import mooncake_artifact


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "verify": {"type": "list", "elements": "str", "default": []},
        },
        supports_check_mode=True,
    )
    store = module.params["path"]
    try:
        found = mooncake_artifact.stored(store)
        asked = [found[name] for name in module.params["verify"] if name in found]
        damaged = {note["build_id"]: mooncake_artifact.damage(store, note) for note in asked}
    except OSError as error:
        module.fail_json(
            msg=f"{error.filename or store}: {error.strerror}. Fix: make mooncake_store a folder that the user who runs "
            "Ansible can read and write."
        )
    module.exit_json(
        changed=False,
        artifacts=found,
        damaged={name: reason for name, reason in damaged.items() if reason},
    )


if __name__ == "__main__":
    main()
