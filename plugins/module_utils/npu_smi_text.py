# Copyright The kvcache.ascend authors
# SPDX-License-Identifier: Apache-2.0
"""What the readers of npu-smi, hccn_tool and version files share: lines, nulls, numbers, pairs.

The tools pad with blanks or tabs, print NA, N/A or - for what they do not know, and their output
often went through a terminal (colours, CRLF) before somebody reads it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_TERMINAL_CODE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours, cursor moves
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # window titles
    r"|\x1b[()][0-9A-Za-z]|\x1b[=>]"
)
_NULLS = frozenset(["", "na", "n/a", "-", "--"])
# Eighteen digits: more than any reading has, fewer than int() and float() refuse.
_INTEGER = re.compile(r"-?[0-9]{1,18}\Z")
_NUMBER = re.compile(r"-?[0-9]{1,18}(?:\.[0-9]{1,18})?\Z")
# A full-width colon is what an input method or a translated page makes of a colon.
_COLON = re.compile("[:\uff1a]")


@dataclass(frozen=True)
class Pair:
    """A line `key : value`. `key` is as printed, blanks collapsed; empty on a line that goes on."""

    key: str
    value: str
    line: str

    @property
    def name(self) -> str:
        """The key to compare with: lower case."""
        return self.key.lower()


def lines(text: str) -> list[str]:
    """The lines of a text, without terminal codes and carriage returns, blanks kept."""
    plain = _TERMINAL_CODE.sub("", text).replace("\ufeff", "").replace("\x00", "")
    return plain.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def collapsed(text: str) -> str:
    """The text with every run of blanks made one blank, none at the ends."""
    return " ".join(text.split())


def is_null(raw: str) -> bool:
    """Whether a tool said that it does not know: empty, NA, N/A, - in any case."""
    return raw.strip().lower() in _NULLS


def text_or_none(raw: str) -> str | None:
    return None if is_null(raw) else raw.strip()


def integer(raw: str) -> int | None:
    """An int, or None for everything else."""
    raw = raw.strip()
    return int(raw) if _INTEGER.match(raw) else None


def number(raw: str) -> int | float | None:
    """An int where no point is printed, a float where one is, else None."""
    raw = raw.strip()
    if not _NUMBER.match(raw):
        return None
    return float(raw) if "." in raw else int(raw)


def pair(line: str) -> Pair | None:
    """The `key : value` of a line, split at the first colon; None for a line without one."""
    colon = _COLON.search(line)
    if colon is None:
        return None
    return Pair(collapsed(line[: colon.start()]), line[colon.end() :].strip(), line.strip())


def pairs(text: str) -> list[Pair]:
    """All `key : value` lines of a text, in its order; other lines are passed over."""
    found = (pair(line) for line in lines(text))
    return [each for each in found if each is not None]
