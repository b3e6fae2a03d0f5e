# SPDX-License-Identifier: Apache-2.0
"""Resolving and downloading with this machine's own apt, from a repository made on the spot; dnf by canned answers."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.kvcache.ascend.plugins.module_utils import os_download, os_source

CONTROL = """\
Package: {name}
Version: {version}
Architecture: all
Maintainer: nobody <nobody@example.com>
Description: a test
"""


def run(command: list[str], environment: dict[str, str]) -> tuple[int, str, str]:
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )
    return done.returncode, done.stdout, done.stderr


def make_package(folder: Path, name: str, version: str, depends: str = "") -> str:
    """Write a real package without content; return its stanza in an index."""
    tree = folder / f"{name}.tree"
    (tree / "DEBIAN").mkdir(parents=True)
    text = CONTROL.format(name=name, version=version)
    text += f"Depends: {depends}\n" if depends else ""
    (tree / "DEBIAN" / "control").write_text(text)
    file = folder / f"{name}_{version}_all.deb"
    subprocess.run(
        ["dpkg-deb", "--build", "--root-owner-group", str(tree), str(file)],
        check=True,
        capture_output=True,
    )
    shutil.rmtree(tree)
    content = file.read_bytes()
    return (
        f"{text}Filename: ./{file.name}\nSize: {len(content)}\n"
        f"SHA256: {hashlib.sha256(content).hexdigest()}\n"
    )


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A folder of two packages, one of which needs the other, as the only source that apt knows."""
    assert shutil.which("apt-get"), "this test machine must be a Debian or Ubuntu"
    folder = tmp_path / "repository"
    folder.mkdir()
    (folder / "Packages").write_text(
        "\n".join(
            [make_package(folder, "kv-top", "2", "kv-base"), make_package(folder, "kv-base", "1")]
        )
    )
    os_source.write_settings(str(folder), "apt")
    return folder


def with_source(repository: Path) -> os_download.Runner:
    settings = {"APT_CONFIG": str(repository / os_source.APT_CONF)}
    return lambda command, environment: run(command, {**environment, **settings})


def test_packages_come_with_all_that_they_need_once(repository: Path, tmp_path: Path) -> None:
    runner, work = with_source(repository), tmp_path / "work"
    names = ["kv-base_1_all.deb", "kv-top_2_all.deb"]
    shown = os_download.with_apt(["kv-top"], [], str(work), runner, True)
    assert shown.fetched == names
    assert list((work / "packages").iterdir()) == []
    found = os_download.with_apt(["kv-top"], [], str(work), runner, False)
    assert sorted(path.name for path in (work / "packages").iterdir()) == names
    assert [item["file"] for item in found.files] == names
    assert "Filename: ./kv-base_1_all.deb" in found.description
    again = os_download.with_apt(["kv-top"], found.files, str(work), runner, False)
    assert again.fetched == []


def test_only_what_the_host_lacks_is_needed_from_the_bundle(repository: Path) -> None:
    environment = {"APT_CONFIG": str(repository / os_source.APT_CONF)}
    index = (repository / "Packages").read_text()
    files = os_source.needed_files(["kv-base"], index, environment, run)
    assert files == ["kv-base_1_all.deb"]


def test_a_package_that_no_repository_has_is_named(repository: Path, tmp_path: Path) -> None:
    with pytest.raises(os_download.DownloadError, match=r"resolving: no repository .*Fix: "):
        os_download.with_apt(["kv-none"], [], str(tmp_path / "w"), with_source(repository), False)


def dnf(answers: dict[str, tuple[int, str, str]]) -> Any:
    return lambda command, _environment: next(
        answer for key, answer in answers.items() if key in " ".join(command)
    )


def test_dnf_needs_its_tools(tmp_path: Path) -> None:
    answers = {"createrepo_c": (127, "", "it can't be run")}
    with pytest.raises(os_download.DownloadError, match=r"no createrepo_c.*Fix: install"):
        os_download.with_dnf(["numactl-libs"], [], str(tmp_path), dnf(answers), False)


def test_dnf_downloads_nothing_when_the_bundle_has_it(tmp_path: Path) -> None:
    answers = {
        "--help": (0, "", ""),
        "--url": (0, "https://m/numactl-libs-2.0.16-1.x86_64.rpm\n", ""),
    }
    have = [{"file": "numactl-libs-2.0.16-1.x86_64.rpm"}, {"file": "repodata/repomd.xml"}]
    found = os_download.with_dnf(["numactl-libs"], have, str(tmp_path), dnf(answers), False)
    assert found == os_download.Closure(have, "", [])
    shown = os_download.with_dnf(["numactl-libs"], [], str(tmp_path), dnf(answers), True)
    assert shown.fetched == ["numactl-libs-2.0.16-1.x86_64.rpm"]
