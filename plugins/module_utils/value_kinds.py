# SPDX-License-Identifier: Apache-2.0
"""Kinds of values that variables may have: what is accepted, and how it is told that something else was given.

A table of kinds by key is data; `problems` compares a dict with it. Nothing here raises, whatever the value is.
"""

from __future__ import annotations

import datetime
import math
import re
from dataclasses import dataclass
from typing import Any, Callable, Iterable, Mapping

from ansible_collections.kvcache.ascend.plugins.module_utils import master_address, sizes

_DIGITS = re.compile(r"[0-9]{1,15}\Z", re.ASCII)
_KEY = re.compile(r"[^\s\x00-\x1f]+\Z")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SHOWN = 60
"""Characters of a value that a message repeats."""
_LARGE_BITS = 200
"""A larger number is not written: Python refuses to write one of some thousand digits."""
_MOST_BYTES = 1 << 60
_WORDS = (
    (bool, "a truth value"),
    (str, "a text"),
    ((int, float), "a number"),
    (Mapping, "a dict"),
    ((list, tuple), "a list"),
    ((datetime.date, datetime.datetime), "a date"),
)
_TRUTH = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


@dataclass(frozen=True)
class Kind:
    expected: str
    accepts: Callable[[Any], bool]


def words(value: Any) -> str:
    """What a value is, without its content: a text, a list, empty."""
    if value is None:
        return "empty"
    found = (text for kinds, text in _WORDS if isinstance(value, kinds))  # type: ignore[arg-type]
    return next(found, f"a {type(value).__name__}")


def given(value: Any) -> str:
    """A value in a message: its content, cut off, and what it is where that does not show."""
    if value is None:
        return "empty"
    if value == "" or isinstance(value, bool):
        return str(value).lower() or "an empty text"
    if isinstance(value, int) and value.bit_length() > _LARGE_BITS:
        return "a very large number"
    try:
        shown = repr(value)
    except ValueError:  # a very large number within
        return words(value)
    shown = f"{shown[:_SHOWN]}…" if len(shown) > _SHOWN else shown
    return shown if isinstance(value, (str, int, float)) else f"{words(value)} ({shown})"


def is_key(key: Any) -> bool:
    return isinstance(key, str) and _KEY.match(key) is not None


def key_text(key: Any) -> str:
    """A key in a message: the name itself, and of what is no name what was given."""
    return str(key) if is_key(key) else given(key)


def problem(where: str, value: Any, kind: Kind, secret: bool = False) -> str:
    """What `where` is and what was expected; empty when it is of this kind. The content of a secret is not told."""
    if kind.accepts(value):
        return ""
    return f"{where} is {words(value) if secret else given(value)}, expected {kind.expected}"


def problems(values: Mapping[Any, Any], kinds: Mapping[str, Kind], prefix: str = "") -> list[str]:
    """A problem for each value that is not of the kind that the table has for its key. Keys are for `key_problems`."""
    found = [
        problem(f"{prefix}{key}", value, kinds[key])
        for key, value in values.items()
        if is_key(key) and key in kinds
    ]
    return [each for each in found if each]


def key_problems(where: str, values: Mapping[Any, Any]) -> list[str]:
    """Keys that are no names; YAML reads on, off, yes and no as truth values, and 1 as a number."""
    return [
        f"{where}: the name {given(key)} is {words(key)}, expected a name without blanks (YAML reads on, off, yes and no as "
        "truth values: write them in quotes)"
        for key in values
        if not is_key(key)
    ]


def whole(least: int, most: int) -> Kind:
    def accepts(value: Any) -> bool:
        if isinstance(value, bool) or not isinstance(value, (int, str)):
            return False
        if isinstance(value, str) and not _DIGITS.match(value):
            return False
        return least <= int(value) <= most

    return Kind(f"a whole number from {least} to {most}", accepts)


def one_of(choices: Iterable[str]) -> Kind:
    known = tuple(choices)
    return Kind(
        f"one of {', '.join(known)}", lambda value: isinstance(value, str) and value in known
    )


def matching(pattern: str, expected: str, numbers: bool = False) -> Kind:
    """A text of this form; with `numbers` also a whole number, which YAML makes of a text of digits."""
    form = re.compile(rf"(?:{pattern})\Z", re.ASCII)

    def accepts(value: Any) -> bool:
        if numbers and _is_small_number(value):
            value = str(value)
        return isinstance(value, str) and form.match(value) is not None

    return Kind(expected, accepts)


def list_of(each: Kind, expected: str) -> Kind:
    return Kind(
        expected,
        lambda value: (
            isinstance(value, (list, tuple)) and all(each.accepts(item) for item in value)
        ),
    )


def or_empty(kind: Kind) -> Kind:
    """Also nothing at all: null, or an empty text, list or dict, as templates make them."""
    return Kind(
        kind.expected,
        lambda value: (
            value is None
            or (isinstance(value, (str, list, tuple, Mapping)) and len(value) == 0)
            or kind.accepts(value)
        ),
    )


def _is_small_number(value: Any) -> bool:
    return (
        isinstance(value, int) and not isinstance(value, bool) and value.bit_length() <= _LARGE_BITS
    )


def _is_line(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip()) and not _CONTROL.search(value)


def _is_size(value: Any) -> bool:
    if isinstance(value, int) and not _is_small_number(value):
        return False
    try:
        return sizes.to_bytes(value) <= _MOST_BYTES
    except (sizes.SizeError, ArithmeticError, ValueError):
        return False


def _is_address(value: Any) -> bool:
    if not isinstance(value, str):
        return False
    is_ip = master_address.as_ip_address(value) is not None
    return value == "" or is_ip or not master_address.host_problem(value)


def _is_plain(value: Any) -> bool:
    """A value that an environment variable can have: one line of text, or what is written as one."""
    if isinstance(value, str):
        return not _CONTROL.search(value.replace("\t", " "))
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, bool) or _is_small_number(value)


def _is_json(value: Any) -> bool:
    """A value that can be written as JSON and YAML, which dates and not-a-numbers can't."""
    if isinstance(value, Mapping):
        return all(isinstance(key, str) and _is_json(each) for key, each in value.items())
    if isinstance(value, (list, tuple)):
        return all(_is_json(each) for each in value)
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, (str, bool)) or _is_small_number(value)


DICT = Kind("a dict", lambda value: isinstance(value, Mapping))
LIST = Kind("a list", lambda value: isinstance(value, (list, tuple)))
BOOLEAN = Kind("true or false, without quotes", lambda value: isinstance(value, bool))
TRUTH = Kind(
    "true or false",
    lambda value: isinstance(value, bool) or (isinstance(value, str) and value.lower() in _TRUTH),
)
LINE = Kind("a text of one line", _is_line)
ADDRESS = Kind("an address of the host or its name, such as 0.0.0.0", _is_address)
SIZE = Kind("a size: a number and KiB, MiB, GiB or TiB, such as 40GiB", _is_size)
PLAIN = Kind("a text of one line, or a number", _is_plain)
JSON = Kind("a text, a number, true, false, a list or a dict", _is_json)


def truth(value: Any) -> bool:
    """A value of the kind TRUTH as what it means."""
    return value if isinstance(value, bool) else _TRUTH[str(value).lower()]
