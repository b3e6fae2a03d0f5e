# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import base64

import pytest
from ansible_collections.kvcache.ascend.plugins.module_utils import evaluate_files

ABSENT = {"failed": True, "msg": "file not found: /m/config.json"}


def answer(content: bytes) -> dict[str, str]:
    return {"content": base64.b64encode(content).decode()}


@pytest.mark.parametrize("read", [ABSENT, answer(b'{"hidden_size": 8}')])
def test_a_config_that_is_there_or_not_is_no_problem(read: dict) -> None:
    assert evaluate_files.config_problem(read, "npu-1", "/m/config.json") == ""


@pytest.mark.parametrize("read", [ABSENT, answer(b""), answer(b'{"key": "k"}\n{"half')])
def test_results_may_be_absent_and_unfinished(read: dict) -> None:
    assert evaluate_files.results_problem(read, "npu-1", "/r") == ""


@pytest.mark.parametrize(
    ("read", "wrong"),
    [
        (answer(b""), "it is no JSON (Expecting value: line 1 column 1 (char 0))"),
        (answer(b'{"a": 1'), "it is no JSON (Expecting ',' delimiter: line 1 column 8 (char 7))"),
        (answer(b"[]"), "it holds no JSON object"),
        (answer(b'{"a": "\xe4"}'), "byte 7 is no UTF-8"),
        ({"msg": "file is not readable: /m/config.json."}, "file is not readable: /m/config.json"),
        ({}, "no answer"),
    ],
)
def test_each_other_answer_is_told_in_one_line(read: dict, wrong: str) -> None:
    assert evaluate_files.config_problem(read, "npu-1", "/m/config.json") == (
        f"npu-1: /m/config.json: {wrong}. "
        "Fix: bring the model's own, or move it away: there is then no prediction."
    )


def test_results_in_another_encoding_are_told() -> None:
    told = evaluate_files.results_problem(answer(b"{}\n\xff"), "npu-1", "/r/results.jsonl")
    assert told.startswith("npu-1: /r/results.jsonl: byte 3 is no UTF-8. Fix: correct it there, or")
