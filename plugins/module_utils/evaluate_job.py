# SPDX-License-Identifier: Apache-2.0
"""A sweep that runs on a host: what is told of its progress, and of its end, by what it has printed."""

from __future__ import annotations

import re
from typing import Any, Mapping, Sequence

from ansible_collections.kvcache.ascend.plugins.module_utils import evaluate_input

_PROGRESS = re.compile(r"^progress: ([0-9]+) (.*)$", re.MULTILINE)
_FAILED = re.compile(r"^failed: (.*)$", re.MULTILINE)

FIXES = (
    (
        "has no load generator",
        "install the stack there (python_stack.yml), or correct evaluate_stack",
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


def failure(log: str, status: Any) -> str:
    """Why a sweep ended early, and what to do."""
    told = _FAILED.findall(log)
    lines = [line for line in log.splitlines() if line.strip()]
    cause = told[-1] if told else (lines[-1].strip()[:300] if lines else f"it ended with {status}")
    fix = next((fix for words, fix in FIXES if words in cause), "see its log")
    return f"the load generator ended early: {cause}. Fix: {fix}; then run again, it goes on where it stopped"
