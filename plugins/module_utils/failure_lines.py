# SPDX-License-Identifier: Apache-2.0
"""What of a failed task's result an operator reads: the message, and what explains it."""

from __future__ import annotations

import textwrap
from typing import Any, Mapping

from ansible_collections.kvcache.ascend.plugins.module_utils import failure

LINE_WIDTH = 96
INDENT = "    "

NOT_FOR_OPERATORS = frozenset(
    (
        "ansible_facts",
        "ansible_loop_var",
        "argument_errors",
        "argument_spec_data",
        "assertion",
        "attempts",
        "changed",
        "checksum",
        "delta",
        "end",
        "evaluated_to",
        "failed",
        "failed_when_result",
        "findings",
        "gid",
        "group",
        "invocation",
        "item",
        "masters",
        "mode",
        "module_stderr",
        "msg",
        "owner",
        "size",
        "start",
        "state",
        "stderr_lines",
        "stdout_lines",
        "uid",
        "unreachable",
        "validate_args_context",
        "waited_seconds",
    )
)
"""Keys of a result that repeat the message, or that only a developer reads."""


def has_message(result: Mapping[str, Any]) -> bool:
    """Return whether a failed task's result has words of its own; that of a loop has those of its items."""
    return bool(str(result.get("msg") or "").strip()) and "results" not in result


def is_told(exception: Any, message_text: str) -> bool:
    """Return whether the cause at the end of an error's chain is the message itself; else the error has more to tell."""
    event = getattr(exception, "event", None)
    last = None
    while event is not None:
        last = getattr(event, "msg", None)
        event = getattr(getattr(event, "chain", None), "event", None)
    return last == message_text


def message(result: Mapping[str, Any]) -> str:
    """Return the message, broken into lines of a terminal; a line's own indentation is kept."""
    lines: list[str] = []
    for line in failure.PREFIX.sub("", str(result["msg"]).strip()).splitlines():
        text = line.lstrip()
        own = INDENT + line[: len(line) - len(text)]
        lines += textwrap.wrap(
            text,
            LINE_WIDTH,
            initial_indent=own,
            subsequent_indent=own + ("" if own != INDENT else "  "),
            break_long_words=False,
            break_on_hyphens=False,
        )
    return "\n".join(lines)


def rest(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is worth reading beside the message: no nulls, nothing empty, nothing twice."""
    return {
        key: value
        for key, value in result.items()
        if key not in NOT_FOR_OPERATORS
        and not key.startswith("_ansible")
        and value not in (None, "", [], {})
    }
