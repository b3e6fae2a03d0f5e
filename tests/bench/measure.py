# SPDX-License-Identifier: Apache-2.0
"""What every bench shares: run something, take the time, print it in one shape."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Callable

ROOT = Path(__file__).resolve().parents[2]


def output_of(command: list[str], fix: str) -> str:
    """Run a command that must succeed; return its output."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"bench: {' '.join(command)} failed. Fix: {fix}\n{done.stdout}{done.stderr}")
    return done.stdout


def seconds(work: Callable[[], object]) -> float:
    """Wall clock seconds of one call."""
    started = time.monotonic()
    work()
    return time.monotonic() - started


def in_turns(works: dict[str, Callable[[], object]], runs: int) -> dict[str, list[float]]:
    """Times of each, one after the other in every round, so that a busy machine slows all of them alike."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for number in range(runs):
        print(f"run {number + 1} of {runs}", file=sys.stderr)
        for name, work in works.items():
            times[name].append(seconds(work))
    return times


def show(name: str, times: list[float], more: str = "") -> None:
    low, middle, high = min(times), statistics.median(times), max(times)
    unit, factor = ("ms", 1000) if high < 1 else ("s", 1)
    print(
        f"{name:<30} min {low * factor:6.1f} {unit:<2}  median {middle * factor:6.1f} {unit:<2}  "
        f"max {high * factor:6.1f} {unit:<2}  {more}".rstrip()
    )


def ratio(first: list[float], second: list[float]) -> float:
    return statistics.median(first) / statistics.median(second)
