#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Put a packed Mooncake build into a store."""

from __future__ import annotations

DOCUMENTATION = r"""
module: mooncake_store
short_description: Put a packed Mooncake build into a store
version_added: 0.1.0
description:
  - Compares the checksum of an archive that was fetched with what the packing host told, and only then gives it its name.
  - The note with the checksum is written last, so that an artifact with a note is whole.
author:
  - The kvcache.ascend authors (@kvcache-ascend)
attributes:
  check_mode:
    support: full
    description: Says that it would be put there.
  diff_mode:
    support: none
    description: A build is a tree of binaries.
options:
  path:
    description: Folder of the store.
    type: path
    required: true
  incoming:
    description: The archive, in the same folder. It is gone afterwards.
    type: path
    required: true
  note:
    description: What packing it returned, with C(build_id), C(sha256), C(size_bytes) and C(manifest).
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Put the fetched archive into the store
  kvcache.ascend.mooncake_store:
    path: /srv/kvcache/store
    incoming: /srv/kvcache/store/.incoming
    note: "{{ packed.note }}"
  delegate_to: localhost
"""

RETURN = r"""
path:
  description: The archive.
  returned: success
  type: str
"""

import os

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.kvcache.ascend.plugins.module_utils import host_files, mooncake_artifact


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "incoming": {"type": "path", "required": True},
            "note": {"type": "dict", "required": True},
        },
        supports_check_mode=True,
    )
    store, incoming, note = (module.params[key] for key in ("path", "incoming", "note"))
    path = os.path.join(store, note["build_id"] + mooncake_artifact.ARCHIVE)
    if module.check_mode:
        module.exit_json(changed=True, path=path)
    try:
        seen = host_files.sha256(incoming)
        if seen != note["sha256"]:
            os.remove(incoming)
            module.fail_json(
                msg=f"the fetched artifact has the sha256 {seen}, the host packed one with {note['sha256']}. Fix: run again."
            )
        os.rename(incoming, path)
        mooncake_artifact.write_note(store, note)
    except OSError as error:
        module.fail_json(
            msg=f"{error.filename or store}: {error.strerror}. Fix: make mooncake_store a folder that the user "
            "who runs Ansible can write."
        )
    module.exit_json(changed=True, path=path)


if __name__ == "__main__":
    main()
