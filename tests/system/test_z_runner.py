# SPDX-License-Identifier: Apache-2.0
"""Runs as tower and AWX make them: through ansible-runner, on a copy of the project, with extra variables from a survey."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import ROOT, Fleet


@pytest.fixture
def runner(fleet: Fleet, tmp_path: Path) -> Path:
    """A runner's private folder, laid out as AWX lays it out: project, inventory, env."""
    private = tmp_path / "runner"
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    for name in filter(None, listed.split("\0")):
        source, copy = ROOT / name, private / "project" / name
        if source.is_symlink() or source.exists():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, copy, follow_symlinks=False)
    (private / "env").mkdir()
    (private / "inventory").mkdir()
    shutil.copy2(fleet.folder / "hosts", private / "inventory" / "hosts")
    return private


def run(private: Path, *options: str, **extra: Any) -> tuple[int, list[dict[str, Any]]]:
    """Run site.yml or what `options` name; return the exit status and the job's events."""
    (private / "env" / "extravars").write_text(yaml.safe_dump({"ansible_user": "ops", **extra}))
    done = subprocess.run(
        ["ansible-runner", "run", str(private), "--ident", "job", "--quiet", *options],
        env=dict(os.environ, ANSIBLE_NOCOLOR="1"),
        check=False,
    )
    events = private / "artifacts" / "job" / "job_events"
    files = sorted(events.glob("*.json"), key=lambda path: int(path.name.split("-")[0]))
    return done.returncode, [json.loads(path.read_text()) for path in files]


def changed_tasks(events: list[dict[str, Any]]) -> list[str]:
    return [
        event["event_data"]["task"]
        for event in events
        if event["event"] == "runner_on_ok" and event["event_data"]["res"].get("changed")
    ]


def test_check_and_diff_of_a_host_under_limit(runner: Path) -> None:
    options = ["--playbook", "site.yml", "--limit", "sys-2", "--cmdline", "--check --diff"]
    status, events = run(runner, *options)
    assert status == 0
    hosts = {event["event_data"].get("host") for event in events} - {None}
    assert hosts == {"sys-2"}
    assert changed_tasks(events) == []


def test_extra_variables_arrive_and_a_failure_is_an_event_with_the_message(runner: Path) -> None:
    status, events = run(
        runner,
        "--playbook",
        "verify.yml",
        mooncake_master_rpc_port=1,
        mooncake_master_wait_seconds=2,
    )
    assert status != 0
    failures = [
        event["event_data"]["res"]["msg"]
        for event in events
        if event["event"] == "runner_on_failed"
    ]
    assert any("sys-1:1 refused the connection" in message for message in failures)
