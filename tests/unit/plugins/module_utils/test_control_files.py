# SPDX-License-Identifier: Apache-2.0
"""Files on the control node that roles read."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Callable

import pytest
from ansible_collections.kvcache.ascend.plugins.module_utils import control_files

CHECKS = [control_files.ca_problem, control_files.public_key_problem]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    for command in (
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-subj",
            "/CN=x",
            "-keyout",
            "ca.key",
            "-out",
            "ca.pem",
        ],
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "id", "-C", "me at home"],
        ["ssh-keygen", "-q", "-t", "ecdsa", "-N", "", "-f", "ec", "-C", ""],
    ):
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder


@pytest.mark.parametrize("check", CHECKS)
def test_what_can_not_be_read_is_named_with_the_reason(
    check: Callable[[str], str], tmp_path: Path
) -> None:
    (tmp_path / "empty").write_text("")
    (tmp_path / "link").symlink_to("nothing")
    for name, words in {
        "gone": "is not there.",
        "empty": "is empty.",
        ".": "is a directory.",
        "link": "is a link to nothing, which is not there.",
    }.items():
        text = check(str(tmp_path / name))
        assert f"on the control node {words} Fix: " in text


def test_certificates(made: Path, tmp_path: Path) -> None:
    good = (made / "ca.pem").read_text()
    assert control_files.ca_problem(str(made / "ca.pem")) == ""
    assert "of certificates only" in control_files.ca_problem(str(made / "ca.key"))
    bundle = tmp_path / "bundle.pem"
    bundle.write_text(f"# a comment\n{good}\n{good}")
    assert control_files.ca_problem(str(bundle)) == ""
    for text in (good[:200], good + good[:200], good.replace(good[100:104], "****")):
        bundle.write_text(text)
        assert "damaged certificate" in control_files.ca_problem(str(bundle))
    bundle.write_text(good + (made / "ca.key").read_text())
    assert "no private key" in control_files.ca_problem(str(bundle))


def test_public_keys(made: Path, tmp_path: Path) -> None:
    for name in ("id.pub", "ec.pub"):
        assert control_files.public_key_problem(str(made / name)) == ""
    text = control_files.public_key_problem(str(made / "id"))
    assert f"is a private key. Fix: name the public one, {made}/id.pub" in text
    other = tmp_path / "key.pub"
    for content in ("hello\n", "ssh-ed25519\n", (made / "id.pub").read_text() * 2):
        other.write_text(content)
        assert "is not an SSH public key" in control_files.public_key_problem(str(other))


def test_a_control_node_without_an_ssh_client_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert control_files.known_hosts_problem(str(tmp_path / "known_hosts")) == (
        "the control node has no ssh-keygen and no ssh-keyscan, which read and fill it. "
        "Fix: install the OpenSSH client (openssh-client or openssh-clients)."
    )


def test_known_hosts(tmp_path: Path) -> None:
    assert control_files.known_hosts_problem(str(tmp_path / "a" / "b" / "known_hosts")) == ""
    (tmp_path / "file").write_text("")
    assert control_files.known_hosts_problem(str(tmp_path / "file")) == ""
    assert "is a directory" in control_files.known_hosts_problem(str(tmp_path))
    assert "can't be made" in control_files.known_hosts_problem(
        str(tmp_path / "file" / "known_hosts")
    )
