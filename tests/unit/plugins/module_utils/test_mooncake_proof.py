# SPDX-License-Identifier: Apache-2.0
"""The three proofs of a build, with real programs, and ldd's answers as canned text."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.kvcache.ascend.plugins.module_utils import mooncake_proof


def run(command: list[str], environment: dict[str, str]) -> tuple[int, str, str]:
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A build whose master is a shell script and whose modules are Python files."""
    master = tmp_path / "bin" / "mooncake_master"
    master.parent.mkdir()
    master.write_text("#!/bin/sh\necho 'mooncake_master version 9.9'\n")
    master.chmod(0o755)
    package = tmp_path / "python" / "mooncake"
    package.mkdir(parents=True)
    for name in ("__init__", "engine", "store"):
        (package / f"{name}.py").write_text("")
    return tmp_path


def prove(tree: Path) -> dict:
    return mooncake_proof.prove(str(tree), sys.executable, "host-1", run, {})


def test_a_build_that_works(tree: Path) -> None:
    assert prove(tree) == {"version_line": "mooncake_master version 9.9", "findings": []}


def test_a_master_that_does_not_start(tree: Path) -> None:
    (tree / "bin" / "mooncake_master").write_text("#!/bin/sh\necho broken >&2\nexit 3\n")
    (finding,) = prove(tree)["findings"]
    assert finding["check"] == "mooncake_master_starts"
    assert "ended with status 3: broken" in finding["observed"]


def test_modules_that_can_not_be_imported(tree: Path) -> None:
    (tree / "python" / "mooncake" / "store.py").write_text("raise ImportError('no store')")
    (finding,) = prove(tree)["findings"]
    assert finding["check"] == "mooncake_imports"
    assert "no store" in finding["observed"]


def test_a_program_that_is_not_there_is_an_answer(tree: Path) -> None:
    def run_command(command: list[str], environ_update: dict, handle_exceptions: bool) -> Any:
        assert handle_exceptions is False
        return run(command, environ_update)

    (tree / "bin" / "mooncake_master").unlink()
    runner = mooncake_proof.tolerant(run_command)
    (finding,) = mooncake_proof.prove(str(tree), sys.executable, "host-1", runner, {})["findings"]
    assert "ended with status 127" in finding["observed"]
    assert "No such file" in finding["observed"]


def test_a_master_that_hangs_now_and_then_is_asked_again(tree: Path) -> None:
    asked = []

    def answer(command: list[str], environment: dict[str, str]) -> tuple[int, str, str]:
        asked.append(command)
        return (137, "", "") if len(asked) < 3 else (0, "version 9.9", "")

    assert mooncake_proof.run_in_time(["master"], {}, answer) == (0, "version 9.9", "")
    assert asked == [["timeout", "--kill-after=2", "20", "master"]] * 3


def state_of(pid: str) -> str:
    """The letter of /proc/PID/stat; empty when there is no such process."""
    try:
        return (Path("/proc") / pid / "stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


@pytest.mark.parametrize(("ignores", "status"), [("", 124), ("trap '' TERM\n", -9)])
def test_a_program_that_hangs_leaves_no_process_behind(
    tmp_path: Path, ignores: str, status: int
) -> None:
    program = tmp_path / "hangs"
    pids = tmp_path / "pids"
    program.write_text(f"#!/bin/sh\n{ignores}sleep 300 &\necho $$ $! >> {pids}\nwait\n")
    program.chmod(0o755)
    assert mooncake_proof.run_in_time([str(program)], {}, run, seconds=1)[0] == status
    tries = pids.read_text().splitlines()
    assert len(tries) == 3
    # One that had to be killed is an orphan, which waits for the system's first process to reap it; before, it has to get a
    # turn on a busy machine to die.
    left, end = {"?": "R"}, time.monotonic() + 30
    while set(left.values()) - {"", "Z"} and time.monotonic() < end:
        left = {pid: state_of(pid) for line in tries for pid in line.split()}
    assert set(left.values()) <= {"", "Z"}, left
    if status == 124:
        assert {state_of(line.split()[0]) for line in tries} == {""}


LDD = """\
\tlinux-vdso.so.1 (0x00007ffd)
\tlibibverbs.so.1 => not found
\tlibascendcl.so => not found
\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f00)
"""


def test_missing_libraries_are_all_named_and_nothing_else_is_tried(tree: Path) -> None:
    asked = []

    def answer(command: list[str], environment: dict[str, str]) -> tuple[int, str, str]:
        asked.append(command[0])
        return 0, LDD, ""

    proof = mooncake_proof.prove(str(tree), sys.executable, "host-1", answer, {})
    (finding,) = proof["findings"]
    assert "libascendcl.so, libibverbs.so.1" in finding["observed"]
    assert "mooncake_environment" in finding["fix"]
    assert set(asked) == {"ldd"}


def test_ldd_output_and_fix_without_cann() -> None:
    assert mooncake_proof.libraries_not_found(LDD) == ["libibverbs.so.1", "libascendcl.so"]
    assert mooncake_proof.libraries_not_found("\tstatically linked\n") == []
    assert "OS packages" in mooncake_proof.library_fix(["libibverbs.so.1"])
