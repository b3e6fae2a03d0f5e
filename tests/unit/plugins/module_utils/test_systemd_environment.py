# SPDX-License-Identifier: Apache-2.0
"""Variables of a service: refused where they can't be written, otherwise quoted so that they arrive as they were."""

from __future__ import annotations

import shlex

import pytest
from ansible_collections.kvcache.ascend.plugins.module_utils import systemd_environment
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("A B", "1", "'A B' is no name of a variable"),
        ("", "1", "an empty text is no name of a variable"),
        (True, "1", "true is no name of a variable"),
        ("KVCACHE_CONFIG", "1", "is set by the role itself"),
        ("A", "1\nKVCACHE_CONFIG=2", "A is a text, expected a text of one line, or a number"),
    ],
)
def test_what_can_not_be_written_is_named(name: str, value: str, words: str) -> None:
    (message,) = systemd_environment.problems({name: value}, ["KVCACHE_CONFIG"])
    assert words in message
    assert "Fix:" in message


def test_lines_are_sorted_and_quoted() -> None:
    environment = {"B": 'say "hi"', "A": "C:\\", "N": 1}
    assert systemd_environment.problems(environment, []) == []
    assert systemd_environment.lines(environment) == ['A="C:\\\\"', 'B="say \\"hi\\""', 'N="1"']


@given(st.text(st.characters(exclude_characters="\n\r\0$`", exclude_categories=["Cs"])))
def test_a_quoted_value_is_read_back_as_it_was(value: str) -> None:
    """Quotes and backslashes inside double quotes mean the same to systemd and to a POSIX shell."""
    (line,) = systemd_environment.lines({"A": value})
    assert shlex.split(line) == [f"A={value}"]
