# SPDX-License-Identifier: Apache-2.0
"""What a bundle says of itself, and what is wrong with it for a host."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.kvcache.ascend.plugins.module_utils import os_bundle

SYSTEM = "debian-12-x86_64"
FILES = {"libnuma1_2.0.16-1_amd64.deb": b"numa", "python3-venv_3.11.2-1_amd64.deb": b"venv"}


def entry(file: str, content: bytes) -> dict[str, Any]:
    digest = hashlib.sha256(content).hexdigest()
    return {"file": file, "sha256": digest, "size_bytes": len(content)}


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    folder = tmp_path / "packages" / SYSTEM
    folder.mkdir(parents=True)
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    files = [entry(name, content) for name, content in FILES.items()]
    manifest = {
        "releases": {"0.13.0": [{"architecture": "x86_64", "glibc": "2.36", "python": "3.11"}]},
        "wheels": [],
        "sources": [entry("mooncake-v0.3.7.tar.gz", b"source")],
        "packages": {SYSTEM: {"manager": "apt", "names": ["libnuma1", "venv"], "files": files}},
    }
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    return tmp_path


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (
            'ID="openEuler"\nVERSION="24.03 (LTS-SP1)"\nVERSION_ID="24.03"\n',
            "openeuler-24.03-sp1-x86_64",
        ),
        (
            'ID=ubuntu\nVERSION="22.04.4 LTS (Jammy Jellyfish)"\nVERSION_ID="22.04"\n',
            "ubuntu-22.04-x86_64",
        ),
        ('ID=debian\nVERSION_ID="12"\n', SYSTEM),
        ("ID=debian\nVERSION_CODENAME=trixie\n", "debian-trixie-x86_64"),
        ("", "unknown-unknown-x86_64"),
    ],
)
def test_a_system_has_a_name_that_is_a_folder(text: str, name: str) -> None:
    assert os_bundle.system(os_bundle.host_files.os_release(text), "x86_64") == name


def test_a_bundle_that_fits_has_no_problem(bundle: Path) -> None:
    assert os_bundle.problem(str(bundle), "0.13.0", "x86_64") == ""
    assert os_bundle.package_problem(str(bundle), SYSTEM, ["libnuma1", "python3-venv"]) == ""
    assert os_bundle.file_problem(str(bundle), SYSTEM, list(FILES)) == ""


def test_another_release_and_architecture_are_named(bundle: Path) -> None:
    release = os_bundle.problem(str(bundle), "0.18.0", "x86_64")
    assert "is for release 0.13.0, this host's release_name is 0.18.0. Fix: " in release
    architecture = os_bundle.problem(str(bundle), "0.13.0", "aarch64")
    assert "has release 0.13.0 for x86_64, this host is aarch64. Fix: " in architecture


@pytest.mark.parametrize("text", [None, "", "{", "[]", '{"releases": []}'])
def test_what_is_no_whole_bundle_is_named(bundle: Path, text: str | None) -> None:
    path = bundle / "manifest.json"
    path.unlink()
    if text is not None:
        path.write_text(text)
    told = os_bundle.problem(str(bundle), "0.13.0", "x86_64")
    assert f"bundle_dir is {bundle}: the control node has no manifest.json" in told
    assert "Fix: " in told


def test_a_folder_that_is_not_there_is_named() -> None:
    assert "no such folder there" in os_bundle.problem("/srv/no-such", "0.13.0", "x86_64")


def test_a_system_and_a_package_that_are_not_in_it_are_named(bundle: Path) -> None:
    system = os_bundle.package_problem(str(bundle), "ubuntu-22.04-x86_64", ["libnuma1"])
    assert f"no OS packages for ubuntu-22.04-x86_64 (there are: {SYSTEM}). Fix: " in system
    package = os_bundle.package_problem(str(bundle), SYSTEM, ["libnuma1", "tree"])
    assert f"has no package tree for {SYSTEM}. Fix: " in package


def test_files_that_are_missing_or_damaged_are_named(bundle: Path) -> None:
    numa, venv = FILES
    folder = bundle / "packages" / SYSTEM
    (folder / numa).unlink()
    (folder / venv).write_bytes(b"VENV")
    told = os_bundle.file_problem(str(bundle), SYSTEM, list(FILES))
    assert f"1 of 2 files are missing: {numa}; 1 of 2 files are damaged" in told
    assert f"(their sha256 differs): {venv}. Fix: copy the bundle again" in told
    assert os_bundle.present(str(bundle))[SYSTEM]["files"] == []


def test_a_replaced_file_is_another_archive_and_a_stranger_goes(bundle: Path) -> None:
    names = sorted(FILES)
    before = os_bundle.archive(str(bundle), SYSTEM, names)
    assert os_bundle.archive(str(bundle), SYSTEM, names[:1]) != before
    folder = bundle / "packages" / SYSTEM
    (folder / "Packages").write_text("")
    (folder / "old_1_all.deb").write_text("")
    files = [entry(name, content) for name, content in FILES.items()]
    assert os_bundle.strangers(str(bundle), SYSTEM, files) == [str(folder / "old_1_all.deb")]


def test_the_checksum_of_sources_is_that_of_the_manifest(bundle: Path) -> None:
    known = hashlib.sha256(b"source").hexdigest()
    assert os_bundle.source_sha256(str(bundle), "mooncake-v0.3.7.tar.gz") == known
    assert os_bundle.source_sha256(str(bundle), "mooncake-main.tar.gz") == ""


def test_what_was_not_finished_is_not_listed() -> None:
    paths = ["wheels/a.whl", "wheels/.fetch-x/b.whl", "sources/m.tar.gz", "packages/s/.ship-1.tar"]
    files = [{"path": f"/srv/bundle/{path}", "checksum": "0", "size": 1} for path in paths]
    found = os_bundle.listed(files, "/srv/bundle")
    assert [item["file"] for item in found["all"]] == ["sources/m.tar.gz", "wheels/a.whl"]
    assert [item["file"] for item in found["wheels"]] == ["a.whl"]
    assert [item["file"] for item in found["sources"]] == ["m.tar.gz"]
