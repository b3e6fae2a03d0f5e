# SPDX-License-Identifier: Apache-2.0
"""Runs a command within a time limit and comes back in any case, also from a program that can't be killed.

npu-smi hangs for minutes on a sick card, inside the kernel, where no signal reaches it. Such a process is left behind.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from dataclasses import dataclass
from typing import IO, Callable, Dict, List, cast

MAXIMUM_OUTPUT_BYTES = 4 * 1024 * 1024
"""A table of sixteen chips has ten thousand bytes; what prints more than this prints no answer."""
TOO_MUCH = f"it printed without end, more than {MAXIMUM_OUTPUT_BYTES >> 20} MiB"
SECONDS_TO_DIE = 1.0


@dataclass(frozen=True)
class Answer:
    """What came of a command. status is None when it was not started or did not end; problem then says why."""

    command: list[str]
    status: int | None = None
    output: str = ""
    error: str = ""
    seconds: float = 0.0
    problem: str = ""
    timed_out: bool = False
    not_found: bool = False


Runner = Callable[[List[str], Dict[str, str], float], Answer]
"""Runs a command with exactly this environment, for so many seconds at most."""


def run(command: list[str], environment: dict[str, str], seconds: float) -> Answer:
    """Run a command without a shell and without input. Never raises because of the command."""
    started = time.monotonic()
    try:
        process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # A group of its own, so that its children can be ended with it.
            start_new_session=True,
            cwd="/",
        )
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        return Answer(command, problem=reason, not_found=isinstance(error, FileNotFoundError))
    streams = [cast("IO[bytes]", process.stdout), cast("IO[bytes]", process.stderr)]
    received = [bytearray(), bytearray()]
    problem = _receive(streams, received, seconds) or _end(process, started + seconds)
    if problem:
        _kill(process)
    for stream in streams:
        stream.close()
    return Answer(
        command,
        None if problem else process.returncode,
        received[0].decode("utf-8", "replace"),
        received[1].decode("utf-8", "replace"),
        round(time.monotonic() - started, 3),
        problem,
        timed_out=bool(problem) and problem != TOO_MUCH,
    )


def _receive(streams: list[IO[bytes]], received: list[bytearray], seconds: float) -> str:
    """Read until all streams end; otherwise return what was in the way: the time limit, or too much output."""
    deadline = time.monotonic() + seconds
    with selectors.DefaultSelector() as selector:
        for stream, into in zip(streams, received):
            selector.register(stream, selectors.EVENT_READ, into)
        while selector.get_map():
            left = deadline - time.monotonic()
            if left <= 0:
                return f"no end within {seconds:g} s"
            for key, _events in selector.select(left):
                chunk = os.read(key.fd, 65536)
                key.data.extend(chunk)
                if not chunk:
                    selector.unregister(key.fileobj)
            if sum(map(len, received)) >= MAXIMUM_OUTPUT_BYTES:
                return TOO_MUCH
    return ""


def _end(process: subprocess.Popen[bytes], deadline: float) -> str:
    """Why a process whose output has ended did not end itself; empty when it did."""
    try:
        process.wait(max(SECONDS_TO_DIE, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return "its output has ended, but it did not"
    return ""


def _kill(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(SECONDS_TO_DIE)
    except (OSError, subprocess.TimeoutExpired):
        pass  # inside the kernel: it dies when the driver lets it go
