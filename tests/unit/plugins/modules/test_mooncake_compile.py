# SPDX-License-Identifier: Apache-2.0
"""What the module mooncake_compile tells of a job."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible_collections.kvcache.ascend.plugins.modules import mooncake_compile


def told(folder: Path, output: str, **state: Any) -> dict[str, Any]:
    (folder / "log").write_text(output)
    job = {"phase": "running", "step": "compile Mooncake", "status": None, **state}
    return mooncake_compile.result_of(str(folder), job)


def test_how_far_it_is_stands_behind_any_number_of_warnings(tmp_path: Path) -> None:
    step = "[ 52%] Building CXX object src/CMakeFiles/store.dir/client_buffer.cpp.o\n"
    seen = told(tmp_path, step + "a.h:1: warning: may be used uninitialized\n" * 20000)
    assert seen["progress"]["percent"] == 52
    assert seen["progress"]["what"] == "client_buffer.cpp"


def test_a_failure_is_told_with_cause_fix_and_the_log(tmp_path: Path) -> None:
    seen = told(tmp_path, "a.cpp:3:1: error: no semicolon\n", phase="ended", status=2)
    assert seen["failed"] and seen["kind"] == "source"
    assert seen["msg"].startswith("compile Mooncake: a.cpp:3: no semicolon. Fix: ")
    assert seen["msg"].endswith(f"Log: {tmp_path}/log")


def test_a_job_that_was_killed_may_succeed_on_another_host(tmp_path: Path) -> None:
    assert told(tmp_path, "", phase="lost")["kind"] == "host"
