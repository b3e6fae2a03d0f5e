# SPDX-License-Identifier: Apache-2.0
"""ASCEND_RT_VISIBLE_DEVICES as CANN reads it: it stops at the first bad item."""

from __future__ import annotations

import pytest
from ansible_collections.kvcache.ascend.plugins.module_utils.npu_visible import visible_devices


@pytest.mark.parametrize(
    ("value", "count", "effective", "dropped"),
    [
        (None, 8, [0, 1, 2, 3, 4, 5, 6, 7], []),
        (None, None, None, []),
        ("0", 8, [0], []),
        ("1,3", 8, [1, 3], []),
        ("1, 2,3", 8, [1], [" 2", "3"]),
        ("1,3,8", 8, [1, 3], ["8"]),
        ("1,3,8", None, [1, 3, 8], []),
        ("0-2", 8, [], ["0-2"]),
        ("", 8, [], [""]),
        ("1,1,2", 8, [1], ["1", "2"]),
        ("0,", 8, [0], [""]),
        ("\u0663", 8, [], ["\u0663"]),
        ("0" * 5000, 8, [], ["0" * 5000]),
    ],
)
def test_effective_and_dropped(
    value: str | None, count: int | None, effective: list[int] | None, dropped: list[str]
) -> None:
    seen = visible_devices(value, count)
    assert (seen["effective"], seen["dropped"]) == (effective, dropped)
    assert seen["value"] == value
    assert seen["ascending"] is True


def test_ids_that_do_not_ascend_are_told() -> None:
    assert visible_devices("3,1", 8)["ascending"] is False
