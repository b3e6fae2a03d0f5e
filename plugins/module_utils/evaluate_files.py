# SPDX-License-Identifier: Apache-2.0
"""The files that an evaluation reads on its hosts: the results of earlier runs, and the model's config.json."""

from __future__ import annotations

import base64
import json
import re
from typing import Any, Mapping

_ABSENT = re.compile("file not found", re.IGNORECASE)
"""How ansible.builtin.slurp begins to tell that there is no file, which is an answer."""


def results_problem(answer: Mapping[str, Any], host: str, path: str) -> str:
    """Why the results can't be gone on with, with a fix; empty when there are none yet.

    answer: what ansible.builtin.slurp has returned, failed or not.
    """
    return _told(
        host,
        path,
        _unreadable(answer) or _no_text(answer),
        "correct it there, or move it away: all steps are then measured again",
    )


def config_problem(answer: Mapping[str, Any], host: str, path: str) -> str:
    """The same of a config.json; without one there is no prediction, which is no reason to stop."""
    return _told(
        host,
        path,
        _unreadable(answer) or _no_text(answer) or _no_object(answer),
        "bring the model's own, or move it away: there is then no prediction",
    )


def _told(host: str, path: str, wrong: str, fix: str) -> str:
    return f"{host}: {path}: {wrong}. Fix: {fix}." if wrong else ""


def _unreadable(answer: Mapping[str, Any]) -> str:
    if "content" in answer or _ABSENT.match(str(answer.get("msg"))):
        return ""
    return str(answer.get("msg") or "no answer").rstrip(".")


def _bytes(answer: Mapping[str, Any]) -> bytes:
    return base64.b64decode(answer.get("content", ""))


def _no_text(answer: Mapping[str, Any]) -> str:
    try:
        _bytes(answer).decode("utf-8")
    except UnicodeDecodeError as error:
        return f"byte {error.start} is no UTF-8"
    return ""


def _no_object(answer: Mapping[str, Any]) -> str:
    """Of a text; an empty answer is a file that is not there."""
    if "content" not in answer:
        return ""
    try:
        found = json.loads(_bytes(answer))
    except ValueError as error:
        return f"it is no JSON ({error})"
    return "" if isinstance(found, dict) else "it holds no JSON object"
