# SPDX-License-Identifier: Apache-2.0
"""Which instances load each other's blocks, and whether they may; the messages themselves: test_preflight."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.kvcache.ascend.plugins.filter.release import release_spec
from ansible_collections.kvcache.ascend.plugins.module_utils.preflight_model import Host
from ansible_collections.kvcache.ascend.plugins.module_utils.preflight_pool_keys import (
    check_pool_keys,
)

ONE = {"name": "a", "model": "/models/q", "devices": [0]}
TWO = {**ONE, "devices": [0, 1]}


def found(release: str, first: dict[str, Any], *others: dict[str, Any]) -> list[tuple[str, str]]:
    """Severity and host of each finding; the first instance is on three hosts, and thus the usual one."""
    described = [first, first, first, *others]
    hosts = [
        Host(
            f"h{number}",
            ["vllm"],
            {"vllm_instances": [instance]},
            spec=release_spec(release, []),
        )
        for number, instance in enumerate(described, 1)
    ]
    return [(each["severity"], each["host"]) for each in check_pool_keys(hosts)]


@pytest.mark.parametrize("release", ["0.13.0", "0.18.0", "0.23.0"])
def test_instances_of_other_ranks_have_the_same_keys_and_other_blocks(release: str) -> None:
    assert found(release, ONE, TWO, ONE) == [("error", "h4")]


def test_where_the_number_of_ranks_is_in_the_keys_they_share_nothing() -> None:
    assert found("0.11.0", ONE, TWO) == []


@pytest.mark.parametrize(
    ("release", "model", "severities"),
    [
        ("0.23.0", "/other/q", ["warning"]),
        ("0.23.0", "/models/q/", []),
        ("0.23.0", "/models/q2", []),
        # Another path is another model, to its keys.
        ("0.11.0", "/other/q", []),
    ],
)
def test_models_that_the_keys_can_not_tell_apart(
    release: str, model: str, severities: list[str]
) -> None:
    seen = found(release, ONE, {**ONE, "model": model})
    assert [severity for severity, _host in seen] == severities


def test_types_are_compared_where_both_are_told() -> None:
    def typed(**options: Any) -> dict[str, Any]:
        return {**ONE, "options": options}

    assert found("0.11.0", typed(dtype="bfloat16"), typed(dtype="float16")) == [("error", "h4")]
    assert found("0.23.0", typed(dtype="bfloat16"), typed()) == []
    auto, int8 = typed(kv_cache_dtype="auto"), typed(**{"kv-cache-dtype": "int8"})
    assert found("0.23.0", auto, int8) == [("error", "h4")]


def test_layers_that_are_spread_over_ranks_make_other_blocks() -> None:
    whole = {"name": "a", "model": "/models/q"}
    halves = {**whole, "options": {"tensor-parallel-size": 1, "pipeline-parallel-size": 2}}
    assert found("cpu", whole, halves) == [("error", "h4")]


@pytest.mark.parametrize(
    "apart",
    [
        {"pool": False},
        {"kv_role": "kv_consumer"},
        {"model": "/models/q-tp2"},
        # A number of devices that does not fit is a finding of another check.
        {"options": {"tensor-parallel-size": 4}},
    ],
)
def test_who_does_not_load_from_the_others_may_be_as_it_likes(apart: dict[str, Any]) -> None:
    assert found("0.23.0", ONE, {**TWO, **apart}) == []


@pytest.mark.parametrize(
    ("extra_config", "count"),
    [
        ({}, 1),
        ({"cache_prefix": "own"}, 0),
        ({"store_tp_size": 2}, 0),
        ({"enable_store_tp_lcm": True}, 0),
    ],
)
def test_vllms_own_connector_can_be_told_to_keep_them_apart(
    extra_config: dict[str, Any], count: int
) -> None:
    other = {"name": "b", "model": "/models/q", "extra_config": extra_config}
    wide = {**other, "options": {"tensor-parallel-size": 2}}
    assert len(found("cpu", {"name": "a", "model": "/models/q"}, wide)) == count
