# SPDX-License-Identifier: Apache-2.0
"""Bring Mooncake's sources, with their submodules and yalantinglibs, into one folder: by git, or out of an archive.

The commands are run by a callable that is passed in.
"""

from __future__ import annotations

import json
import os
import shutil
import tarfile
from typing import Any

from ansible_collections.kvcache.ascend.plugins.module_utils import (
    git_errors,
    host_files,
    mooncake_source,
)
from ansible_collections.kvcache.ascend.plugins.module_utils.mooncake_proof import Runner

STAMP = ".kvcache-sources.json"
YALANTINGLIBS = "extern/yalantinglibs"
REQUIRED = ("CMakeLists.txt", "extern/pybind11/CMakeLists.txt", f"{YALANTINGLIBS}/CMakeLists.txt")
"""What a whole tree holds. Releases before 0.3.11 have no submodule for yalantinglibs; it is laid there."""


class FetchError(Exception):
    """The sources could not be brought: ``kind`` (host or source), ``cause``, ``fix``."""

    def __init__(self, kind: str, cause: str, fix: str) -> None:
        super().__init__(git_errors.without_password(f"{cause}. Fix: {fix}."))
        self.kind = kind


def is_local(url: str) -> bool:
    return url.startswith(("/", "file:"))


class Git:
    """git with a configuration of its own, so that neither the host's nor a user's settings matter."""

    def __init__(self, home: str, run: Runner, environment: dict[str, str]) -> None:
        self.run = run
        self.environment = dict(
            environment,
            HOME=home,
            GIT_CONFIG_NOSYSTEM="1",
            GIT_TERMINAL_PROMPT="0",
            GIT_SSH_COMMAND="ssh -o BatchMode=yes",
            LC_ALL="C",
        )

    def __call__(self, *words: str) -> tuple[int, str, str]:
        return self.run(["git", *words], self.environment)

    def must(self, url: str, revision: str, *words: str) -> str:
        """Run git; raise FetchError with the cause when it fails."""
        status, output, error = self(*words)
        if status != 0:
            raise FetchError(**git_errors.explain(f"{output}\n{error}", url, revision))
        return output.strip()


def write_configuration(home: str, mirrors: dict[str, str], urls: list[str]) -> None:
    """Write git's configuration; it may hold passwords, so that root alone reads it."""
    text = (
        mooncake_source.redirects(mirrors)
        + "[safe]\n\tdirectory = *\n[advice]\n\tdetachedHead = false\n"
    )
    if any(is_local(url) for url in [*urls, *mirrors.values()]):
        text += '[protocol "file"]\n\tallow = always\n'
    os.makedirs(home, mode=0o700, exist_ok=True)
    path = os.path.join(home, ".gitconfig")
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as handle:
        handle.write(text)


def checkout(git: Git, folder: str, url: str, revision: str) -> str:
    """Bring one revision of one repository into `folder`, with as little history as the server allows; return its commit."""
    os.makedirs(folder, exist_ok=True)
    git.must(url, revision, "-C", folder, "init", "--quiet")
    status, _output, _error = git(
        "-C", folder, "fetch", "--quiet", "--depth", "1", "--", url, revision
    )
    wanted = "FETCH_HEAD"
    if status != 0:
        # Some servers hand out neither single commits nor shallow histories.
        refs = ("+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*")
        git.must(url, revision, "-C", folder, "fetch", "--quiet", "--", url, *refs)
        for wanted in (revision, f"refs/tags/{revision}", f"refs/remotes/origin/{revision}"):
            status = git("-C", folder, "rev-parse", "--quiet", "--verify", f"{wanted}^{{commit}}")[
                0
            ]
            if status == 0:
                break
        else:
            raise FetchError(**git_errors.explain("unknown revision", url, revision))
    git.must(url, revision, "-C", folder, "checkout", "--quiet", "--force", "--detach", wanted)
    return git.must(url, revision, "-C", folder, "rev-parse", "HEAD")


def remote_commit(git: Git, url: str, revision: str) -> str | None:
    """Return the commit that a tag or branch is at now; None when the server does not say."""
    status, output, _error = git("ls-remote", "--quiet", "--", url, revision, f"{revision}^{{}}")
    lines = [line.split() for line in output.splitlines()] if status == 0 else []
    # A tag with a message is an object of its own; the line with ^{} has its commit.
    peeled = [words[0] for words in lines if words[1].endswith("^{}")]
    found = peeled or [words[0] for words in lines]
    return found[0] if found else None


def bring_submodules(git: Git, folder: str, url: str) -> None:
    update = ("-C", folder, "submodule", "update", "--init", "--recursive", "--force")
    if git(*update, "--depth", "1")[0] != 0:
        git.must(url, "", *update)


def clone_all(git: Git, folder: str, wanted: dict[str, Any]) -> str:
    """Bring Mooncake, its submodules and yalantinglibs; return Mooncake's commit."""
    url, revision = wanted["url"], wanted["revision"]
    commit = checkout(git, folder, url, revision)
    if wanted["commit"] and not commit.startswith(wanted["commit"]):
        raise FetchError(
            "source",
            f"{url} at {revision} is commit {commit}, the release names {wanted['commit']}",
            "look who moved the tag or rewrote the mirror; to take it all the same, set mooncake_git_revision",
        )
    bring_submodules(git, folder, url)
    if wanted["yalantinglibs_revision"]:
        target = os.path.join(folder, YALANTINGLIBS)
        checkout(git, target, wanted["yalantinglibs_url"], wanted["yalantinglibs_revision"])
    return commit


def members_inside(archive: tarfile.TarFile) -> list[tarfile.TarInfo]:
    """Return the members of an archive of sources; raise FetchError when one would land outside the folder."""
    members = archive.getmembers()
    for member in members:
        names = [member.name] + ([member.linkname] if member.islnk() else [])
        if any(name.startswith("/") or ".." in name.split("/") for name in names) or not (
            member.isfile() or member.isdir() or member.issym() or member.islnk()
        ):
            raise FetchError(
                "source",
                f"the archive has a member {member.name} that leads outside",
                "make it anew",
            )
    return members


def unpack(path: str, folder: str) -> None:
    """Unpack an archive of sources; a single folder at its top is left out, as archives of git servers have one."""
    aside = f"{folder}.unpacked"
    shutil.rmtree(aside, ignore_errors=True)
    try:
        with tarfile.open(path) as archive:
            archive.extractall(aside, members=members_inside(archive))
    except (tarfile.TarError, EOFError, OSError) as error:
        if isinstance(error, OSError) and error.errno == 28:
            raise FetchError(**git_errors.explain("No space left on device", path, "")) from error
        raise FetchError(
            "source", f"{path} can't be unpacked: {error}", "make the archive anew (docs/build.md)"
        ) from error
    entries = os.listdir(aside)
    top = os.path.join(aside, entries[0]) if len(entries) == 1 else aside
    shutil.rmtree(folder, ignore_errors=True)
    os.rename(top, folder)
    shutil.rmtree(aside, ignore_errors=True)


def check_whole(folder: str, origin: str) -> None:
    """Raise FetchError when a part of the sources is missing, as it is in archives that git servers make."""
    for name in REQUIRED:
        if not os.path.isfile(os.path.join(folder, name)):
            part = os.path.dirname(name) or "Mooncake's own CMakeLists.txt"
            raise FetchError(
                "source",
                f"the sources from {origin} lack {part}",
                "take them with their submodules: archives that git servers offer have none "
                "(playbooks/mooncake_sources.yml makes a whole one)",
            )


def read_stamp(folder: str) -> dict[str, Any]:
    return host_files.read_dict(os.path.join(folder, STAMP)) or {}


def write_stamp(folder: str, stamp: dict[str, Any]) -> None:
    with open(os.path.join(folder, STAMP), "w", encoding="utf-8") as handle:
        json.dump(stamp, handle)
