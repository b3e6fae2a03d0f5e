# SPDX-License-Identifier: Apache-2.0
"""What of a failed result is printed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from ansible_collections.kvcache.ascend.plugins.module_utils import failure_lines
from hypothesis import given
from hypothesis import strategies as st


def chain(*messages: str) -> Any:
    """An error as Ansible keeps it: what failed, and its cause, and the cause of that."""
    event = None
    for message in reversed(messages):
        event = SimpleNamespace(msg=message, chain=event and SimpleNamespace(event=event))
    return SimpleNamespace(event=event)


def test_long_lines_are_broken_and_their_indentation_is_kept() -> None:
    text = failure_lines.message({"msg": "wrong " * 30 + "\n  Fix: " + "mend " * 30 + "\n"})
    lines = text.splitlines()
    assert len(lines) == 4
    assert max(map(len, lines)) <= 100
    assert [len(line) - len(line.lstrip()) for line in lines] == [4, 6, 6, 6]


def test_what_ansible_puts_before_a_message_is_left_out() -> None:
    assert (
        failure_lines.message({"msg": "Task failed: Failed to connect"}).strip()
        == "Failed to connect"
    )


@given(st.text(alphabet="ab \n"))
def test_no_word_is_lost(text: str) -> None:
    assert failure_lines.message({"msg": text}).split() == text.split()


def test_what_explains_the_message_is_kept_and_the_rest_is_not() -> None:
    result = {
        "msg": "non-zero return code",
        "rc": 3,
        "cmd": ["sh"],
        "stderr": "reason",
        "stdout": "",
        "stderr_lines": ["reason"],
        "changed": False,
        "masters": [{"role": None}],
        "invocation": {},
        "state": None,
        "_ansible_no_log": False,
    }
    assert failure_lines.rest(result) == {"rc": 3, "cmd": ["sh"], "stderr": "reason"}


def test_a_result_without_words_is_left_to_ansible() -> None:
    assert not failure_lines.has_message({"msg": ""})
    assert not failure_lines.has_message({"rc": 1})
    assert not failure_lines.has_message({"msg": "One or more items failed", "results": []})
    assert failure_lines.has_message({"msg": "wrong"})


def test_an_error_with_a_deeper_cause_is_not_told_by_its_message() -> None:
    assert failure_lines.is_told(chain("Task failed.", "Action failed.", "wrong"), "wrong")
    assert not failure_lines.is_told(chain("Task failed.", "wrong", "since that"), "wrong")
    assert not failure_lines.is_told(None, "wrong")
