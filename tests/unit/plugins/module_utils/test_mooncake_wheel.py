# SPDX-License-Identifier: Apache-2.0
"""Wheels in a folder on the control node, as real archives."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.kvcache.ascend.plugins.module_utils import host_files, mooncake_wheel

PLATFORM = {"architecture": "x86_64", "python_tag": "cp311", "glibc": "2.36"}
NAME = "mooncake_x-1.0-cp311-cp311-manylinux_2_17_x86_64.manylinux_2_35_x86_64.whl"


def write(folder: Path, name: str = NAME, tag: str = "cp311-cp311-manylinux_2_35_x86_64") -> Path:
    path = folder / name
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mooncake/x.so", b"\x7fELF" * 5000)
        archive.writestr("mooncake_x-1.0.dist-info/WHEEL", f"Wheel-Version: 1.0\nTag: {tag}\n")
    return path


@pytest.fixture
def wheel(tmp_path: Path) -> dict[str, Any]:
    """The release's wheel; what :func:`write` writes is published."""
    digest = host_files.sha256(str(write(tmp_path)))
    return {
        "package": "mooncake-x",
        "platform_tag": "manylinux_2_35",
        "hashes": [f"sha256:{digest}"],
    }


def problem(folder: Any, wheel: dict[str, Any]) -> str:
    return mooncake_wheel.problem(str(folder), wheel, "1.0", PLATFORM)


def test_the_published_wheel_is_taken(tmp_path: Path, wheel: dict[str, Any]) -> None:
    assert problem(tmp_path, wheel) == ""
    assert mooncake_wheel.usable(str(tmp_path), wheel, "1.0", PLATFORM) == [str(tmp_path / NAME)]


def test_the_fix_is_a_command_that_can_be_copied(tmp_path: Path, wheel: dict[str, Any]) -> None:
    (tmp_path / NAME).unlink()
    assert problem(tmp_path, wheel).endswith(
        "pip download --no-deps --only-binary :all: --python-version 3.11 --platform manylinux_2_35_x86_64 "
        f"--dest {tmp_path} mooncake-x==1.0"
    )
    assert "It holds no wheel." in problem(tmp_path, wheel)


@pytest.mark.parametrize(
    "name",
    [
        "mooncake_x-1.0-cp312-cp312-manylinux_2_35_x86_64.whl",
        "mooncake_x-1.0-cp311-cp311-manylinux_2_35_aarch64.whl",
        "mooncake_x-1.0.post1-cp311-cp311-manylinux_2_35_x86_64.whl",
        "mooncake_y-1.0-cp311-cp311-manylinux_2_35_x86_64.whl",
        "mooncake_x-1.0.whl",
    ],
)
def test_another_wheel_is_named_and_not_taken(
    tmp_path: Path, wheel: dict[str, Any], name: str
) -> None:
    (tmp_path / NAME).rename(tmp_path / name)
    assert (
        f"there is no mooncake_x-1.0 for cp311 on x86_64 in {tmp_path}. It holds {name}."
        in problem(tmp_path, wheel)
    )
    assert mooncake_wheel.usable(str(tmp_path), wheel, "1.0", PLATFORM) == []


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "html"])
def test_a_damaged_wheel_is_named_with_the_cause(
    tmp_path: Path, wheel: dict[str, Any], damage: str
) -> None:
    path = tmp_path / NAME
    content = bytearray(path.read_bytes())
    content[300] ^= 0xFF
    changed: dict[str, bytes | bytearray] = {
        "cut": content[:9000],
        "flipped": content,
        "empty": b"",
        "html": b"<html>login</html>",
    }
    path.write_bytes(bytes(changed[damage]))
    text = problem(tmp_path, wheel)
    assert text.startswith(f"{path}: it")
    assert "damaged" in text
    assert "Fix: remove it and fetch it anew: pip download" in text


def test_a_whole_wheel_with_another_sha256(tmp_path: Path, wheel: dict[str, Any]) -> None:
    text = problem(tmp_path, {**wheel, "hashes": ["sha256:0"]})
    assert "it is not the published wheel: its sha256 is" in text


def test_a_renamed_wheel(tmp_path: Path, wheel: dict[str, Any]) -> None:
    path = write(tmp_path, tag="cp312-cp312-manylinux_2_35_x86_64")
    wheel["hashes"] = [f"sha256:{host_files.sha256(str(path))}"]
    assert "it was renamed: inside it is for cp312-cp312" in problem(tmp_path, wheel)


def test_folders_that_are_none(tmp_path: Path, wheel: dict[str, Any]) -> None:
    assert "is not an absolute path. Fix: name it from / on" in problem("wheels", wheel)
    assert "is not there. Fix: make the folder" in problem(tmp_path / "gone", wheel)
    assert "is not a directory" in problem(tmp_path / NAME, wheel)
