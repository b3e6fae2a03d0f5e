# SPDX-License-Identifier: Apache-2.0
"""Which NPUs a process gets by a value of ASCEND_RT_VISIBLE_DEVICES.

Rules of CANN's documentation: a comma list of logic ids; reading stops at the first bad item, without a word. The visible
ones are numbered from 0 in the process.
"""

from __future__ import annotations

import re
from typing import Any

_ITEM = re.compile(r"[0-9]{1,4}\Z")


def visible_devices(value: str | None, count: int | None) -> dict[str, Any]:
    """What a value leaves visible.

    value: None when the variable is not set: all are visible. count: number of logic devices; None when not known.
    effective: logic ids that are visible, in order, None when not known; dropped: items without effect, as written;
    ascending: whether the ids ascend, as CANN wants them.
    """
    if value is None:
        effective = None if count is None else list(range(count))
        return _result(value, effective, [])
    items = value.split(",")
    taken: list[int] = []
    for item in items:
        is_known = _ITEM.match(item) and (count is None or int(item) < count)
        if not is_known or int(item) in taken:
            break
        taken.append(int(item))
    return _result(value, taken, items[len(taken) :])


def _result(value: str | None, effective: list[int] | None, dropped: list[str]) -> dict[str, Any]:
    return {
        "value": value,
        "effective": effective,
        "dropped": dropped,
        "ascending": effective == sorted(effective or []) or effective is None,
    }
