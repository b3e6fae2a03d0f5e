# SPDX-License-Identifier: Apache-2.0
"""What stands in a build's way, on real folders."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.kvcache.ascend.plugins.module_utils import mooncake_build, mooncake_tree

BUILD = "1-abc"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root with one good build in use. Its parents are pytest's own and closed, so tests look from `root` on."""
    root = tmp_path / "mooncake"
    tree = root / BUILD
    (tree / "bin").mkdir(parents=True)
    (tree / "bin" / "tool").write_text("#!/bin/sh\n")
    (tree / "manifest.json").write_text(json.dumps({"build_id": BUILD}))
    mooncake_build.open_to_services(str(tree))
    (tree / "bin" / "tool").chmod(0o755)
    root.chmod(0o755)
    (root / "current").symlink_to(BUILD)
    return root


def found(root: Path, wanted: str = BUILD, **options: Any) -> list[tuple[str, str, str]]:
    seen = mooncake_tree.look(
        str(root), [b["build_id"] for b in mooncake_build.read_builds(str(root))]
    )
    seen["closed_folders"] = [
        folder for folder in seen["closed_folders"] if folder["path"].startswith(str(root))
    ]
    findings = mooncake_tree.findings(seen, "h1", wanted, **options)
    return [
        (item["severity"], item["observed"], item["fix"])
        for item in findings
        if item["check"] != "mooncake_root"
        or "is below" not in item["observed"]  # pytest is in /tmp
    ]


def test_a_good_root_has_no_findings(root: Path) -> None:
    assert found(root) == []
    assert found(root, before_install=False) == []


def test_a_root_that_is_not_there_yet_has_none_either(tmp_path: Path) -> None:
    assert found(tmp_path / "nothing") == []


def test_a_root_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    ((severity, observed, fix),) = found(tmp_path / "file")
    assert severity == "error"
    assert "is not a directory" in observed
    assert "mv" in fix


@pytest.mark.parametrize("kind", ["directory", "file"])
def test_current_that_is_no_link_is_in_the_way(root: Path, kind: str) -> None:
    (root / "current").unlink()
    (root / "current").mkdir() if kind == "directory" else (root / "current").write_text("x")
    ((severity, observed, fix),) = found(root)
    assert (severity, f"current is a {kind}" in observed) == ("error", True)
    assert fix.startswith(f"move it away (sudo mv {root}/current {root}/current.old)")


def test_a_dangling_current_is_mended_by_an_installation_and_an_error_after_it(root: Path) -> None:
    (root / "current").unlink()
    (root / "current").symlink_to("gone")
    assert [item[0] for item in found(root)] == ["warning"]
    assert "points to gone, which is not there" in found(root)[0][1]
    assert [item[0] for item in found(root, before_install=False)] == ["error"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "is empty"),
        ("{", "is not JSON"),
        ("[]", "names no build"),
        ('{"build_id": "2-x"}', "names the build 2-x, not 1-abc"),
        (b"\xff\xfe", "not UTF-8"),
        (None, "is missing"),
        ("directory", "is a directory"),
    ],
)
def test_a_manifest_that_does_not_name_its_build(root: Path, content: Any, reason: str) -> None:
    manifest = root / BUILD / "manifest.json"
    manifest.unlink()
    if content == "directory":
        manifest.mkdir()
    elif content is not None:
        manifest.write_bytes(content if isinstance(content, bytes) else content.encode())
    ((severity, observed, fix),) = found(root)
    assert severity == "error"
    assert f"{root}/{BUILD} is no complete build: its manifest.json" in observed
    assert reason in observed
    assert f"sudo mv {root}/{BUILD} {root}/.old-{BUILD}" in fix


def test_what_is_left_of_another_build_is_no_obstacle(root: Path) -> None:
    (root / "2-other").mkdir()
    (root / ".staging-x").mkdir()
    ((severity, _observed, fix),) = found(root)
    assert severity == "warning"
    assert f"sudo rm -r {root}/2-other" in fix


@pytest.mark.parametrize(
    ("path", "mode"),
    [
        ("bin/tool", 0o750),
        ("bin/tool", 0o744),
        ("bin", 0o700),
        ("manifest.json", 0o600),
        ("", 0o750),
    ],
)
def test_what_services_can_not_use_is_seen_and_can_be_opened(
    root: Path, path: str, mode: int
) -> None:
    tree = root / BUILD
    (tree / path).chmod(mode)
    closed = mooncake_tree.closed_paths(str(tree))
    assert closed == [os.path.join(str(tree), path) if path else str(tree)]
    ((severity, observed, _fix),) = found(root)
    assert severity == "warning"
    assert closed[0] in observed
    assert [item[0] for item in found(root, before_install=False)] == ["error"]
    mooncake_build.open_to_services(str(tree))
    assert mooncake_tree.closed_paths(str(tree)) == []


def test_many_closed_paths_are_counted(root: Path) -> None:
    for number in range(9):
        (root / BUILD / f"f{number}").write_text("x")
        (root / BUILD / f"f{number}").chmod(0o600)
    assert "and 6 more" in found(root)[0][1]


def test_a_closed_folder_above_is_an_error_with_its_mode(tmp_path: Path) -> None:
    above = tmp_path / "above"
    (above / "mooncake").mkdir(parents=True)
    above.chmod(0o750)
    seen = mooncake_tree.look(str(above / "mooncake"), [])
    assert {"path": str(above), "mode": "0750"} in seen["closed_folders"]
    texts = [
        item["fix"]
        for item in mooncake_tree.findings(seen, "h1", BUILD)
        if item["severity"] == "error" and str(above) in item["observed"]
    ]
    assert any(f"sudo chmod o+x {above}" in text for text in texts)


@pytest.mark.parametrize(
    "path",
    [
        "/home/ops/m",
        "/root",
        "/tmp/m",
        "/var/tmp/m",
        "/run/user/0/m",
        "/opt/../home/m",
        "//tmp/m",
        "m",
    ],
)
def test_folders_that_services_do_not_see(path: str) -> None:
    assert "Fix: " in mooncake_tree.hidden_from_services(path)


@pytest.mark.parametrize("path", ["/opt/kvcache/mooncake", "/homes/m", "/data/tmp/m", "/run/m"])
def test_folders_that_services_see(path: str) -> None:
    assert mooncake_tree.hidden_from_services(path) == ""
