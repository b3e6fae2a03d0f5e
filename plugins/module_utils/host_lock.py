# SPDX-License-Identifier: Apache-2.0
"""A lock on a host that lasts over several tasks, and the question whether its holder still lives.

Tasks are separate processes, so the lock can't be one that the kernel drops with a process. It is a file that says who
holds it. Whether that run still lives is known on the control node where it was started; from another one it is judged by
what happens on the host.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from typing import Any, Iterator

ABANDONED_SECONDS = 1800
"""A lock of another control node counts as abandoned when its host has seen nothing of that run for so long."""


def start_ticks(pid: int, proc: str = "/proc") -> int | None:
    """Return when a process was started, in clock ticks since boot; None when there is no such process or no /proc."""
    try:
        with open(f"{proc}/{pid}/stat", encoding="utf-8", errors="replace") as handle:
            text = handle.read()
    except OSError:
        return None
    # Field 22; the second one, the name in parentheses, may hold blanks.
    return int(text.rsplit(")", 1)[1].split()[19])


def first_line(path: str) -> str:
    """Return the first line of a file; empty when it can't be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as handle:
            return handle.readline().strip()
    except OSError:
        return ""


def namespace(path: str = "/proc/self/ns/pid") -> str:
    """Return which PID namespace this process is in, since PIDs mean something only within one; empty when unknown."""
    try:
        return os.readlink(path)
    except OSError:
        return ""


def describe_run(pid: int, token: str, user: str) -> dict[str, Any]:
    """Return who takes the lock: a run of Ansible as process `pid` of this machine."""
    return {
        "token": token,
        "user": user,
        "controller": os.uname().nodename,
        "boot": first_line("/proc/sys/kernel/random/boot_id"),
        "namespace": namespace(),
        "pid": pid,
        "started": start_ticks(pid),
    }


def is_dead(holder: dict[str, Any], here: dict[str, Any], ticks: int | None) -> bool | None:
    """Return whether the run `holder` has ended; None when that can't be known from `here`.

    `here` is what :func:`describe_run` says of the asking run, `ticks` when the process with the holder's PID was started.
    """
    same = ("controller", "boot", "namespace")
    if not here["boot"] or any(holder.get(key) != here[key] for key in same):
        return None
    return ticks is None or ticks != holder.get("started")


def read(path: str) -> dict[str, Any] | None:
    """Return who holds the lock; None when nobody does; an empty dict when the file says nothing that makes sense."""
    try:
        with open(path, encoding="utf-8") as handle:
            holder = json.load(handle)
    except FileNotFoundError:
        return None
    except ValueError:
        return {}
    return holder if isinstance(holder, dict) else {}


@contextlib.contextmanager
def guarded(path: str) -> Iterator[None]:
    """Let only one process at a time look at the lock and change it."""
    os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
    with open(f"{path}.guard", "w", encoding="utf-8") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def take(path: str, owner: dict[str, Any], replace: str) -> dict[str, Any] | None:
    """Take the lock; return None, or who holds it. A holder whose token is `replace` loses it."""
    with guarded(path):
        holder = read(path)
        tokens = (owner["token"], replace)
        if holder is not None and holder.get("token", "") not in tokens:
            return holder
        staged = f"{path}.new"
        with open(staged, "w", encoding="utf-8") as handle:
            json.dump(owner, handle)
        os.chmod(staged, 0o644)
        os.rename(staged, path)
        return None


def release(path: str, token: str) -> bool:
    """Give the lock back; return whether this run held it."""
    if not os.path.exists(path):
        return False
    with guarded(path):
        holder = read(path)
        if holder is None or holder.get("token") != token:
            return False
        os.remove(path)
        return True


def idle_seconds(path: str, work: str, now: float) -> float:
    """Return how long nothing has happened to the lock and to what lies directly in the folders that begin with `work`."""
    parent, prefix = os.path.split(work)
    newest = os.lstat(path).st_mtime if os.path.lexists(path) else 0.0
    for name in os.listdir(parent) if os.path.isdir(parent) else []:
        if not name.startswith(prefix):
            continue
        for folder, folders, names in os.walk(os.path.join(parent, name)):
            for item in ["", *folders, *names]:
                with contextlib.suppress(OSError):  # it may be gone by now
                    newest = max(newest, os.lstat(os.path.join(folder, item)).st_mtime)
    return max(0.0, now - newest)


def processes(work: str, proc: str = "/proc") -> list[dict[str, Any]]:
    """Return the processes of this host that name a path that begins with `work` on their command line."""
    found = []
    for name in os.listdir(proc):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            with open(f"{proc}/{name}/cmdline", "rb") as handle:
                command = handle.read().rstrip(b"\0").split(b"\0")
        except OSError:
            continue
        if any(work.encode() in word for word in command):
            text = b" ".join(command).decode(errors="replace")
            found.append({"pid": int(name), "command": text[:80]})
    return sorted(found, key=lambda process: process["pid"])


def utc(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))


def held_text(host: str, path: str, purpose: str, answer: dict[str, Any], waited: float) -> str:
    """Return why the lock was not had: the host, who holds it, since when, and what to do."""
    holder = answer["holder"] or {}
    who = (
        f"{holder.get('user', '?')} on control node {holder.get('controller', '?')} (process {holder.get('pid', '?')})"
        if holder.get("controller")
        else "a run that can't be told from the file"
    )
    running = answer["processes"]
    still = (
        f" On the host still runs: {running[0]['command']} (PID {running[0]['pid']})."
        if running
        else ""
    )
    return (
        f"{host}: another run {purpose}: {who}, since {utc(answer['since'])}; waited {waited:.0f} s.{still} "
        f"Fix: let it end, then run again. If there is no such run any more, remove {path} on {host}"
        + (f" and end process {running[0]['pid']} there." if running else ".")
    )
