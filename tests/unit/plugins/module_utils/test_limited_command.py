# SPDX-License-Identifier: Apache-2.0
"""A command always comes back: in time, with what it printed, or with why it did not."""

from __future__ import annotations

import sys
import time

import pytest
from ansible_collections.kvcache.ascend.plugins.module_utils import limited_command

ENVIRONMENT = {"PATH": "/usr/bin:/bin"}


def run(*command: str, seconds: float = 20) -> limited_command.Answer:
    return limited_command.run(list(command), ENVIRONMENT, seconds)


def test_output_error_and_status() -> None:
    answer = run("sh", "-c", "echo out; echo err >&2; exit 187")
    assert (answer.status, answer.output, answer.error) == (187, "out\n", "err\n")
    assert (answer.problem, answer.timed_out) == ("", False)


def test_only_the_given_environment_and_no_input() -> None:
    answer = limited_command.run(["sh", "-c", "env; cat"], {"PATH": "/usr/bin:/bin", "A": "b"}, 20)
    assert "A=b" in answer.output
    assert "HOME=" not in answer.output


@pytest.mark.parametrize(
    "script", ["sleep 60", "trap '' TERM; while :; do sleep 1; done", "echo part; sleep 60"]
)
def test_a_hanging_command_is_ended(script: str) -> None:
    started = time.monotonic()
    answer = run("sh", "-c", script, seconds=0.5)
    assert time.monotonic() - started < 8
    assert (answer.status, answer.timed_out) == (None, True)
    assert answer.problem == "no end within 0.5 s"
    assert answer.output == ("part\n" if "part" in script else "")


def test_a_child_that_keeps_the_output_open_does_not_hold_it() -> None:
    started = time.monotonic()
    answer = run("sh", "-c", "sleep 60 & echo done", seconds=0.5)
    assert time.monotonic() - started < 8
    assert answer.output == "done\n"


def test_output_without_end_is_cut() -> None:
    answer = run("yes", seconds=20)
    assert answer.status is None
    assert answer.problem == "it printed without end, more than 4 MiB"
    assert answer.seconds < 10, "what can not end is not waited for"
    assert not answer.timed_out
    assert len(answer.output) < 2 * limited_command.MAXIMUM_OUTPUT_BYTES


def test_output_that_is_no_text() -> None:
    assert "\ufffd" in run("printf", r"\377\376").output


@pytest.mark.parametrize(
    ("command", "not_found"),
    [("/nowhere/npu-smi", True), ("/etc/passwd", False), ("/usr", False), ("a\0b", False)],
)
def test_a_command_that_can_not_be_started(command: str, not_found: bool) -> None:
    answer = run(command)
    assert (answer.status, answer.not_found) == (None, not_found)
    assert answer.problem


def test_a_program_that_closes_its_output_and_goes_on() -> None:
    code = "import os, time; os.close(1); os.close(2); time.sleep(60)"
    answer = run(sys.executable, "-S", "-c", code, seconds=0.5)
    assert answer.status is None
    assert answer.problem
