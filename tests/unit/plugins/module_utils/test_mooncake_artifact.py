# SPDX-License-Identifier: Apache-2.0
"""Builds packed and unpacked, and every way in which one may be damaged."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.kvcache.ascend.plugins.module_utils import (
    host_files,
    mooncake_artifact,
    mooncake_build,
)


@pytest.fixture
def build(tmp_path: Path) -> Path:
    """A sealed build with a program, a library and a link to it."""
    tree = tmp_path / "9.9-abc"
    (tree / "bin").mkdir(parents=True)
    (tree / "lib").mkdir()
    (tree / "python" / "mooncake").mkdir(parents=True)
    (tree / "bin" / "mooncake_master").write_text("#!/bin/sh\n")
    (tree / "bin" / "mooncake_master").chmod(0o755)
    (tree / "lib" / "libasio.so").write_text("library")
    (tree / "python" / "mooncake" / "libasio.so").symlink_to("../../lib/libasio.so")
    manifest = {
        "build_id": "9.9-abc",
        "version": "9.9",
        "files": mooncake_build.file_digests(str(tree)),
    }
    mooncake_build.write_manifest(str(tree), manifest)
    return tree


@pytest.fixture
def packed(build: Path, tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    archive = tmp_path / "9.9-abc.tar.gz"
    return archive, mooncake_artifact.pack(str(build), str(archive))


def test_what_is_unpacked_is_what_was_packed(
    packed: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    archive, note = packed
    staging = tmp_path / "staging"
    (staging / "old").mkdir(parents=True)
    manifest = mooncake_artifact.unpack(str(archive), note["sha256"], str(staging))
    assert manifest["build_id"] == "9.9-abc"
    assert (staging / "bin" / "mooncake_master").stat().st_mode & 0o777 == 0o755
    assert (staging / "python" / "mooncake" / "libasio.so").read_text() == "library"
    assert not (staging / "old").exists()
    assert "files" not in note["manifest"]
    assert note["size_bytes"] == archive.stat().st_size


def test_another_checksum_is_refused(packed: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    archive, note = packed
    archive.write_bytes(archive.read_bytes() + b"x")
    with pytest.raises(mooncake_artifact.ArtifactError, match="sha256"):
        mooncake_artifact.unpack(str(archive), note["sha256"], str(tmp_path / "staging"))
    assert not (tmp_path / "staging").exists()


def test_a_file_that_the_manifest_does_not_name_is_refused(build: Path, tmp_path: Path) -> None:
    (build / "bin" / "mooncake_master").write_text("#!/bin/sh\nevil\n")
    archive = tmp_path / "a.tar.gz"
    note = mooncake_artifact.pack(str(build), str(archive))
    with pytest.raises(mooncake_artifact.ArtifactError, match="bin/mooncake_master"):
        mooncake_artifact.unpack(str(archive), note["sha256"], str(tmp_path / "staging"))


@pytest.mark.parametrize(
    ("name", "link"),
    [("../outside", ""), ("/etc/outside", ""), ("lib/x", "../../outside"), ("x", "/etc/passwd")],
)
def test_a_member_that_leads_outside_is_refused(tmp_path: Path, name: str, link: str) -> None:
    archive = tmp_path / "a.tar"
    with tarfile.open(archive, "w") as made:
        member = tarfile.TarInfo(name)
        if link:
            member.type, member.linkname = tarfile.SYMTYPE, link
        made.addfile(member, io.BytesIO(b""))
    with pytest.raises(mooncake_artifact.ArtifactError, match="leads outside"):
        mooncake_artifact.unpack(str(archive), host_files.sha256(str(archive)), str(tmp_path / "s"))
    assert not (tmp_path / "outside").exists()


def test_a_store_lists_only_what_is_whole(
    packed: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    archive, note = packed
    store = tmp_path / "store"
    assert mooncake_artifact.stored(str(store)) == {}
    store.mkdir()
    archive.rename(store / archive.name)
    assert mooncake_artifact.stored(str(store)) == {}
    mooncake_artifact.write_note(str(store), note)
    (store / "half.json").write_text("{")
    (store / "gone.json").write_text(json.dumps({**note, "build_id": "gone"}))
    (store / "renamed.json").write_text(json.dumps(note))
    assert mooncake_artifact.stored(str(store)) == {"9.9-abc": note}
    assert mooncake_artifact.damage(str(store), note) is None
    (store / archive.name).write_bytes(b"x")
    assert "its note says" in str(mooncake_artifact.damage(str(store), note))
