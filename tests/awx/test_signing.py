# SPDX-License-Identifier: Apache-2.0
"""A clean clone is signed with ansible-sign, and what is changed in it afterwards is noticed, as AWX notices it."""

from __future__ import annotations

import os
import pty
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT, run


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone's files, and a key to sign them with in a home of its own."""
    home = tmp_path / "gnupg"
    home.mkdir(mode=0o700)
    monkeypatch.setenv("GNUPGHOME", str(home))
    key = ["gpg", "--batch", "--quiet", "--passphrase", "", "--quick-gen-key"]
    run([*key, "kvcache tests <tests@example.com>", "ed25519", "sign", "1d"])
    clone = tmp_path / "clone"
    clone.mkdir()
    listed = run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"])
    names = [name for name in listed.split("\0") if os.path.lexists(ROOT / name) and name]
    run(["cp", "--no-dereference", "--parents", "--target-directory", str(clone), *names])
    run(["git", "init", "--quiet", "."], clone)
    return clone


def sign(clone: Path) -> None:
    """It asks its standard input for the name of a terminal, so it gets one."""
    ours, theirs = pty.openpty()
    try:
        done = subprocess.run(
            ["ansible-sign", "project", "gpg-sign", "."],
            cwd=clone,
            stdin=theirs,
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        os.close(ours)
        os.close(theirs)
    assert done.returncode == 0, done.stdout + done.stderr


def verify(clone: Path) -> str:
    return run(["ansible-sign", "project", "gpg-verify", "."], clone, check=False)


def test_a_signed_clone_is_accepted_and_a_changed_one_is_not(project: Path) -> None:
    sign(project)
    assert "Checksum validation succeeded" in verify(project)
    signed = (project / ".ansible-sign" / "sha256sum.txt").read_text()
    assert "  roles/vllm/tasks/main.yml" in signed
    assert "collections/" not in signed, "the link to the clone itself is followed"

    added = project / "roles" / "vllm" / "tasks" / "more.yml"
    added.write_text("---\n")
    assert "'added': ['roles/vllm/tasks/more.yml']" in verify(project)
    added.unlink()

    (project / "site.yml").write_text("---\n")
    assert "Checksum mismatch: site.yml" in verify(project)
