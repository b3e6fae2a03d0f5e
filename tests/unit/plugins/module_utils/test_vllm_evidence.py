# SPDX-License-Identifier: Apache-2.0
"""Where the tokens of a prompt came from, out of metrics and, for the release that has none, out of the log."""

from __future__ import annotations

import pytest
from ansible_collections.kvcache.ascend.plugins.filter.release import load_tables
from ansible_collections.kvcache.ascend.plugins.module_utils import vllm_evidence
from ansible_collections.kvcache.ascend.plugins.module_utils.prometheus_text import parse

CONNECTORS = load_tables()["connectors"]

LOG = """
INFO Reqid: cmpl-aa-0, Total tokens 1031, mooncake hit tokens: 1024, need to load: 1024
INFO Reqid: cmpl-bb-0, Total tokens 1031, mooncake hit tokens: 0, need to load: 0
INFO Reqid: cmpl-cc-0, Total tokens 1031, mooncake hit tokens: 1024, need to load: -1
"""


@pytest.mark.parametrize(
    ("request_id", "tokens"),
    [("cmpl-aa", 1024), ("cmpl-bb", 0), ("cmpl-cc", 0), ("cmpl-dd", None)],
)
def test_the_log_tells_of_one_request(request_id: str, tokens: int | None) -> None:
    pattern = CONNECTORS["0.11"]["hit_log"]["pattern"]
    assert vllm_evidence.pool_tokens_in_log(LOG, pattern, request_id) == tokens


def test_counters_of_all_engines_are_one() -> None:
    text = "".join(
        f'vllm:prompt_tokens_total{{engine="{engine}"}} {tokens}\n'
        for engine, tokens in ((0, 5), (1, 7))
    )
    counted = vllm_evidence.counters(parse(text), CONNECTORS["0.13"]["metrics"])
    assert counted["prompt_tokens"] == 12
    assert counted["external_hits"] is None


def test_a_counter_that_comes_with_the_first_request_began_at_zero() -> None:
    before = {"prompt_tokens": None, "local_hits": None, "external_hits": None}
    after = {"prompt_tokens": 10, "local_hits": 2, "external_hits": 3}
    assert vllm_evidence.tokens_by_source(before, after) == {
        "prompt": 10,
        "computed": 5,
        "local": 2,
        "pool": 3,
    }


@pytest.mark.parametrize(
    ("tokens", "block", "whole"),
    [(1031, 128, 1024), (1024, 128, 896), (1025, 128, 1024), (99, 128, 0), (10, None, None)],
)
def test_only_whole_blocks_are_kept_and_the_last_token_is_computed(
    tokens: int, block: int | None, whole: int | None
) -> None:
    assert vllm_evidence.whole_blocks(tokens, block) == whole
