# SPDX-License-Identifier: Apache-2.0
"""A long build on a host that lives on when Ansible does not: started detached, followed by whoever asks.

A job is a folder with ``plan.json`` (its steps), ``log`` (what they print) and ``state.json`` (where it is). The runner is a
program of its own, so that a lost connection or a killed ansible-playbook does not end it: the next run finds it under
way and follows it, or finds its end.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from typing import Any

from ansible_collections.kvcache.ascend.plugins.module_utils import host_files

RUNNER = r"""
import json, os, resource, subprocess, sys, time
folder = sys.argv[1]
with open(os.path.join(folder, "plan.json")) as handle:
    plan = json.load(handle)
state = {"pid": os.getpid(), "started": time.time(), "step": None, "status": None}

def save():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    state.update(cpu_seconds=round(usage.ru_utime + usage.ru_stime, 1), peak_process_bytes=usage.ru_maxrss * 1024,
                 seconds=round(time.time() - state["started"], 1))
    with open(os.path.join(folder, "state.json.new"), "w") as handle:
        json.dump(state, handle)
    os.rename(os.path.join(folder, "state.json.new"), os.path.join(folder, "state.json"))

os.nice(plan["niceness"])
log = open(os.path.join(folder, "log"), "ab", 0)
for step in plan["steps"]:
    state.update(step=step["name"], offset=log.tell() if log.tell() else os.fstat(log.fileno()).st_size)
    save()
    log.write(("=== " + step["name"] + ": " + " ".join(step["argv"]) + "\n").encode())
    try:
        status = subprocess.call(step["argv"], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=step["cwd"],
                                 env=dict(os.environ, **plan["environment"], **step["environment"]))
    except OSError as error:
        log.write(("%s: %s\n" % (step["argv"][0], error.strerror)).encode())
        status = 127
    if status:
        break
state["status"] = status
save()
"""
"""The program that runs the steps, one after the other, and stops at the first that fails."""


def _path(folder: str, name: str) -> str:
    return os.path.join(folder, name)


def is_alive(pid: int, folder: str) -> bool:
    """Return whether the process is there and is the runner of this very folder (numbers of processes are used again)."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as handle:
            words = handle.read().split(b"\0")
    except OSError:
        return False
    return folder.encode() in words


def look(folder: str) -> dict[str, Any]:
    """Return the state of the job: ``phase`` is absent, running, ended or lost (its runner was killed, or could
    not write)."""
    state = host_files.read_dict(_path(folder, "state.json"))
    if state is None:
        return {"phase": "absent"}
    if state["status"] is not None:
        return dict(state, phase="ended")
    state["seconds"] = round(time.time() - state["started"], 1)
    return dict(state, phase="running" if is_alive(state["pid"], folder) else "lost")


def log_of_step(folder: str, state: dict[str, Any]) -> str:
    """Return what the step that is under way, or that ended the job, has printed."""
    try:
        with open(_path(folder, "log"), "rb") as handle:
            handle.seek(state.get("offset") or 0)
            return handle.read().decode(errors="replace")
    except OSError:
        return ""


def start(folder: str, plan: dict[str, Any], python: str) -> None:
    """Begin the job anew, detached from this process and its terminal."""
    os.makedirs(folder, mode=0o755, exist_ok=True)
    for name in ("state.json", "log"):
        if os.path.exists(_path(folder, name)):
            os.replace(_path(folder, name), _path(folder, f"{name}.before"))
    with open(_path(folder, "plan.json"), "w", encoding="utf-8") as handle:
        json.dump(plan, handle, indent=1)
    os.chmod(_path(folder, "plan.json"), 0o600)
    with open(_path(folder, "runner.err"), "wb") as errors:
        subprocess.Popen(
            [python, "-c", RUNNER, folder],
            stdin=subprocess.DEVNULL,
            stdout=errors,
            stderr=errors,
            cwd="/",
            start_new_session=True,
            close_fds=True,
        )
    deadline = time.time() + 20
    while look(folder)["phase"] == "absent":
        if time.time() > deadline:
            raise OSError(0, f"the job did not start: see {_path(folder, 'runner.err')}", folder)
        time.sleep(0.05)


def wait(folder: str, seconds: float) -> dict[str, Any]:
    """Wait until the job is no longer running, for at most that long; return its state."""
    deadline = time.time() + seconds
    while True:
        state = look(folder)
        if state["phase"] != "running" or time.time() >= deadline:
            return state
        time.sleep(min(0.5, max(0.05, deadline - time.time())))


def ensure(folder: str, plan: dict[str, Any], python: str) -> dict[str, Any]:
    """Begin the job unless it is under way, or has ended well, with the same plan; return its state."""
    state = look(folder)
    same = host_files.read_dict(_path(folder, "plan.json")) == plan
    if state["phase"] == "running" or (state["phase"] == "ended" and state["status"] == 0 and same):
        return state
    start(folder, plan, python)
    return look(folder)
