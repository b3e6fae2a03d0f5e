# SPDX-License-Identifier: Apache-2.0
"""What the end of a master's journal says of its cause, in the words of real masters, the linker and systemd."""

from __future__ import annotations

import pytest
from ansible_collections.kvcache.ascend.plugins.module_utils import mooncake_master_journal


@pytest.mark.parametrize(
    ("journal", "words"),
    [
        ("ERROR: unknown command line flag 'no_such_flag'", "does not know the flag no_such_flag"),
        (
            "mooncake_master: error while loading shared libraries: libibverbs.so.1: cannot open",
            "does not find the library libibverbs.so.1",
        ),
        (
            "E1130 Failed to start master admin server on 0.0.0.0:10022: Address already in use",
            "another process took its port",
        ),
        ("bind error: Cannot assign requested address", "mooncake_master_bind_address"),
        ("Main process exited, code=exited, status=203/EXEC", "systemd can't execute it"),
        ("Eviction ratio must be between 0.0 and 1.0", "refuses a setting"),
        ("first\nlast words\n\n", "the last line of its journal is: last words"),
        ("", "its journal is empty"),
    ],
)
def test_cause_and_fix(journal: str, words: str) -> None:
    text = mooncake_master_journal.explain(journal)
    assert words in text
    assert "Fix: " in text


def test_the_latest_cause_counts() -> None:
    journal = "ERROR: unknown command line flag 'old'\nbind: Address already in use\n"
    assert "took its port" in mooncake_master_journal.explain(journal)
