# SPDX-License-Identifier: Apache-2.0
"""What an operator sees of a job that is followed: a line for each look, and that a lost connection is no end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.errors import AnsibleConnectionFailure
from ansible_collections.kvcache.ascend.plugins.action import evaluate_sweep, mooncake_compile
from ansible_collections.kvcache.ascend.plugins.plugin_utils import followed_job

ROOT = Path(__file__).parents[4]
# Goes on until the second line has been shown, and no longer.
PROGRAM = """
import os, sys, time
print("progress: 0 4 documents", flush=True)
while not os.path.exists(os.path.join(os.path.dirname(os.path.abspath(__file__)), "enough")):
    time.sleep(0.1)
"""


def test_a_play_shows_a_line_for_each_look_until_the_job_has_ended(tmp_path: Path) -> None:
    (tmp_path / "load.py").write_text(PROGRAM)
    arguments = {
        "folder": str(tmp_path / "job"),
        "python": sys.executable,
        "script": str(tmp_path / "load.py"),
        "user": "root",
        "plan": {"variant": "a small pool", "documents": [4, 8], "passes": 2},
        "request_seconds": 30.0,
        "interval": 1,
    }
    play = {
        "hosts": "localhost",
        "connection": "local",
        "gather_facts": False,
        "tasks": [
            {"kvcache.ascend.evaluate_sweep": arguments, "register": "swept"},
            {"ansible.builtin.assert": {"that": ["swept.phase == 'ended'", "swept is changed"]}},
        ],
    }
    (tmp_path / "play.yml").write_text(yaml.safe_dump([play]))
    shown = []
    with subprocess.Popen(
        [sys.executable, "-m", "ansible.cli.playbook", str(tmp_path / "play.yml")],
        cwd=ROOT,
        env=dict(os.environ, ANSIBLE_NOCOLOR="1", ANSIBLE_PYTHON_INTERPRETER=sys.executable),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as run:
        assert run.stdout
        for line in run.stdout:
            shown.append(line.rstrip())
            if len([each for each in shown if each.startswith("  a small pool: ")]) == 2:
                (tmp_path / "enough").touch()
    assert run.returncode == 0, "\n".join(shown)
    lines = [line for line in shown if line.startswith("  a small pool: ")]
    assert set(lines) == {"  a small pool: 4 documents (step 1 of 2); at most 12 min left in all"}
    assert len(lines) >= 2


class Reached(followed_job.FollowedJob):
    """A job on a host that can't be reached some times."""

    JOB = "build"
    pause_seconds = 0

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.asked: list[dict[str, Any]] = []

    def _execute_module(self, **call: Any) -> dict[str, Any]:
        self.asked.append(call["module_args"])
        if len(self.asked) <= self.failures:
            raise AnsibleConnectionFailure("timed out")
        return {"phase": "ended"}


def test_a_lost_connection_is_tried_again_and_told(capsys: pytest.CaptureFixture[str]) -> None:
    job = Reached(failures=2)
    assert job.follow({"state": "followed"}, {"inventory_hostname": "npu-7"}) == {"phase": "ended"}
    assert job.asked == [{"state": "followed"}] * 3
    told = capsys.readouterr().out
    assert told.count("npu-7: the connection was lost (timed out); the build goes on there") == 2


def test_a_connection_that_stays_lost_ends_the_task() -> None:
    job = Reached(failures=followed_job.LOST_CONNECTIONS)
    with pytest.raises(AnsibleConnectionFailure):
        job.follow({}, {"inventory_hostname": "npu-7"})
    assert len(job.asked) == followed_job.LOST_CONNECTIONS


def test_the_actions_are_such_jobs() -> None:
    assert issubclass(evaluate_sweep.ActionModule, followed_job.FollowedJob)
    assert issubclass(mooncake_compile.ActionModule, followed_job.FollowedJob)
    seen = {"percent": 63, "done": None, "total": None, "what": "utils.cpp"}
    build = object.__new__(mooncake_compile.ActionModule)
    outcome = {"step": "compile Mooncake", "progress": seen, "seconds": 724.0}
    assert build.progress(outcome, "npu-1") == (
        "npu-1: compile Mooncake:  63 %, utils.cpp, after 12 min 4 s"
    )
