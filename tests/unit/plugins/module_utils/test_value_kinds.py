# SPDX-License-Identifier: Apache-2.0
"""Whatever JSON holds, for whatever variable: one clear line for each mistake, and never anything but that."""

from __future__ import annotations

import datetime
import json
from typing import Any

import pytest
import yaml
from ansible_collections.kvcache.ascend.plugins.filter.release import load_tables
from ansible_collections.kvcache.ascend.plugins.module_utils import (
    evaluate_input,
    python_stack_plan,
    store_node,
    systemd_environment,
    value_kinds,
    vllm_instance,
    vllm_plan,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from store_nodes import GOOD

CONNECTORS = load_tables()["connectors"]
SECRET = "S3cret-of-mine"
INSTANCE = {"name": "a", "model": "/models/m", "devices": [0]}
COMMON: dict[str, Any] = {
    "connector": CONNECTORS["0.23"],
    "platform": "npu",
    "options": {},
    "environment": {},
    "secrets": {},
    "variables": {},
    "hash_seed": "0",
    "series": "A2",
    "master_address": "192.0.2.11:50088",
    "folder": "/etc/kvcache/instances",
    "host": "npu-1",
    "cann": {},
    "mooncake": "/opt/kvcache/mooncake/current",
    "inputs": [],
}

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from(["0", "8100", "true", "4GiB", "9" * 5000, "1e9999", 1 << 300, "a\nb", "/m/"])
)
KEYS = st.text() | st.sampled_from(
    ["tensor-parallel-size", "data_parallel_size", "local_buffer_size", "load_async", "A", "--"]
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)
# What YAML makes of on, no, 7 and 2024-01-01 as keys and values.
YAML = JSON | st.dictionaries(
    st.booleans() | st.integers(), JSON | st.just(datetime.date(2024, 1, 1)), max_size=2
)


def plan(described: Any, **common: Any) -> dict[str, Any]:
    """The plan; each of its problems is a line with a fix, and without any its files can be written."""
    made = vllm_plan.make(described, {**COMMON, **common})
    for problem in made["problems"]:
        assert "\n" not in problem
        assert " Fix: " in problem
    if not made["problems"]:
        for each in made["instances"]:
            json.dumps(each["mooncake_json"], allow_nan=False)
            yaml.safe_dump(each["vllm_yaml"])
            systemd_environment.lines(each["environment"])
    return made


@given(value=YAML)
def test_the_instances_may_be_anything(value: Any) -> None:
    plan(value)
    plan([value])
    python_stack_plan.instance_problem(value, "cpu")
    python_stack_plan.instance_problem([value], "cpu")


@pytest.mark.parametrize("key", [*vllm_instance.KINDS, "colour"])
@settings(max_examples=60)
@given(value=YAML)
def test_each_key_of_an_instance_may_be_anything(key: str, value: Any) -> None:
    told = plan([{**INSTANCE, key: value}])["problems"]
    if key in vllm_instance.KINDS and not vllm_instance.KINDS[key].accepts(value):
        assert any(f": {key} is " in each for each in told)


@pytest.mark.parametrize("key", ["options", "extra_config", "mooncake", "env"])
@settings(max_examples=60)
@given(inner=KEYS, value=YAML)
def test_each_value_in_a_dict_of_an_instance_may_be_anything(
    key: str, inner: str, value: Any
) -> None:
    plan([{**INSTANCE, key: {inner: value}}])


@pytest.mark.parametrize("family", sorted(CONNECTORS))
@settings(max_examples=40)
@given(value=YAML)
def test_each_key_that_a_release_reads_may_be_anything(family: str, value: Any) -> None:
    connector = CONNECTORS[family]
    for field, where in (("mooncake", "config"), ("extra_config", "extra_config")):
        for key in connector[where]:
            plan([{**INSTANCE, field: {key["name"]: value}}], connector=connector)


@pytest.mark.parametrize("name", ["options", "environment", "secrets"])
@settings(max_examples=60)
@given(value=YAML)
def test_what_instances_have_in_common_may_be_anything(name: str, value: Any) -> None:
    plan([INSTANCE], **{name: value})
    plan([INSTANCE], **{name: {"A": value}})


@pytest.mark.parametrize("name", sorted(vllm_plan.VARIABLES))
@given(value=YAML)
def test_the_other_variables_may_be_anything(name: str, value: Any) -> None:
    told = plan([INSTANCE], variables={name: value})["problems"]
    assert bool(told) != vllm_plan.VARIABLES[name].accepts(value)


@pytest.mark.parametrize(
    "name", ["address", "port", "segment_size", "flags", "user", "environment", "root", "wait_seconds"]
)  # fmt: skip
@given(value=YAML)
def test_a_variable_of_a_store_node_may_be_anything(name: str, value: Any) -> None:
    for changed in (value, {"threads": value}):
        found = store_node.problems({**GOOD, name: changed})
        assert all("Fix: " in each for each in found)
        if not found:
            store_node.arguments({**GOOD, name: changed})
            systemd_environment.lines({**GOOD, name: changed}["environment"])


@given(value=YAML)
def test_an_evaluation_tells_what_is_wrong_with_the_instances(value: Any) -> None:
    asked: dict[str, Any] = {
        **dict.fromkeys(evaluate_input.LEAST, 2),
        "documents": [1],
        "start": "auto",
        "instance": "",
        "host": "npu-1",
        "options": {},
        "variants": [{"name": "x", "instance": value}],
    }
    evaluate_input.problems({**asked, "instances": [INSTANCE]})
    assert evaluate_input.problems({**asked, "instances": {"a": value}})
    evaluate_input.problems({**asked, "instances": [value], "variants": []})
    for variants in (value, [value], [{"name": value, "instance": {"pool": False}}]):
        told = evaluate_input.problems({**asked, "instances": [INSTANCE], "variants": variants})
        assert all("Fix: " in each and "\n" not in each for each in told)


@settings(max_examples=60)
@given(value=st.sampled_from([[SECRET], {"x": SECRET}, f"{SECRET}\n", {SECRET: [1]}]))
def test_no_message_repeats_a_secret(value: Any) -> None:
    for common in ({"secrets": {"HF_TOKEN": value}}, {"secrets": [value]}):
        told = plan([INSTANCE], **common)["problems"]
        assert told
        assert SECRET not in str(told)
    wrong = {**INSTANCE, "env": {"HF_TOKEN": value}, "options": {"hub-token": datetime.date.max}}
    assert SECRET not in str(plan([wrong])["problems"])


def test_all_that_is_wrong_is_told_at_once() -> None:
    told = plan(
        [{**INSTANCE, "port": "x", "pool": 1, "env": [1]}, 7, {**INSTANCE, "name": "b", "devices": [1]}],
        options={"tensor-parallel-size": "two"},
        environment=3,
        secrets="x",
        variables={"vllm_writable_paths": "/srv", "vllm_hash_seed": "random"},
    )  # fmt: skip
    assert told["instances"] == []
    assert told["problems"] == [
        f"{each}. Fix: correct it."
        for each in (
            "vllm_environment is 3, expected a dict",
            "vllm_secrets is a text, expected a dict",
            "vllm_writable_paths is '/srv', expected a list of absolute paths without blanks, quotes, $, %, : and ;",
            "vllm_hash_seed is 'random', expected a whole number from 0 to 4294967295",
            "vllm_options: tensor-parallel-size is 'two', expected a whole number from 1 to 1024",
            "vllm_instances[0] (a): port is 'x', expected a whole number from 1024 to 65535",
            "vllm_instances[0] (a): pool is 1, expected true or false, without quotes",
            "vllm_instances[0] (a): env is a list ([1]), expected a dict",
            "vllm_instances[1] is 7, expected a dict with name and model",
        )
    ]


def test_texts_of_the_command_line_and_of_surveys_are_what_they_say() -> None:
    (made,) = plan(
        [
            {
                **INSTANCE,
                "port": "8100",
                "rpc_port": "3",
                "devices": ["0", "1"],
                "segment_size": "4294967296",
                "options": {"tensor-parallel-size": "2", "data-parallel-size": None},
                "extra_config": {"load_async": "false"},
                "mooncake": {"use_ascend_direct": "true", "local_buffer_size": "1GiB"},
                "env": {"A": 1},
            }
        ],
        variables={"vllm_stop_seconds": "60", "vllm_hash_seed": "7"},
    )["instances"]
    assert (made["port"], made["devices"], made["environment"]["A"]) == (8100, [0, 1], "1")
    assert (
        json.loads(made["vllm_yaml"]["kv-transfer-config"])["kv_connector_extra_config"][
            "load_async"
        ]
        is False
    )
    assert made["mooncake_json"]["local_buffer_size"] in (1 << 30, "1GB")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "empty"),
        ("", "an empty text"),
        ("8000x", "'8000x'"),
        (True, "true"),
        (1.5, "1.5"),
        (1 << 300, "a very large number"),
        ([1], "a list ([1])"),
        ({"a": 1}, "a dict ({'a': 1})"),
        ("x" * 99, f"'{'x' * 59}…"),
        (datetime.date(2024, 1, 1), "a date (datetime.date(2024, 1, 1))"),
    ],
)
def test_a_value_is_shown_as_far_as_a_line_has_room(value: Any, words: str) -> None:
    assert value_kinds.given(value) == words


def test_names_that_yaml_reads_as_something_else_are_told() -> None:
    (told,) = value_kinds.key_problems("options", {True: 1, "a": 2})
    assert told.startswith("options: the name true is a truth value, expected a name")


def test_an_option_that_is_given_in_two_spellings_is_told() -> None:
    (told,) = plan([{**INSTANCE, "options": {"max_model_len": 1, "max-model-len": 2}}])["problems"]
    assert "options: max_model_len and max-model-len are the same option" in told
    (told,) = plan([INSTANCE], options={"port": 1})["problems"]
    assert "vllm_options: port is set by port: write it there" in told
