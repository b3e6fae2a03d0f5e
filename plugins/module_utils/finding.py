# Copyright The kvcache.ascend authors
# SPDX-License-Identifier: Apache-2.0
"""The one shape of a check's result, and how it reads in a terminal.

A finding is a plain dict, so that modules can return it as it is:

    check     which check it comes from, such as mooncake_master_rpc
    severity  ok, warning or error
    host      the host on which it was observed
    observed  what is wrong and where, as the beginning of a sentence
    expected  what should have been there
    fix       what to do next
"""

from __future__ import annotations

import textwrap
from typing import Any, Iterable

OK = "ok"
WARNING = "warning"
ERROR = "error"

_RANK = {OK: 0, WARNING: 1, ERROR: 2}

# Ansible indents a message by up to eight columns, and a terminal is taken to have 100.
LINE_WIDTH = 92
INDENT = "  "


def make(
    check: str, severity: str, host: str, *, observed: str, expected: str = "", fix: str = ""
) -> dict[str, str]:
    if severity not in _RANK:
        raise ValueError(f"severity {severity!r} is none of {', '.join(_RANK)}")
    return {
        "check": check,
        "severity": severity,
        "host": host,
        "observed": observed,
        "expected": expected,
        "fix": fix,
    }


def worst(findings: Iterable[dict[str, str]]) -> str:
    """The highest severity; ok when there is no finding."""
    return max((finding["severity"] for finding in findings), key=_RANK.__getitem__, default=OK)


def problems(findings: Iterable[dict[str, str]]) -> list[dict[str, str]]:
    """All that is not ok, errors first, otherwise in the order given."""
    wrong = [finding for finding in findings if finding["severity"] != OK]
    return sorted(wrong, key=lambda finding: -_RANK[finding["severity"]])


def render(findings: Iterable[dict[str, str]]) -> str:
    """A line that says what is wrong, where and what was expected, and a line with the fix."""
    return "\n".join(_render_one(finding) for finding in findings)


def without_unknown(value: Any) -> Any:
    """Facts without those that are null or empty: what is left is what was seen."""
    if isinstance(value, dict):
        known = {key: without_unknown(item) for key, item in value.items()}
        return {key: item for key, item in known.items() if item not in (None, "", [], {})}
    return [without_unknown(item) for item in value] if isinstance(value, list) else value


def _render_one(finding: dict[str, str]) -> str:
    sentence = f"{finding['observed']} (from host {finding['host']})."
    # An error is the normal case of a failure's message and needs no mark of its own.
    if finding["severity"] != ERROR:
        sentence = f"{finding['severity']}: {sentence}"
    expected = f"Expected: {finding['expected']}." if finding["expected"] else ""
    lines = _wrap(f"{sentence} {expected}")
    if len(lines) > 1:
        lines = _wrap(sentence) + _wrap(expected, INDENT)
    lines += _wrap(f"Fix: {finding['fix']}" if finding["fix"] else "", INDENT)
    return "\n".join(lines)


def wrapped(messages: str | Iterable[str]) -> str:
    """Messages without structure, each on lines of its own, broken like findings."""
    texts = messages.splitlines() if isinstance(messages, str) else messages
    return "\n".join("\n".join(_wrap(str(text))) for text in texts)


def _wrap(text: str, first_indent: str = "") -> list[str]:
    return textwrap.wrap(
        text,
        LINE_WIDTH,
        initial_indent=first_indent,
        subsequent_indent=INDENT,
        # An address or a path that is cut in two can no longer be copied.
        break_long_words=False,
        break_on_hyphens=False,
    )
