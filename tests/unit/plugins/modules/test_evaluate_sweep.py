# SPDX-License-Identifier: Apache-2.0
"""evaluate_sweep as Ansible runs it, with a small program of its own in the place of the load generator: real processes."""

from __future__ import annotations

import os
import pwd
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Callable, Iterator

import pytest
from ansible_collections.kvcache.ascend.plugins.module_utils import build_job
from ansible_collections.kvcache.ascend.plugins.modules import evaluate_sweep

Sweep = Callable[..., "dict[str, Any]"]
SECONDS = 20


@pytest.fixture
def sweep(run_module: Any, tmp_path: Path) -> Iterator[Sweep]:
    """Runs the module with a program, and again to follow it, until its job has ended."""
    folders = {tmp_path / "job"}

    def run(
        program: str = "", check_mode: bool = False, follow: bool = True, **changes: Any
    ) -> dict[str, Any]:
        script = tmp_path / "load.py"
        if program:
            script.write_text(f"import json, os, signal, sys, time\n{program}\n")
        arguments = {
            "folder": str(tmp_path / "job"),
            "python": sys.executable,
            "script": str(script),
            "user": pwd.getpwuid(os.geteuid()).pw_name,
            "plan": {"documents": [4, 8], "passes": 2, "variant": "v"},
            "request_seconds": 10.0,
            **changes,
        }
        folders.add(Path(arguments["folder"]))
        told: dict[str, Any] = run_module(evaluate_sweep, arguments, check_mode)
        if follow and told.get("phase") == "running":
            look = {**arguments, "state": "followed", "interval": SECONDS}
            told = run_module(evaluate_sweep, look)
        return told

    yield run
    for folder in folders:
        state = build_job.look(str(folder))
        if state["phase"] == "running":
            os.killpg(state["pid"], signal.SIGKILL)


def test_the_program_gets_the_plan_and_the_key_but_no_file_has_the_key(
    sweep: Sweep, tmp_path: Path
) -> None:
    seen = tmp_path / "seen"
    told = sweep(
        f"open({str(seen)!r}, 'w').write(open(sys.argv[1]).read() + os.environ['OPENAI_API_KEY'])",
        api_key="word-of-honour",
    )
    assert (told["phase"], told["changed"], told.get("failed", False)) == ("ended", True, False)
    assert seen.read_text().startswith('{"documents": [4, 8]')
    assert seen.read_text().endswith("word-of-honour")
    written = [path.read_text() for path in (tmp_path / "job").iterdir()]
    assert not [text for text in written if "word-of-honour" in text]


def test_a_look_says_how_far_it_is_and_ends_nothing(sweep: Sweep) -> None:
    going = sweep("print('progress: 1 8 documents', flush=True)\ntime.sleep(60)", follow=False)
    told = sweep(state="followed", interval=0, follow=False)
    assert (told["phase"], told["changed"]) == ("running", False)
    assert told["progress"] == {"done": 1, "what": "8 documents"}
    assert told["progress_text"] == "8 documents (step 2 of 2); at most 3 min left in all"
    assert told["pid"] == going["pid"]
    os.kill(told["pid"], 0)


def test_without_a_job_a_look_finds_none(sweep: Sweep) -> None:
    told = sweep(state="followed", interval=0)
    assert (told["phase"], told["pid"], told["changed"]) == ("absent", None, False)


def test_check_mode_starts_nothing(sweep: Sweep, tmp_path: Path) -> None:
    assert sweep("print()", check_mode=True)["changed"]
    assert not (tmp_path / "job").exists()


@pytest.mark.parametrize(
    ("program", "cause", "fix"),
    [
        (
            "sys.exit('failed: http://x answered 404')",
            "http://x answered 404",
            "see its log",
        ),
        ("print('progress: 0 4 documents')\nraise MemoryError('no room')", "no room", "its log"),
        ("print('progress: 0 4 documents')\nsys.exit(3)", "it ended with status 3", "its log"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "it was killed", "journalctl -k"),
        (
            "raise OSError(28, os.strerror(28), '/x')",
            "the disk is full",
            "set evaluate_folder to a folder with more",
        ),
    ],
)
def test_an_early_end_is_told_with_cause_fix_and_log(
    sweep: Sweep, tmp_path: Path, program: str, cause: str, fix: str
) -> None:
    told = sweep(program)
    assert told["failed"] and told["phase"] == "ended"
    assert told["msg"].startswith("the load generator ended early: ")
    assert cause in told["msg"] and fix in told["msg"]
    assert told["msg"].endswith(f"Log: {tmp_path}/job/log")


def test_a_job_that_was_killed_as_a_whole_is_told(sweep: Sweep, tmp_path: Path) -> None:
    runner = "os.kill(int(json.load(open(os.path.dirname(sys.argv[1]) + '/state.json'))['pid']), signal.SIGKILL)"
    told = sweep(runner)
    assert (told["failed"], told["phase"]) == (True, "lost")
    assert "ended early: it was killed. Fix: look for the cause (journalctl -k" in told["msg"]


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """A file system of 2 MiB; like the test hosts it needs root."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", folder], check=True)
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", "--lazy", folder], check=True)


def test_a_full_disk_is_called_so_even_when_nothing_could_be_written(
    sweep: Sweep, small_disk: Path
) -> None:
    # The program dies when it writes its result; not even its last words have room.
    fill = f"open({str(small_disk / 'results')!r}, 'wb', 0).write(b'x' * (4 << 20))\n" * 2
    told = sweep(f"{fill}sys.exit(1)", folder=str(small_disk / "job"))
    assert told["failed"]
    assert "ended early: the disk is full. Fix: free space there (df -h)" in told["msg"]


def test_a_disk_that_is_full_before_it_begins_is_named(sweep: Sweep, small_disk: Path) -> None:
    with pytest.raises(OSError), (small_disk / "full").open("wb", 0) as handle:
        while True:
            handle.write(b"x" * 4096)
    told = sweep("print()", folder=str(small_disk / "job"))
    assert told["failed"]
    assert "No space left on device. Fix: " in told["msg"]
