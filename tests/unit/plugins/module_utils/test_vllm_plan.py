# SPDX-License-Identifier: Apache-2.0
"""What the instances of a host are made of, and what a run does with their services."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.kvcache.ascend.plugins.filter.release import load_tables
from ansible_collections.kvcache.ascend.plugins.module_utils import vllm_plan, vllm_service

CONNECTORS = load_tables()["connectors"]
ONE = {"name": "a", "model": "/models/qwen", "devices": [0], "port": 8100}


def settings(**changes: Any) -> dict[str, Any]:
    return {
        "connector": CONNECTORS["0.23"],
        "platform": "npu",
        "options": {},
        "environment": {},
        "secrets": {},
        "hash_seed": "0",
        "series": "A2",
        "master_address": "192.0.2.11:50088",
        "folder": "/etc/kvcache/instances",
        "host": "npu-1",
        "cann": {
            "LD_LIBRARY_PATH": "/cann/lib64",
            "PYTHONPATH": "/cann/python",
            "PATH": "/cann/bin",
        },
        "mooncake": "/opt/kvcache/mooncake/current",
        "inputs": ["unit", "stack", "mooncake", "secrets"],
        **changes,
    }


def only(described: dict[str, Any], **changes: Any) -> dict[str, Any]:
    plan = vllm_plan.make([described], settings(**changes))
    assert plan["problems"] == []
    (made,) = plan["instances"]
    return dict(made)


def test_an_instance_has_the_environment_of_cann_and_finds_mooncake_first() -> None:
    made = only({**ONE, "env": {"LD_LIBRARY_PATH": "/mine"}})["environment"]
    assert made["LD_LIBRARY_PATH"] == "/mine:/cann/lib64:/opt/kvcache/mooncake/current/lib"
    assert made["PYTHONPATH"] == "/opt/kvcache/mooncake/current/python:/cann/python"
    assert made["PATH"] == "/cann/bin"
    assert made["ASCEND_PROCESS_LOG_PATH"] == "/var/log/vllm/a/ascend"
    assert made["ASCEND_RT_VISIBLE_DEVICES"] == "0"
    assert made["MOONCAKE_CONFIG_PATH"] == "/etc/kvcache/instances/a/mooncake.json"


def test_only_a_model_in_a_folder_keeps_the_instance_from_the_internet() -> None:
    assert only(ONE)["environment"]["HF_HUB_OFFLINE"] == "1"
    assert "HF_HUB_OFFLINE" not in only({**ONE, "model": "org/qwen"})["environment"]


def test_a_variable_for_all_instances_gives_way_to_that_of_one() -> None:
    made = only({**ONE, "env": {"X": 2}}, environment={"X": 1, "Y": 1})["environment"]
    assert (made["X"], made["Y"]) == ("2", "1")


@pytest.mark.parametrize(
    "change",
    [
        {"options": {"max-model-len": 4096}},
        {"environment": {"X": "1"}},
        {"hash_seed": "7"},
        {"master_address": "192.0.2.12:50088"},
        {"cann": {"LD_LIBRARY_PATH": "/cann-9"}},
        {"inputs": ["unit", "other stack", "mooncake", "secrets"]},
    ],
)
def test_whatever_a_process_reads_is_in_its_digest(change: dict[str, Any]) -> None:
    assert only(ONE)["config"] == only(ONE)["environment"][vllm_plan.CONFIG]
    assert only(ONE, **change)["config"] != only(ONE)["config"]


def test_a_neighbour_does_not_change_the_digest() -> None:
    other = {**ONE, "name": "b", "port": 8101, "devices": [1]}
    both = vllm_plan.make([ONE, other], settings())["instances"]
    assert both[0]["config"] == only(ONE)["config"]


@pytest.mark.parametrize(
    ("host", "asked"),
    [("0.0.0.0", "127.0.0.1"), ("::", "::1"), ("192.0.2.1", "192.0.2.1")],
)
def test_it_is_asked_where_it_listens(host: str, asked: str) -> None:
    assert only({**ONE, "host": host})["host"] == asked


@pytest.mark.parametrize(
    ("described", "changes", "words"),
    [
        ([{"name": "a"}], {}, "model is missing"),
        ([{**ONE, "devices": []}], {}, "instance a has 1 ranks and 0 devices"),
        ([{**ONE, "segment_size": 0}], {}, "lends no segment"),
        ([{**ONE, "env": {"KVCACHE_CONFIG": 1}}], {}, "KVCACHE_CONFIG is set by the role itself"),
        ([{**ONE, "env": {"HF_TOKEN": "x"}}], {}, "HF_TOKEN is a secret"),
        ([{**ONE, "env": {"MINE": "x"}}], {"secrets": {"MINE": "x"}}, "MINE is a secret"),
        ([ONE], {"options": 3}, "vllm_options is 3, expected a dict"),
        ([ONE], {"environment": "x"}, "vllm_environment is 'x', expected a dict"),
        ([ONE], {"secrets": {"a b": "x"}}, "vllm_secrets: 'a b' is no name"),
        ([ONE], {"secrets": None}, "vllm_secrets is empty, expected a dict"),
        ("x", {}, "expected a list of instances"),
    ],
)
def test_what_is_wrong_is_told_with_a_fix(
    described: Any, changes: dict[str, Any], words: str
) -> None:
    plan = vllm_plan.make(described, settings(**changes))
    assert plan["instances"] == []
    (problem,) = [each for each in plan["problems"] if words in each]
    assert "Fix: " in problem


def test_on_platform_cpu_no_device_is_asked_for() -> None:
    made = only(
        {**ONE, "devices": []}, connector=CONNECTORS["cpu"], platform="cpu", cann={}, series=""
    )
    assert "ASCEND_PROCESS_LOG_PATH" not in made["environment"]


HELP = """usage: vllm serve [model_tag] [options]
  --max-model-len MAX_MODEL_LEN
  --enable-prefix-caching, --no-enable-prefix-caching
  --config CONFIG --model --served-model-name --host --port --tensor-parallel-size, -tp --kv-transfer-config
"""


def test_an_option_that_vllm_does_not_know_is_told_with_the_one_that_was_meant() -> None:
    made = only({**ONE, "options": {"max_model_lem": 1, "enable-prefix-caching": False}})
    (problem,) = vllm_plan.unknown_options([made], HELP)
    assert (
        "instance a: options: vLLM knows no --max-model-lem. Did you mean --max-model-len?"
        in problem
    )
    assert vllm_plan.unknown_options([made], "") == []


def test_each_instance_has_the_next_one_with_its_model_as_its_peer() -> None:
    def one(name: str, model: str, pool: bool = True) -> dict[str, Any]:
        return {"id": name, "model": model, "pool": pool}

    fleet = [
        one("1/a", "x"),
        one("1/b", "x"),
        one("2/a", "x"),
        one("2/b", "y"),
        one("3/a", "x", False),
    ]
    assert vllm_plan.peers(fleet) == {"1/a": "1/b", "1/b": "2/a", "2/a": "1/a"}
    assert vllm_plan.leftovers(["a", "b"], ["b", "c"]) == ["a"]


def service(**changes: Any) -> dict[str, Any]:
    return {
        "active": "active",
        "exists": True,
        "masked": False,
        "main_uid": 998,
        "environment": {"KVCACHE_CONFIG": "new"},
        "listeners": [],
        **changes,
    }


@pytest.mark.parametrize(
    ("changes", "action"),
    [
        ({}, "none"),
        ({"environment": {"KVCACHE_CONFIG": "old"}}, "restart"),
        ({"environment": {"KVCACHE_CONFIG": None}}, "restart"),
        ({"environment": None}, "restart"),
        ({"active": "activating"}, "restart"),
        ({"active": "inactive", "environment": None}, "start"),
        ({"active": "failed", "environment": None}, "start"),
    ],
)
def test_a_service_is_touched_only_when_it_runs_with_something_older(
    changes: dict[str, Any], action: str
) -> None:
    results = [{"item": {"name": "a", "config": "new"}, "service_state": service(**changes)}]
    instance = {"name": "a", "config": "new"}
    assert vllm_service.state(results, instance)["action"] == action
    repaired = vllm_service.state(results, instance, changed=True)["action"]
    assert repaired == ("restart" if action == "none" else action)
    assert vllm_service.pending(results) == ([] if action == "none" else ["a"])


def test_a_port_that_another_service_has_is_told_unless_that_one_leaves() -> None:
    listener = {"port": 8100, "uid": 998, "pid": 7, "command": "vllm", "unit": "vllm@old.service"}
    item = {"name": "a", "unit": "vllm@a.service", "port": 8100}
    results = [{"item": item, "service_state": service(listeners=[listener])}]
    (told,) = vllm_service.obstacles(results, [], "npu-1")
    assert told.startswith(
        "npu-1: port 8100 (instance a) is taken by vllm (pid 7, vllm@old.service)"
    )
    assert vllm_service.obstacles(results, ["old"], "npu-1") == []
    masked = [{"item": item, "service_state": service(masked=True)}]
    assert "is masked" in vllm_service.obstacles(masked, [], "npu-1")[0]


def test_the_report_has_one_line_for_each_instance() -> None:
    def result(name: str, **more: Any) -> dict[str, Any]:
        return {"item": {"name": name}, "findings": [], "msg": f"{name} serves", **more}

    wrong = {
        "severity": "error",
        "host": "h",
        "observed": "it is down",
        "expected": "",
        "fix": "start it",
    }
    first = [
        result("a"),
        result("b"),
        result("c", findings=[wrong]),
        {"item": {"name": "d"}, "msg": "broke"},
    ]
    second = [result("a", msg="from the pool")]
    report = vllm_service.report("h", first, second, {"h/a": "h/b"})
    assert report["failed"] == ["c", "d"]
    assert report["lines"] == [
        "h/a: ok: from the pool; the prompt had been sent to h/b alone",
        "h/b: ok: b serves; no other instance shares its model",
        "h/c: it is down (from host h).\n  Fix: start it",
        "h/d: broke",
    ]
    told = {name: each["verdict"] for name, each in report["instances"].items()}
    assert told == {"a": "ok", "b": "ok", "c": "failed", "d": "failed"}
    assert report["instances"]["c"]["findings"] == [wrong]
    assert report["instances"]["d"] == {"verdict": "failed", "message": "broke", "findings": []}
