#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Bring Mooncake's sources, whole, into a folder."""

from __future__ import annotations

DOCUMENTATION = r"""
module: mooncake_source
short_description: Bring Mooncake's sources with submodules and yalantinglibs into a folder
version_added: 0.1.0
description:
  - Takes them from a git repository or out of an archive, with as little history as the server allows.
  - Mirrors are told to git itself (C(url.<mirror>.insteadOf)), so that submodules follow them, too.
  - The folder is whole or the module fails. What stood there before of other sources is removed.
author:
  - The kvcache.ascend authors (@kvcache-ascend)
attributes:
  check_mode:
    support: full
    description: Says whether the sources would be brought.
  diff_mode:
    support: none
    description: Sources are a tree of thousands of files.
options:
  dest:
    description: Folder for the sources. Their own files, nothing else, belong there.
    type: path
    required: true
  url:
    description: Git repository of Mooncake.
    type: str
    default: ""
  revision:
    description: Tag, branch or commit.
    type: str
    default: ""
  commit:
    description: Commit, or its beginning, that O(revision) must be. Empty for any.
    type: str
    default: ""
  yalantinglibs_url:
    description: Git repository of yalantinglibs, for versions of Mooncake that have it not as a submodule.
    type: str
    default: ""
  yalantinglibs_revision:
    description: Its tag or commit. Empty when it is a submodule.
    type: str
    default: ""
  mirrors:
    description: Beginning of an address, and what to take in its place.
    type: dict
    default: {}
  archive:
    description: An archive on the host (tar, compressed or not) to take in place of git.
    type: path
  sha256:
    description: Checksum that O(archive) must have.
    type: str
    default: ""
  environment:
    description: Environment variables for git, such as a proxy.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Bring the sources from a mirror
  kvcache.ascend.mooncake_source:
    dest: /var/tmp/mooncake
    url: https://github.com/kvcache-ai/Mooncake.git
    revision: v0.3.12.post1
    mirrors:
      https://github.com/: https://git.example.com/github/
"""

RETURN = r"""
commit:
  description: Commit of Mooncake; null when it came out of an archive that does not tell.
  returned: success
  type: str
  sample: 6041a609a8c3af35e778f70db344f145c2914980
kind:
  description: V(host) when another host may well succeed, V(source) when every host would fail in the same way.
  returned: failure
  type: str
"""

import os
import shutil
import tempfile
from typing import Callable

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.kvcache.ascend.plugins.module_utils import (
    git_errors,
    mooncake_fetch,
    mooncake_proof,
    mooncake_source,
)


def from_archive(module: AnsibleModule) -> str | None:
    path, wanted = module.params["archive"], module.params["sha256"]
    seen = module.sha256(path)
    if wanted and seen != wanted:
        raise mooncake_fetch.FetchError(
            "source",
            f"{path} has the sha256 {seen}, expected {wanted}",
            "correct mooncake_source_archive_sha256, or bring the right archive",
        )
    mooncake_fetch.unpack(path, module.params["dest"])
    mooncake_fetch.check_whole(module.params["dest"], path)
    return mooncake_fetch.read_stamp(module.params["dest"]).get("commit")


def with_git(module: AnsibleModule, work: Callable[[mooncake_fetch.Git], str]) -> str:
    """Do something with a git that has a configuration of its own, which is gone afterwards."""
    params, folder = module.params, module.params["dest"]
    home = tempfile.mkdtemp(prefix=".git-home-", dir=os.path.dirname(folder))
    try:
        mooncake_fetch.write_configuration(
            home, params["mirrors"], [params["url"], params["yalantinglibs_url"]]
        )
        environment = {key: str(value) for key, value in params["environment"].items()}
        return work(
            mooncake_fetch.Git(home, mooncake_proof.tolerant(module.run_command), environment)
        )
    finally:
        shutil.rmtree(home, ignore_errors=True)


def from_git(module: AnsibleModule, git: mooncake_fetch.Git) -> str:
    params, folder = module.params, module.params["dest"]
    shutil.rmtree(folder, ignore_errors=True)
    commit = mooncake_fetch.clone_all(git, folder, params)
    mooncake_fetch.check_whole(folder, git_errors.without_password(params["url"]))
    return commit


def is_current(module: AnsibleModule, stamp: dict) -> bool:
    """Return whether the sources that are there are still those; a tag or branch may have moved since a run that failed."""
    params = module.params
    if params["archive"] or mooncake_source.COMMIT.match(params["revision"]):
        return True
    now = with_git(
        module,
        lambda git: mooncake_fetch.remote_commit(git, params["url"], params["revision"]) or "",
    )
    return now in ("", stamp["commit"])


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "dest": {"type": "path", "required": True},
            "url": {"type": "str", "default": ""},
            "revision": {"type": "str", "default": ""},
            "commit": {"type": "str", "default": ""},
            "yalantinglibs_url": {"type": "str", "default": ""},
            "yalantinglibs_revision": {"type": "str", "default": ""},
            "mirrors": {"type": "dict", "default": {}},
            "archive": {"type": "path"},
            "sha256": {"type": "str", "default": ""},
            "environment": {"type": "dict", "default": {}},
        },
        supports_check_mode=True,
        required_one_of=[("url", "archive")],
    )
    names = ("revision", "commit", "yalantinglibs_revision", "sha256")
    wanted = {name: module.params[name] for name in names}
    stamp = mooncake_fetch.read_stamp(module.params["dest"])
    if stamp.get("wanted") == wanted and is_current(module, stamp):
        module.exit_json(changed=False, commit=stamp["commit"])
    if module.check_mode:
        module.exit_json(changed=True, commit=None)
    try:
        os.makedirs(os.path.dirname(module.params["dest"]), exist_ok=True)
        commit = (
            from_archive(module)
            if module.params["archive"]
            else with_git(module, lambda git: from_git(module, git))
        )
        mooncake_fetch.write_stamp(module.params["dest"], {"wanted": wanted, "commit": commit})
    except mooncake_fetch.FetchError as error:
        module.fail_json(msg=str(error), kind=error.kind)
    except OSError as error:
        module.fail_json(
            msg=f"{error.filename or module.params['dest']}: {error.strerror}. Fix: free space or correct the folder, "
            "then run again.",
            kind="host",
        )
    module.exit_json(changed=True, commit=commit)


if __name__ == "__main__":
    main()
