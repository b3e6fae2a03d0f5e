#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Download OS packages with all that they need, without installing them."""

from __future__ import annotations

DOCUMENTATION = r"""
module: os_packages_download
short_description: Download OS packages with all that they need, without installing them
version_added: 0.1.0
description:
  - Resolves packages as a host without any package would need them, downloads what the bundle lacks, and packs it.
  - Writes into O(work) alone. The host's own packages, lists and caches stay as they are.
  - With dnf, C(dnf-plugins-core) and C(createrepo_c) must be there.
author:
  - The kvcache.ascend authors (@kvcache-ascend)
attributes:
  check_mode:
    support: full
    description: Resolves, and says what would be downloaded. With dnf, where that takes a download, nothing more than that.
  diff_mode:
    support: none
    description: Packages are binaries; the result names them.
options:
  name:
    description: Names of packages.
    type: list
    elements: str
    required: true
  manager:
    description: The package manager of the host.
    type: str
    choices: [apt, dnf]
    required: true
  work:
    description: Folder of this module's own, which is emptied first. Whoever calls removes it.
    type: path
    required: true
  bundled:
    description:
      - What the bundle has for each system, whole, as C(kvcache.ascend.bundle_present) says.
      - Names that were asked for before are asked for again, so that the result serves all releases of the bundle.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Download Mooncake's libraries
  kvcache.ascend.os_packages_download:
    name: [libibverbs1, libnuma1]
    manager: apt
    work: /var/tmp/kvcache-bundle
    bundled: "{{ bundle_dir | kvcache.ascend.bundle_present }}"
  register: downloaded
"""

RETURN = r"""
system:
  description: OS, version and architecture of the host.
  returned: always
  type: str
  sample: debian-12-x86_64
names:
  description: All names that were asked for, now or before.
  returned: always
  type: list
  elements: str
complete:
  description: Whether the bundle has had it all, exactly.
  returned: always
  type: bool
fetched:
  description: Files that the bundle lacked and that are in RV(archive), or would be in check mode.
  returned: always
  type: list
  elements: str
files:
  description: All files of the system, with their checksums; with dnf, in check mode, their names alone.
  returned: always
  type: list
  elements: dict
  contains:
    file:
      description: Name of the file, below the folder of the system.
      type: str
    size_bytes:
      description: Size in bytes.
      type: int
    sha256:
      description: Checksum.
      type: str
index:
  description: Text of the file C(Packages) for apt; empty for dnf, whose repository is in RV(archive).
  returned: always
  type: str
archive:
  description: Path of an archive of RV(fetched); empty when there are none, or in check mode.
  returned: always
  type: str
"""

import os
import shutil

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.kvcache.ascend.plugins.module_utils import (
    host_files,
    mooncake_proof,
    os_bundle,
    os_download,
)


def pack(module: AnsibleModule, work: str, fetched: list[str]) -> str:
    """Pack what was fetched; return the archive's path."""
    archive = os.path.join(work, "packages.tar")
    command = ["tar", "--create", "--file", archive, "--directory", os.path.join(work, "packages")]
    status, _output, error = module.run_command([*command, *fetched])
    if status != 0:
        raise os_download.DownloadError(f"packing: {error.strip()}. Fix it, then run again.")
    return archive


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "name": {"type": "list", "elements": "str", "required": True},
            "manager": {"type": "str", "choices": ["apt", "dnf"], "required": True},
            "work": {"type": "path", "required": True},
            "bundled": {"type": "dict", "default": {}},
        },
        supports_check_mode=True,
    )
    work = module.params["work"]
    system = os_bundle.system(
        host_files.os_release(host_files.read_text("/etc/os-release")), os.uname().machine
    )
    bundled = module.params["bundled"].get(system, {"names": [], "files": []})
    names = sorted({*bundled["names"], *module.params["name"]})
    method = os_download.with_apt if module.params["manager"] == "apt" else os_download.with_dnf
    archive = ""
    try:
        shutil.rmtree(work, ignore_errors=True)
        os.makedirs(work, mode=0o755)
        run = mooncake_proof.tolerant(module.run_command)
        found = method(names, bundled["files"], work, run, module.check_mode)
        if found.fetched and not module.check_mode:
            archive = pack(module, work, found.fetched)
    except os_download.DownloadError as error:
        module.fail_json(msg=f"{system}: {error}")
    except OSError as error:
        module.fail_json(
            msg=f"{system}: {error.filename or work}: {error.strerror}. Fix it, then run again."
        )
    known = [item["file"] for item in bundled["files"]]
    complete = names == sorted(bundled["names"]) and sorted(known) == sorted(
        item["file"] for item in found.files
    )
    module.exit_json(
        changed=not complete,
        system=system,
        names=names,
        complete=complete,
        fetched=found.fetched,
        files=found.files,
        index=found.description,
        archive=archive,
    )


if __name__ == "__main__":
    main()
