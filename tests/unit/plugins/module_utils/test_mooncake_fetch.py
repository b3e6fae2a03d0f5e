# SPDX-License-Identifier: Apache-2.0
"""Sources by a real git out of real repositories, and out of archives."""

from __future__ import annotations

import os
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.kvcache.ascend.plugins.module_utils import git_errors, mooncake_fetch

ROOT = Path(__file__).parents[4]
MOONCAKE = "https://github.com/kvcache-ai/Mooncake.git"
YALANTINGLIBS = "https://github.com/alibaba/yalantinglibs.git"


def run(command: list[str], environment: dict[str, str]) -> tuple[int, str, str]:
    done = subprocess.run(
        command, env=dict(os.environ, **environment), capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="session")
def repositories(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("git")
    subprocess.run([ROOT / "tests" / "mooncake_source" / "repositories", folder], check=True)
    return folder


def fetch(folder: Path, repositories: Path, **changes: str) -> str:
    wanted: dict[str, Any] = {
        "url": MOONCAKE,
        "revision": "v0.3.7.post2",
        "commit": "",
        "yalantinglibs_url": YALANTINGLIBS,
        "yalantinglibs_revision": "0.5.5",
        **changes,
    }
    mirrors = {"https://github.com/": f"file://{repositories}/"}
    mooncake_fetch.write_configuration(str(folder / "home"), mirrors, [])
    git = mooncake_fetch.Git(str(folder / "home"), run, {})
    commit = mooncake_fetch.clone_all(git, str(folder / "source"), wanted)
    mooncake_fetch.check_whole(str(folder / "source"), MOONCAKE)
    return commit


def test_submodules_and_yalantinglibs_come_from_the_mirror(
    tmp_path: Path, repositories: Path
) -> None:
    commit = fetch(tmp_path, repositories)
    assert len(commit) == 40
    version = tmp_path / "source/extern/yalantinglibs/include/ylt/version.hpp"
    assert "0.5.5" in version.read_text()
    assert (tmp_path / "home/.gitconfig").stat().st_mode & 0o777 == 0o600


def test_a_commit_is_as_good_as_a_tag(tmp_path: Path, repositories: Path) -> None:
    commit = fetch(
        tmp_path / "a", repositories, revision="v0.3.12.post1", yalantinglibs_revision=""
    )
    again = fetch(tmp_path / "b", repositories, revision=commit, yalantinglibs_revision="")
    assert again == commit
    assert (
        "0.6.0" in (tmp_path / "b/source/extern/yalantinglibs/include/ylt/version.hpp").read_text()
    )


def test_a_tag_that_is_not_the_release_s_commit_is_refused(
    tmp_path: Path, repositories: Path
) -> None:
    with pytest.raises(mooncake_fetch.FetchError, match="the release names 1234567") as caught:
        fetch(tmp_path, repositories, commit="1234567")
    assert caught.value.kind == "source"


@pytest.mark.parametrize(
    ("changes", "words", "kind"),
    [
        ({"revision": "v9"}, "no such revision", "source"),
        ({"revision": "0" * 40}, "no such revision", "source"),
        ({"revision": "broken-submodule"}, "submodule extern/pybind11", "source"),
        ({"url": "https://github.com/kvcache-ai/none.git"}, "no such repository", "host"),
        ({"url": "git://127.0.0.1:9/x"}, "can't be reached", "host"),
        ({"yalantinglibs_revision": "9.9"}, "alibaba/yalantinglibs.git at 9.9", "source"),
    ],
)
def test_what_can_not_be_brought_is_named(
    tmp_path: Path, repositories: Path, changes: dict[str, str], words: str, kind: str
) -> None:
    with pytest.raises(mooncake_fetch.FetchError) as caught:
        fetch(tmp_path, repositories, **changes)
    assert words in str(caught.value)
    assert "Fix: " in str(caught.value)
    assert caught.value.kind == kind


def archive_of(source: Path, path: Path, top: str = ".") -> Path:
    with tarfile.open(path, "w:gz") as made:
        made.add(source, arcname=top)
    return path


@pytest.mark.parametrize("top", [".", "Mooncake-0.3.7"])
def test_an_archive_with_or_without_a_folder_at_its_top(
    tmp_path: Path, repositories: Path, top: str
) -> None:
    fetch(tmp_path, repositories)
    archive = archive_of(tmp_path / "source", tmp_path / "a.tar.gz", top)
    mooncake_fetch.unpack(str(archive), str(tmp_path / "unpacked"))
    mooncake_fetch.check_whole(str(tmp_path / "unpacked"), "a.tar.gz")


def test_an_archive_without_submodules_is_refused(tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "CMakeLists.txt").touch()
    (tmp_path / "source" / "README").touch()
    archive = archive_of(tmp_path / "source", tmp_path / "a.tar.gz")
    mooncake_fetch.unpack(str(archive), str(tmp_path / "unpacked"))
    with pytest.raises(mooncake_fetch.FetchError, match="lack extern/pybind11"):
        mooncake_fetch.check_whole(str(tmp_path / "unpacked"), "a.tar.gz")


@pytest.mark.parametrize("content", [b"", b"no archive", b"\x1f\x8b\x08\x00broken"])
def test_what_is_no_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.tar.gz").write_bytes(content)
    with pytest.raises(mooncake_fetch.FetchError, match="can't be unpacked"):
        mooncake_fetch.unpack(str(tmp_path / "a.tar.gz"), str(tmp_path / "unpacked"))


@pytest.mark.parametrize(
    ("output", "words"),
    [
        (
            "fatal: unable to access 'https://g/x/': SSL certificate problem: unable to get local issuer certificate",
            "site_ca_files",
        ),
        (
            "fatal: unable to access 'https://g/x/': Could not resolve host: g",
            "mooncake_git_mirrors",
        ),
        ("fatal: Authentication failed for 'https://g/x/'", "refused access"),
        ("fatal: write error: No space left on device", "disk is full"),
        ("something new", "something new"),
        ("", "git said nothing"),
    ],
)
def test_git_s_words_become_a_cause_and_a_fix(output: str, words: str) -> None:
    why = git_errors.explain(output, "https://g/x", "v1")
    assert words in f"{why['cause']} {why['fix']}"


def test_passwords_in_addresses_are_left_out() -> None:
    assert (
        git_errors.without_password("at https://me:secret@g/x: wrong")
        == "at https://***@g/x: wrong"
    )
