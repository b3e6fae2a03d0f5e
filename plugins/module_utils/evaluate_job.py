# SPDX-License-Identifier: Apache-2.0
"""A sweep that runs on a host: what is told of its progress, and of its end, by what it has printed."""

from __future__ import annotations

import re
from typing import Any, Mapping, Sequence

from ansible_collections.kvcache.ascend.plugins.module_utils import build_log, evaluate_input

_PROGRESS = re.compile(r"^progress: ([0-9]+) (.*)$", re.MULTILINE)
_FAILED = re.compile(r"^failed: (.*)$", re.MULTILINE)
_OWN_LINES = ("progress: ", "=== ")
KILLED = (-9, 137)
"""How a process ends that was killed, as Python and as a shell tell it."""

FIXES = (
    (
        "has no load generator",
        "install the stack there (python_stack.yml), or correct evaluate_stack",
    ),
    (
        "prefix caching is off",
        "see why in the instance's journal, and correct its options",
    ),
    ("can not empty its caches", "give evaluate_start: warmup, or measure variants"),
    (
        "requests of round",
        "see what the instance's journal says of it, and the longest context of the model",
    ),
    ("does not answer", "see whether the instance runs: verify.yml"),
)


def progress(log: str) -> dict[str, Any]:
    """How many steps are done, and what is under way."""
    told = _PROGRESS.findall(log)
    if not told:
        return {"done": 0, "what": "begins"}
    return {"done": int(told[-1][0]), "what": told[-1][1]}


def progress_text(
    seen: Mapping[str, Any], documents: Sequence[int], passes: int, later: int, seconds: float
) -> str:
    """One line for who waits: the step, and what is left of this and the later variants."""
    left = sum(documents[seen["done"] :]) * passes + later
    number = min(seen["done"] + 1, len(documents))
    return (
        f"{seen['what']} (step {number} of {len(documents)}); at most "
        f"{evaluate_input.duration(left * seconds)} left in all"
    )


def failure(log: str, status: int | None, free: int) -> str:
    """Why a sweep ended early, and what to do.

    `status` is None when the job ended without a word; `free` is the room in its folder, in bytes.
    """
    if build_log.DISK_FULL.search(log) or free < build_log.LITTLE:
        cause = "the disk is full"
        fix = "free space there (df -h), or set evaluate_folder to a folder with more"
    elif status is None or status in KILLED:
        cause = "it was killed"
        fix = "look for the cause (journalctl -k; most often there was not enough memory)"
    else:
        cause = _cause(log, status)
        fix = next((fix for words, fix in FIXES if words in cause), "see its log")
    return f"the load generator ended early: {cause}. Fix: {fix}; then run again, it goes on where it stopped"


def _cause(log: str, status: int) -> str:
    told = _FAILED.findall(log)
    if told:
        return str(told[-1])
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    said = [line for line in lines if not line.startswith(_OWN_LINES)]
    return said[-1][:300] if said else f"it ended with status {status}"
