# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.kvcache.ascend.plugins.module_utils import sizes
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("size", "size_bytes"),
    [
        ("40GiB", 42949672960),
        ("40 gib", 42949672960),
        ("1.5TiB", 1649267441664),
        ("40GB", 40_000_000_000),
        ("512MiB", 536870912),
        ("4096", 4096),
        (4096, 4096),
        ("10B", 10),
        ("0", 0),
        ("0.1KiB", 102),
        (" 1KiB ", 1024),
    ],
)
def test_sizes_as_people_write_them(size: Any, size_bytes: int) -> None:
    assert sizes.to_bytes(size) == size_bytes


@pytest.mark.parametrize(
    "size", ["", "GiB", "40G", "-1GiB", "40 GiB 2", "1e9", "٤GiB", None, True, [], "40GiBs"]
)
def test_what_is_no_size_is_refused_with_an_example(size: Any) -> None:
    with pytest.raises(sizes.SizeError, match=r"is no size: write a number and .* such as 40GiB"):
        sizes.to_bytes(size)


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [
        (0, "0 bytes"),
        (1023, "1023 bytes"),
        (1024, "1 KiB"),
        (21175992320, "19.7 GiB"),
        (42949672960, "40 GiB"),
    ],
)
def test_sizes_for_people(size_bytes: int, text: str) -> None:
    assert sizes.to_text(size_bytes) == text


@given(st.integers(min_value=0, max_value=2**60))
def test_a_shown_size_is_read_back_to_within_its_digits(size_bytes: int) -> None:
    text = sizes.to_text(size_bytes)
    number, unit = text.split()
    if unit == "bytes":
        assert int(number) == size_bytes
    else:
        assert (
            abs(sizes.to_bytes(f"{number}{unit}".replace(" ", "")) - size_bytes)
            <= size_bytes * 0.05 + 1
        )
