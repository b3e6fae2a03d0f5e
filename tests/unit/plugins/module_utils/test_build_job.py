# SPDX-License-Identifier: Apache-2.0
"""A job that lives on by itself, with real processes."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.kvcache.ascend.plugins.module_utils import build_job


def plan(*commands: str) -> dict[str, Any]:
    return {
        "niceness": 1,
        "environment": {"COLOUR": "blue"},
        "steps": [
            {
                "name": f"step {number}",
                "argv": ["sh", "-c", command],
                "cwd": "/",
                "environment": {"N": str(number)},
            }
            for number, command in enumerate(commands, 1)
        ],
    }


def run(folder: Path, *commands: str) -> dict[str, Any]:
    build_job.ensure(str(folder), plan(*commands), sys.executable)
    return build_job.wait(str(folder), 20)


def test_steps_run_in_order_with_their_environment(tmp_path: Path) -> None:
    state = run(tmp_path, "echo $COLOUR $N", "echo $COLOUR $N")
    assert (state["phase"], state["status"], state["step"]) == ("ended", 0, "step 2")
    assert "blue 1" in (tmp_path / "log").read_text()
    assert build_job.log_of_step(str(tmp_path), state).splitlines()[-1] == "blue 2"


def test_a_step_that_fails_ends_the_job(tmp_path: Path) -> None:
    state = run(tmp_path, "echo wrong; exit 3", "touch never")
    assert (state["status"], state["step"]) == (3, "step 1")
    assert "wrong" in build_job.log_of_step(str(tmp_path), state)


def test_a_program_that_is_missing_is_an_answer(tmp_path: Path) -> None:
    folder = str(tmp_path)
    missing = {
        "niceness": 0,
        "environment": {},
        "steps": [{"name": "a", "argv": ["/no/such"], "cwd": "/", "environment": {}}],
    }
    build_job.ensure(folder, missing, sys.executable)
    state = build_job.wait(folder, 20)
    assert state["status"] == 127
    assert "/no/such" in build_job.log_of_step(folder, state)


def test_a_job_that_runs_is_followed_not_begun_again(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    command = f"echo begun >>{tmp_path}/begun; until [ -e {gate} ]; do sleep 0.05; done"
    first = build_job.ensure(str(tmp_path), plan(command), sys.executable)
    again = build_job.ensure(str(tmp_path), plan(command), sys.executable)
    assert again["pid"] == first["pid"]
    assert build_job.wait(str(tmp_path), 0)["phase"] == "running"
    gate.touch()
    assert build_job.wait(str(tmp_path), 20)["status"] == 0
    assert (tmp_path / "begun").read_text() == "begun\n"


def test_a_job_that_was_killed_is_lost_and_begun_again(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    command = f"until [ -e {gate} ]; do sleep 0.05; done"
    state = build_job.ensure(str(tmp_path), plan(command), sys.executable)
    os.killpg(state["pid"], signal.SIGKILL)
    assert build_job.wait(str(tmp_path), 20)["phase"] == "lost"
    gate.touch()
    assert run(tmp_path, command)["status"] == 0


def test_what_ended_well_is_not_run_again_unless_the_plan_is_another(tmp_path: Path) -> None:
    first = run(tmp_path, "true")
    assert run(tmp_path, "true")["pid"] == first["pid"]
    assert run(tmp_path, "echo other")["pid"] != first["pid"]


def test_what_failed_is_run_again(tmp_path: Path) -> None:
    first = run(tmp_path, "false")
    assert run(tmp_path, "false")["pid"] != first["pid"]
    assert (tmp_path / "log.before").exists()


def test_time_and_memory_are_told(tmp_path: Path) -> None:
    state = run(tmp_path, f"{sys.executable} -c 'x = bytearray(64 << 20); sum(range(3000000))'")
    assert state["cpu_seconds"] > 0
    assert state["peak_process_bytes"] > 64 << 20


@pytest.mark.parametrize("content", ["", "{", "[1]"])
def test_a_damaged_state_counts_as_none(tmp_path: Path, content: str) -> None:
    (tmp_path / "state.json").write_text(content)
    assert build_job.look(str(tmp_path))["phase"] == "absent"
