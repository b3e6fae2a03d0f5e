# SPDX-License-Identifier: Apache-2.0
"""Build ids, manifests and whether a wheel fits a platform, on real folders."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from ansible_collections.kvcache.ascend.plugins.module_utils import mooncake_build

INPUTS = {"version": "0.3.13.post1", "method": "wheel", "python_tag": "cp311"}
WHEEL = {"architectures": ["x86_64"], "pythons": ["cp310", "cp311"], "glibc_min": "2.35"}
PLATFORM = {"architecture": "x86_64", "python_tag": "cp311", "glibc": "2.36"}


def test_build_id_names_the_version_and_ignores_the_order_of_inputs() -> None:
    first = mooncake_build.build_id(INPUTS)
    assert first.startswith("0.3.13.post1-")
    assert first == mooncake_build.build_id(dict(reversed(INPUTS.items())))


@pytest.mark.parametrize("key", sorted(INPUTS))
def test_each_input_changes_the_build_id(key: str) -> None:
    assert mooncake_build.build_id({**INPUTS, key: "other"}) != mooncake_build.build_id(INPUTS)


def test_a_wheel_that_fits() -> None:
    assert mooncake_build.wheel_problems(WHEEL, PLATFORM) == []
    assert mooncake_build.wheel_problems(WHEEL, {**PLATFORM, "glibc": "2.100"}) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"architecture": "riscv64"}, "the host is riscv64"),
        ({"python_tag": "cp39"}, "mooncake_python is cp39"),
        ({"glibc": "2.34"}, "needs glibc 2.35 or newer, the host has 2.34"),
    ],
)
def test_a_wheel_that_does_not_fit(change: dict[str, str], words: str) -> None:
    problems = mooncake_build.wheel_problems(WHEEL, {**PLATFORM, **change})
    assert len(problems) == 1
    assert words in problems[0]


def test_no_wheel_at_all() -> None:
    assert "not published as a wheel" in mooncake_build.wheel_problems(None, PLATFORM)[0]


def test_the_platform_script_runs_on_this_python() -> None:
    command = [sys.executable, "-c", mooncake_build.PLATFORM_SCRIPT]
    platform = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    assert platform["python_tag"] == f"cp{sys.version_info[0]}{sys.version_info[1]}"
    assert mooncake_build.parse_version(platform["glibc"]) > (2, 0)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with one complete build, one without a manifest, a staging folder, and `current`."""
    for name in ("1.0-aaa", "1.0-bbb", ".staging-1.0-ccc"):
        (tmp_path / name / "bin").mkdir(parents=True)
        (tmp_path / name / "bin" / "tool").write_text("x")
    for name in ("1.0-aaa", ".staging-1.0-ccc"):
        mooncake_build.write_manifest(str(tmp_path / name), {"build_id": name, "files": {"a": "b"}})
    (tmp_path / "current").symlink_to("1.0-aaa")
    return tmp_path


def test_only_complete_builds_are_read_each_once(root: Path) -> None:
    assert mooncake_build.read_builds(str(root)) == [{"build_id": "1.0-aaa"}]
    assert mooncake_build.read_builds(str(root / "absent")) == []


def test_a_damaged_manifest_is_no_build(root: Path) -> None:
    (root / "1.0-aaa" / "manifest.json").write_text('{"build_id": ')
    assert mooncake_build.read_builds(str(root)) == []


def test_current_build(root: Path) -> None:
    assert mooncake_build.current_build(str(root)) == "1.0-aaa"
    (root / "current").unlink()
    assert mooncake_build.current_build(str(root)) is None
    (root / "current").symlink_to("gone")
    assert mooncake_build.current_build(str(root)) is None


def test_digests_and_size_leave_out_links_and_the_manifest(root: Path) -> None:
    tree = root / "1.0-aaa"
    (tree / "bin" / "link").symlink_to("tool")
    digest = hashlib.sha256(b"x").hexdigest()
    assert mooncake_build.file_digests(str(tree)) == {os.path.join("bin", "tool"): digest}
    manifest_size = (tree / "manifest.json").stat().st_size
    assert mooncake_build.tree_size_bytes(str(tree)) == 1 + manifest_size


def test_a_strict_umask_does_not_lock_out_the_service(root: Path) -> None:
    tree = root / "1.0-bbb"
    (tree / "bin" / "tool").chmod(0o600)
    (tree / "bin").chmod(0o700)
    (tree / "run").write_text("")
    (tree / "run").chmod(0o700)
    mooncake_build.open_to_services(str(tree))
    assert (tree / "bin").stat().st_mode & 0o777 == 0o755
    assert (tree / "bin" / "tool").stat().st_mode & 0o777 == 0o644
    assert (tree / "run").stat().st_mode & 0o777 == 0o755
