# SPDX-License-Identifier: Apache-2.0
"""The two modules as Ansible runs them: arguments in, JSON out; and what they document."""

from __future__ import annotations

import importlib

import pytest
import yaml
from ansible_collections.kvcache.ascend.plugins.modules import (
    mooncake_master_check,
    mooncake_master_info,
)
from ansible_collections.kvcache.ascend.tests.unit import loopback_servers as servers

MASTER_RPC = servers.rpc_answer(0, servers.BODY_WITH_VERSION)
QUICK = {"step_timeout": 0.5, "timeout": 2}


@pytest.fixture
def run(run_module):
    return run_module


@pytest.fixture
def master():
    with servers.serve(MASTER_RPC) as port, servers.serve(servers.new_master_pages()) as metrics:
        yield {"address": f"127.0.0.1:{port}", "metrics_port": metrics, **QUICK}


@pytest.mark.parametrize("check_mode", [False, True])
@pytest.mark.parametrize("module", [mooncake_master_check, mooncake_master_info])
def test_a_master_that_serves(run, master, module, check_mode):
    result = run(module, master, check_mode)
    assert result["changed"] is False
    assert result["masters"][0]["serving"] is True
    assert [found["severity"] for found in result["findings"]] == ["ok"]


def test_check_tells_attempts_and_time(run, master):
    result = run(mooncake_master_check, master)
    assert result["attempts"] == 1
    assert result["waited_seconds"] >= 0
    assert result["msg"].startswith(f"ok: {master['address']} is a Mooncake master and serves")


def test_check_fails_with_the_findings_of_all_addresses(run, master):
    with servers.refused_port() as dead, servers.serve(servers.closes_at_once) as closing:
        addresses = [f"127.0.0.1:{dead}", master["address"], f"127.0.0.1:{closing}"]
        arguments = {"address": addresses, "metrics_port": 0, "step_timeout": 0.5, "timeout": 0}
        result = run(mooncake_master_check, arguments)
    assert result["failed"] is True
    assert f"127.0.0.1:{dead} refused the connection (from host " in result["msg"]
    assert f"127.0.0.1:{closing} accepts connections and closes them at once" in result["msg"]
    assert result["msg"].count("Fix: ") == 2
    assert "ok:" not in result["msg"]
    assert len(result["masters"]) == 3


def test_a_failure_leaves_out_what_is_unknown(run):
    def nulls(value):
        items = value.values() if isinstance(value, dict) else value
        return [item for item in items if item is None] + [
            found for item in items if isinstance(item, (dict, list)) for found in nulls(item)
        ]

    with servers.refused_port() as dead:
        result = run(mooncake_master_check, {"address": f"127.0.0.1:{dead}", "timeout": 0})
    assert nulls(result["masters"]) == []
    assert result["masters"][0]["rpc"]["outcome"] == "refused"


def test_info_does_not_fail_on_what_it_saw(run):
    with servers.refused_port() as dead:
        result = run(mooncake_master_info, {"address": f"127.0.0.1:{dead}", "metrics_port": 0})
    assert result["masters"][0]["serving"] is False
    assert result["findings"][0]["severity"] == "error"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"address": []}, "address is empty"),
        ({"address": "etcd://a:1"}, "HA addresses are not supported yet"),
        ({"address": "http://a:1"}, "without http://"),
        ({"metrics_port": 65536}, "metrics_port 65536 is no number from 0 to 65535"),
        ({"step_timeout": 0}, "step_timeout 0 is no number of seconds above 0"),
        ({"interval": float("nan")}, "interval nan is no number of seconds above 0"),
        ({"timeout": -1}, "timeout -1 is no number of seconds from 0 to a day"),
        ({"min_clients": -1}, "min_clients -1 is below 0"),
        ({"min_clients": 1, "metrics_port": 0}, "min_clients needs the metrics port"),
        ({"segments": {"a:1": "4GiB"}}, "segments: '4GiB' of a:1 is no number of bytes"),
        ({"segments": {"a:1": 1}, "metrics_port": 0}, "segments needs the metrics port"),
    ],
)
def test_a_wrong_argument_fails_and_says_why(run, arguments, message):
    result = run(mooncake_master_check, {"address": "127.0.0.1:1", "timeout": 0, **arguments})
    assert message in result["msg"]
    assert "masters" not in result


def test_all_wrong_arguments_are_told_at_once(run):
    result = run(mooncake_master_info, {"address": "a,b", "step_timeout": -1})
    assert len(result["msg"].split("\n")) == 3


def documented(contains):
    return {key: documented(value.get("contains", {})) for key, value in contains.items()}


def returned(value):
    if isinstance(value, list):
        return returned(value[0]) if value and isinstance(value[0], dict) else {}
    return {key: returned(item) for key, item in value.items()} if isinstance(value, dict) else {}


@pytest.mark.parametrize("name", ["mooncake_master_check", "mooncake_master_info"])
def test_every_returned_field_is_documented_and_the_other_way_round(run, master, name):
    module = importlib.import_module(f"ansible_collections.kvcache.ascend.plugins.modules.{name}")
    result = run(module, master)
    for common in ("changed", "invocation"):
        result.pop(common, None)
    assert returned(result) == documented(yaml.safe_load(module.RETURN))


@pytest.mark.parametrize("name", ["mooncake_master_check", "mooncake_master_info"])
def test_the_examples_use_documented_options(name):
    module = importlib.import_module(f"ansible_collections.kvcache.ascend.plugins.modules.{name}")
    options = yaml.safe_load(module.DOCUMENTATION)["options"]
    for task in yaml.safe_load(module.EXAMPLES):
        assert set(task.get(f"kvcache.ascend.{name}", {})) <= set(options)
