# SPDX-License-Identifier: Apache-2.0
"""The lock file, and who is taken for dead, with real files and processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.kvcache.ascend.plugins.module_utils import host_lock


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "run" / "a.lock")


def run(token: str) -> dict[str, Any]:
    return host_lock.describe_run(os.getpid(), token, "ops")


def test_only_one_has_it_and_only_its_holder_gives_it_back(path: str) -> None:
    assert host_lock.take(path, run("a"), "") is None
    assert (host_lock.take(path, run("b"), "") or {})["token"] == "a"
    assert not host_lock.release(path, "b")
    assert host_lock.release(path, "a")
    assert not host_lock.release(path, "a")
    assert host_lock.take(path, run("b"), "") is None


def test_it_is_taken_over_only_from_the_holder_that_was_judged(path: str) -> None:
    host_lock.take(path, run("a"), "")
    assert (host_lock.take(path, run("c"), "b") or {})["token"] == "a"
    assert host_lock.take(path, run("c"), "a") is None
    assert (host_lock.read(path) or {})["token"] == "c"


@pytest.mark.parametrize("content", ["", "{", "[]", "{}"])
def test_a_damaged_file_holds_nobody_up(path: str, content: str) -> None:
    os.makedirs(os.path.dirname(path))
    Path(path).write_text(content)
    assert host_lock.take(path, run("a"), "") is None


def test_of_many_at_once_one_gets_it(path: str) -> None:
    results: list[Any] = []
    threads = [
        threading.Thread(target=lambda n=n: results.append(host_lock.take(path, run(str(n)), "")))
        for n in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results.count(None) == 1


def test_a_living_run_of_this_machine_is_alive_and_a_killed_one_is_dead() -> None:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        holder = host_lock.describe_run(child.pid, "a", "ops")
        here = run("b")
        assert host_lock.is_dead(holder, here, host_lock.start_ticks(child.pid)) is False
    finally:
        child.kill()
        child.wait()
    assert host_lock.is_dead(holder, here, host_lock.start_ticks(child.pid)) is True


def test_a_process_that_has_got_the_number_of_a_dead_one_does_not_count() -> None:
    holder = {**run("a"), "started": 1}
    assert host_lock.is_dead(holder, run("b"), host_lock.start_ticks(os.getpid())) is True


@pytest.mark.parametrize("key", ["controller", "boot", "namespace"])
def test_of_another_control_node_nothing_is_known(key: str) -> None:
    assert host_lock.is_dead({**run("a"), key: "other"}, run("b"), None) is None


def test_without_a_boot_id_nothing_is_known() -> None:
    nowhere = {**run("b"), "boot": ""}
    assert host_lock.is_dead({**nowhere, "token": "a"}, nowhere, None) is None


def test_work_that_moves_makes_a_lock_young(path: str, tmp_path: Path) -> None:
    host_lock.take(path, run("a"), "")
    os.utime(path, (1000, 1000))
    work = str(tmp_path / ".staging-")
    assert host_lock.idle_seconds(path, work, 5000) == 4000
    inside = tmp_path / ".staging-x" / "deep"
    inside.mkdir(parents=True)
    for folder in (inside, inside.parent):
        os.utime(folder, (4500, 4500))
    assert host_lock.idle_seconds(path, work, 5000) == 500


def test_processes_are_known_by_the_paths_that_they_name(tmp_path: Path) -> None:
    work = f"{tmp_path}/.staging-"
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", f"{work}1/x"])
    try:
        deadline = time.monotonic() + 10
        while not host_lock.processes(work) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert [process["pid"] for process in host_lock.processes(work)] == [child.pid]
    finally:
        child.kill()
        child.wait()


def test_the_message_names_host_holder_time_and_what_to_do() -> None:
    holder = {**run("a"), "controller": "ctl-1", "pid": 77}
    answer = {
        "holder": holder,
        "since": 0.0,
        "processes": [{"pid": 5, "command": "pip install"}],
    }
    text = host_lock.held_text("h1", "/run/x.lock", "installs Mooncake", answer, 600.4)
    assert text == (
        "h1: another run installs Mooncake: ops on control node ctl-1 (process 77), since 1970-01-01 00:00:00 UTC; "
        "waited 600 s. On the host still runs: pip install (PID 5). Fix: let it end, then run again. "
        "If there is no such run any more, remove /run/x.lock on h1 and end process 5 there."
    )


def test_the_file_is_json_that_anybody_may_read(path: str) -> None:
    host_lock.take(path, run("a"), "")
    assert json.loads(Path(path).read_text())["user"] == "ops"
    assert os.stat(path).st_mode & 0o777 == 0o644
