# Copyright The kvcache.ascend authors
# SPDX-License-Identifier: Apache-2.0
"""Amounts of memory as people write them (40GiB, 512MiB, 1.5TiB, 40GB, 42949672960), and back again.

KiB, MiB, GiB, TiB are powers of 1024 (IEC 80000-13), as vLLM and Mooncake count; KB, MB, GB, TB are powers of 1000.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

SLAB_BYTES = 16 << 20
"""Mooncake's allocator deals in slabs of this size, and makes no segment of less; one of some kilobytes ends a client."""

_UNITS = {
    "": 1,
    "b": 1,
    **{f"{letter}ib": 1024**power for power, letter in enumerate("kmgt", 1)},
    **{f"{letter}b": 1000**power for power, letter in enumerate("kmgt", 1)},
}
_SIZE = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?)\s*(?P<unit>[A-Za-z]*)\Z", re.ASCII)
_SHOWN = tuple(
    (1024**power, f"{letter}iB") for power, letter in ((4, "T"), (3, "G"), (2, "M"), (1, "K"))
)


class SizeError(ValueError):
    """The text is no amount of memory; the message says what to write instead."""


def to_bytes(size: Any) -> int:
    """The size in whole bytes, rounded down; SizeError when it is no size."""
    # A YAML true is an integer in Python.
    found = None if isinstance(size, bool) else _SIZE.match(str(size).strip())
    factor = _UNITS.get(found.group("unit").lower()) if found else None
    if found is None or factor is None:
        raise SizeError(
            f"{size!r} is no size: write a number and KiB, MiB, GiB or TiB, such as 40GiB"
        )
    return int(Decimal(found.group("number")) * factor)


def to_text(size_bytes: int) -> str:
    """The size for people, in the largest unit of which there is at least one: 19.7 GiB."""
    for factor, unit in _SHOWN:
        if size_bytes >= factor:
            return f"{size_bytes / factor:.1f}".rstrip("0").rstrip(".") + f" {unit}"
    return f"{size_bytes} bytes"
