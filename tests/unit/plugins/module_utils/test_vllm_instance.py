# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.kvcache.ascend.plugins.module_utils.vllm_instance import (
    InstanceError,
    item_problems,
    read_all,
)

LEAST = {"name": "a", "model": "/models/m"}


def test_name_and_model_are_enough() -> None:
    (made,) = read_all([LEAST])
    assert (made.port, made.host, made.tensor_parallel_size, made.pool) == (
        8000,
        "0.0.0.0",
        1,
        True,
    )
    assert made.pool_bytes == 5 * 1024**3


def test_texts_from_the_command_line_are_numbers_too() -> None:
    (made,) = read_all([{**LEAST, "port": "8100", "devices": ["0", "1"], "env": {"A": 1}}])
    assert (made.port, made.devices, made.env) == (8100, [0, 1], {"A": "1"})


def test_common_options_are_those_of_every_instance_and_its_own_win() -> None:
    first, second = read_all(
        [{**LEAST, "options": {"max_model_len": 1}}, {**LEAST, "name": "b", "port": 8001}],
        {"max-model-len": 9, "--dtype": "bfloat16"},
    )
    assert first.options == {"max-model-len": 1, "dtype": "bfloat16"}
    assert second.options == {"max-model-len": 9, "dtype": "bfloat16"}


def test_each_instance_has_a_lookup_socket_of_its_own() -> None:
    assert [made.rpc_port for made in read_all([LEAST, {**LEAST, "name": "b", "port": 8001}])] == [
        0,
        1,
    ]


@pytest.mark.parametrize(
    ("given", "ranks"),
    [
        ({}, 1),
        ({"devices": [0, 1, 2, 3]}, 4),
        (
            {
                "devices": [0, 1, 2, 3],
                "options": {"tensor_parallel_size": 2, "data-parallel-size": 2},
            },
            4,
        ),
    ],
)
def test_every_rank_takes_a_segment_and_a_buffer(given: dict[str, Any], ranks: int) -> None:
    (made,) = read_all([{**LEAST, "segment_size": "40GiB", "buffer_size": "2GiB", **given}])
    assert made.ranks == ranks
    assert made.pool_bytes == ranks * 42 * 1024**3


def test_outside_of_the_pool_it_takes_no_memory_of_it() -> None:
    (made,) = read_all([{**LEAST, "pool": False, "segment_size": "40GiB"}])
    assert made.pool_bytes == 0


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (None, "vllm_instances[0] is empty, expected a dict with name and model"),
        ("a", "vllm_instances[0] is 'a', expected a dict"),
        ({"name": "a"}, "vllm_instances[0] (a): model is missing"),
        (
            {**LEAST, "name": "A b"},
            "vllm_instances[0]: name is 'A b', expected up to 32 small letters",
        ),
        ({**LEAST, "ports": 1}, "unknown key ports: known are buffer_size, devices"),
        (
            {**LEAST, "port": 80},
            "vllm_instances[0] (a): port is 80, expected a whole number from 1024 to 65535",
        ),
        ({**LEAST, "port": "8000x"}, "port is '8000x', expected a whole number"),
        ({**LEAST, "port": True}, "port is true, expected a whole number"),
        ({**LEAST, "rpc_port": -1}, "rpc_port is -1, expected a whole number from 0"),
        (
            {**LEAST, "devices": "0,1"},
            "devices is '0,1', expected a list of NPU numbers, such as [0, 1]",
        ),
        ({**LEAST, "devices": [0, "0"]}, "names one NPU twice"),
        ({**LEAST, "segment_size": "40G"}, "segment_size is '40G', expected a size"),
        (
            {**LEAST, "segment_size": 1},
            "segment_size 1 is 1 bytes: write 0, or at least 16 MiB with its unit, such as 40GiB",
        ),
        ({**LEAST, "segment_size": "15.9MiB"}, "write 0, or at least 16 MiB with its unit"),
        (
            {**LEAST, "mooncake": {"global_segment_size": 40}},
            "mooncake: global_segment_size 40 is 40 bytes: write 0, or at least 16 MiB",
        ),
        ({**LEAST, "buffer_size": 1000}, "buffer_size 1000 is 1000 bytes: write at least 1 MiB"),
        (
            {**LEAST, "kv_role": "both"},
            "kv_role is 'both', expected one of kv_both, kv_producer, kv_consumer",
        ),
        ({**LEAST, "on_lost_block": "x"}, "on_lost_block is 'x', expected one of recompute, fail"),
        ({**LEAST, "pool": "yes"}, "pool is 'yes', expected true or false, without quotes"),
        ({**LEAST, "options": ["x"]}, "options is a list (['x']), expected a dict"),
        ({**LEAST, "options": {"--port": 1}}, "options: --port is set by port: write it there"),
        ({**LEAST, "options": {"api_key": "s"}}, "options: api_key is set by vllm_secrets"),
        ({**LEAST, "extra_config": {"lookup_rpc_port": 1}}, "lookup_rpc_port is set by rpc_port"),
        ({**LEAST, "env": {"A-B": 1}}, "env: 'A-B' is no name of a variable"),
    ],
)
def test_a_wrong_description_is_named_with_its_place(item: Any, message: str) -> None:
    with pytest.raises(InstanceError) as raised:
        read_all([item])
    assert message in str(raised.value)


def test_all_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(InstanceError) as raised:
        read_all([{"name": "a", "port": 1}, {**LEAST, "segment_size": "x"}])
    assert str(raised.value).count("; ") == 2


@pytest.mark.parametrize("described", [{}, "x", None])
def test_instances_are_a_list(described: Any) -> None:
    with pytest.raises(InstanceError, match=r"vllm_instances is .*, expected a list of instances"):
        read_all(described)


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ({}, {"port": 8001}, "two instances are named a"),
        ({}, {"name": "b"}, "a and b both have port 8000"),
        ({"rpc_port": 5}, {"name": "b", "port": 1025, "rpc_port": 5}, "both have rpc_port 5"),
        ({"devices": [0, 1]}, {"name": "b", "port": 1025, "devices": [1, 2]}, "both claim NPU 1"),
    ],
)
def test_what_two_instances_of_a_host_cannot_share(
    first: dict[str, Any], second: dict[str, Any], message: str
) -> None:
    with pytest.raises(InstanceError) as raised:
        read_all([{**LEAST, **first}, {**LEAST, **second}])
    assert message in str(raised.value)


def test_something_else_that_is_wrong_hides_no_clash() -> None:
    with pytest.raises(InstanceError) as told:
        read_all(
            [
                {"name": "a", "port": 8000, "devices": [1]},
                {**LEAST, "name": "b", "devices": [1]},
                {"name": "c", "model": "/m", "port": "x"},
            ]
        )
    for words in (
        "vllm_instances[0] (a): model is missing",
        "both have port 8000",
        "both claim NPU 1",
        "vllm_instances[2] (c): port is 'x', expected",
    ):
        assert words in str(told.value)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"model": 7}, "model is 7, expected the path"),
        (
            {"segment_size": 4},
            "segment_size 4 is 4 bytes: write 0, or at least 16 MiB with its unit",
        ),
    ],
)
def test_what_can_hardly_be_meant(given: dict[str, Any], words: str) -> None:
    with pytest.raises(InstanceError) as told:
        read_all([{**LEAST, **given}])
    assert words in str(told.value)


@pytest.mark.parametrize(
    ("given", "model"),
    [("/models/m/", "/models/m"), ("/models/m//", "/models/m"), ("org/m/", "org/m"), ("/", "/")],
)
def test_a_slash_at_the_end_makes_no_other_model(given: str, model: str) -> None:
    (made,) = read_all([{**LEAST, "model": given}])
    assert made.model == model


def test_a_name_of_digits_is_a_name() -> None:
    (made,) = read_all([{**LEAST, "name": 7, "served_name": 72}])
    assert (made.name, made.served_name) == ("7", "72")


def test_a_key_that_is_no_name_is_told_in_one_line() -> None:
    found = item_problems({**LEAST, "mooncake": {"\n": {False: 1}}})
    assert found == [
        "mooncake: the name '\\n' is a text, expected a name without blanks (YAML reads on, off, yes and no as "
        "truth values: write them in quotes)"
    ]
