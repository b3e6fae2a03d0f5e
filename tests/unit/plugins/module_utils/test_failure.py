# SPDX-License-Identifier: Apache-2.0
"""The text of failed tasks, in the shapes that results have."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.kvcache.ascend.plugins.module_utils import failure, pip_errors


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ({"msg": "it broke"}, "it broke"),
        ({"msg": "Task failed: Module failed: it broke"}, "it broke"),
        ({"module_stderr": "Killed"}, "Killed"),
        ({}, "no message"),
        (
            {"msg": "non-zero return code", "rc": 2, "stderr": "a\nE: bad\n", "stdout": ""},
            "E: bad (exit status 2)",
        ),
        (
            {
                "msg": "One or more items failed",
                "results": [
                    {"item": "a", "changed": True},
                    {"item": "b", "failed": True, "msg": "no space"},
                    {"item": "c", "failed": True, "msg": "later"},
                ],
            },
            "b: no space",
        ),
    ],
)
def test_the_message_of_a_failed_task(result: dict[str, Any], text: str) -> None:
    assert failure.text(result) == text


def test_an_installation_is_explained_whether_a_command_or_a_module_failed() -> None:
    full = "the disk is full. Fix: free space below /r (df -h /r; df -i /r shows the inodes), then run again."
    command = {
        "msg": "non-zero return code",
        "stdout": "",
        "stderr": "OSError: No space left on device",
    }
    looped = {
        "results": [{"item": "x", "failed": True, "msg": "[Errno 28] No space left on device"}]
    }
    assert pip_errors.explain_failure(command, "/r") == full
    assert pip_errors.explain_failure(looped, "/r") == full
    assert pip_errors.explain_failure({"msg": "it broke"}, "/r") == "it broke"
