# SPDX-License-Identifier: Apache-2.0
"""A build packed for shipping: ``<build id>.tar.gz`` and beside it ``<build id>.json``, which holds its checksum.

The archive holds the build's folder as it is, manifest included. Who unpacks it compares the checksum of the archive with
what the packing host told, and then the checksum of each file with the manifest.
"""

from __future__ import annotations

import json
import os
import shutil
import tarfile
from typing import Any

from ansible_collections.kvcache.ascend.plugins.module_utils import host_files, mooncake_build

ARCHIVE = ".tar.gz"
NOTE = ".json"


class ArtifactError(Exception):
    """The artifact is damaged; the message says how it was noticed."""


def as_root(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = "root"
    return member


def pack(build: str, archive: str) -> dict[str, Any]:
    """Pack a build into `archive`; return the note that goes with it."""
    with open(os.path.join(build, mooncake_build.MANIFEST), encoding="utf-8") as handle:
        manifest = json.load(handle)
    new = f"{archive}.new"
    with tarfile.open(new, "w:gz", compresslevel=6) as packed:
        packed.add(build, arcname=".", filter=as_root)
    os.chmod(new, 0o644)
    os.rename(new, archive)
    manifest.pop("files", None)
    return {
        "build_id": manifest["build_id"],
        "sha256": host_files.sha256(archive),
        "size_bytes": os.path.getsize(archive),
        "manifest": manifest,
    }


def is_safe(member: tarfile.TarInfo) -> bool:
    """Return whether a member stays inside the folder that it is unpacked into."""
    names = [member.name] + ([member.linkname] if member.issym() else [])
    if any(name.startswith("/") for name in names) or ".." in member.name.split("/"):
        return False
    target = os.path.normpath(os.path.join(os.path.dirname(member.name), member.linkname))
    return member.isfile() or member.isdir() or (member.issym() and not target.startswith(".."))


def unpack(archive: str, wanted_sha256: str, staging: str) -> dict[str, Any]:
    """Unpack into `staging` after the checksum was compared, compare each file, return the manifest."""
    seen = host_files.sha256(archive)
    if seen != wanted_sha256:
        raise ArtifactError(f"{archive} has the sha256 {seen}, expected {wanted_sha256}")
    shutil.rmtree(staging, ignore_errors=True)
    with tarfile.open(archive) as packed:
        members = packed.getmembers()
        unsafe = [member.name for member in members if not is_safe(member)]
        if unsafe:
            raise ArtifactError(f"{archive} has a member {unsafe[0]} that leads outside")
        packed.extractall(staging, members=members)
    with open(os.path.join(staging, mooncake_build.MANIFEST), encoding="utf-8") as handle:
        manifest = json.load(handle)
    digests = mooncake_build.file_digests(staging)
    if digests != manifest["files"]:
        wrong = sorted(
            name
            for name in {*digests, *manifest["files"]}
            if digests.get(name) != manifest["files"].get(name)
        )
        raise ArtifactError(f"{archive}: {wrong[0]} is not the file that the manifest names")
    return manifest


def read_note(path: str) -> dict[str, Any] | None:
    note = host_files.read_dict(path)
    whole = {"build_id", "sha256", "size_bytes", "manifest"} <= set(note or {})
    return note if whole else None


def stored(store: str) -> dict[str, dict[str, Any]]:
    """Return the notes of all artifacts in a store by build id; one without its archive, or half written, is none."""
    found = {}
    for name in sorted(os.listdir(store)) if os.path.isdir(store) else []:
        if not name.endswith(NOTE):
            continue
        note = read_note(os.path.join(store, name))
        build_id = name[: -len(NOTE)]
        if (
            note
            and note["build_id"] == build_id
            and os.path.isfile(os.path.join(store, build_id + ARCHIVE))
        ):
            found[build_id] = note
    return found


def damage(store: str, note: dict[str, Any]) -> str | None:
    """Return what is wrong with an artifact in the store; None when its checksum is right."""
    path = os.path.join(store, note["build_id"] + ARCHIVE)
    seen = host_files.sha256(path)
    if seen == note["sha256"]:
        return None
    return f"{path} has the sha256 {seen}, its note says {note['sha256']}"


def write_note(store: str, note: dict[str, Any]) -> None:
    """Write the note of an artifact last, so that an artifact with a note is whole."""
    path = os.path.join(store, note["build_id"] + NOTE)
    with open(f"{path}.new", "w", encoding="utf-8") as handle:
        json.dump(note, handle, indent=2)
        handle.write("\n")
    os.rename(f"{path}.new", path)
