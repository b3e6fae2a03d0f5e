# SPDX-License-Identifier: Apache-2.0
"""Why an instance does not serve, out of what vLLM and systemd write."""

from __future__ import annotations

import pytest
from ansible_collections.kvcache.ascend.plugins.module_utils import vllm_journal

START = "Starting vllm@a.service - vLLM instance a...\nStarted vllm@a.service - vLLM instance a.\n"
EMPTY = (
    "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}"
)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            "vllm: error: unrecognized arguments: --max-model-lem 4",
            "does not know --max-model-lem 4",
        ),
        ("RuntimeError: Initialize MooncakeDistributedStore failed.", "could not join the pool"),
        (
            "ImportError: libatb.so: cannot open shared object file: No such file",
            "the library libatb.so",
        ),
        (
            "ValueError: Free memory on device (1.2/61 GiB) on startup is less than desired GPU memory",
            "too little free memory (1.2/61 GiB)",
        ),
        ("OSError: [Errno 98] Address already in use", "another process has its port"),
        ("PermissionError: [Errno 13] Permission denied: '/models/x'", "may not use /models/x"),
        (
            "huggingface_hub.errors.HFValidationError: Repo id must be in the form 'a/b': '/none'",
            "does not find the model",
        ),
        ("vllm@a.service: Main process exited, code=killed, status=9/KILL", "it was killed"),
        ("vllm@a.service: Failed at step EXEC\nstatus=203/EXEC", "systemd can't execute vLLM"),
        ("ModuleNotFoundError: No module named 'acl'", "lacks the Python module acl"),
    ],
)
def test_a_known_cause_is_told_with_its_fix_whatever_follows_it(line: str, words: str) -> None:
    told = vllm_journal.explain(f"{START}INFO loading\n{line}\n{EMPTY}\n")
    assert words in told
    assert ". Fix: " in told


def test_an_unknown_error_is_quoted_and_the_empty_words_are_not() -> None:
    told = vllm_journal.explain(f"AssertionError: heads must divide\n{EMPTY}")
    assert told.startswith('its journal says "AssertionError: heads must divide"')
    assert "tells no cause" in vllm_journal.explain(EMPTY)
    assert "is empty" in vllm_journal.explain("")


def test_what_was_before_the_last_lives_is_past() -> None:
    old = f"{START}vllm: error: unrecognized arguments: --x\n"
    new = f"{START}OSError: Address already in use\n{START}"
    assert "has its port" in vllm_journal.explain(old + new)
