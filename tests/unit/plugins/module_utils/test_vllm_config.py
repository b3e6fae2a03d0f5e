# SPDX-License-Identifier: Apache-2.0
"""The files of an instance in each family of versions, against files that were written by hand from upstream's readers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.kvcache.ascend.plugins.filter.release import load_tables
from ansible_collections.kvcache.ascend.plugins.module_utils import vllm_config
from ansible_collections.kvcache.ascend.plugins.module_utils.vllm_instance import Instance, read_all

GOLDEN = Path(__file__).parents[2] / "golden" / "vllm"
CONNECTORS = load_tables()["connectors"]
FAMILIES = sorted(CONNECTORS)


def described() -> dict[str, Any]:
    return dict(yaml.safe_load((GOLDEN / "instance.yml").read_text()))


def instance(**changes: Any) -> Instance:
    (made,) = read_all([{**described(), **changes}])
    return made


@pytest.mark.parametrize("family", FAMILIES)
def test_the_files_are_those_that_this_family_reads(family: str) -> None:
    connector, golden = CONNECTORS[family], yaml.safe_load((GOLDEN / f"{family}.yml").read_text())
    made = vllm_config.options(connector, instance())
    assert json.loads(made.pop("kv-transfer-config")) == golden["kv_transfer_config"]
    assert made == golden["options"]
    assert (
        vllm_config.mooncake_json(connector, instance(), "192.0.2.11:50088")
        == golden["mooncake_json"]
    )
    made_environment = vllm_config.environment(
        connector,
        instance(),
        config_path="/etc/kvcache/instances/a/mooncake.json",
        hash_seed="0",
        series="A2",
    )
    assert made_environment == golden["environment"]
    found = vllm_config.findings(connector, instance(), "npu-1")
    assert [finding["observed"].split()[3] for finding in found] == golden["left_out"]


def test_every_family_has_a_golden_file() -> None:
    assert sorted(path.stem for path in GOLDEN.glob("*.yml")) == sorted([*FAMILIES, "instance"])


@pytest.mark.parametrize("family", FAMILIES)
def test_without_a_pool_nothing_of_it_is_written(family: str) -> None:
    alone = instance(pool=False)
    connector = CONNECTORS[family]
    assert "kv-transfer-config" not in vllm_config.options(connector, alone)
    made = vllm_config.environment(connector, alone, config_path="/x", hash_seed="0", series="A2")
    assert set(made) == {"ASCEND_RT_VISIBLE_DEVICES", *described()["env"]}
    assert vllm_config.findings(connector, alone, "npu-1") == []


def test_the_user_wins_over_the_guides_and_both_over_cann() -> None:
    made = vllm_config.environment(
        CONNECTORS["0.11"],
        instance(env={"ACL_OP_INIT_MODE": 0}),
        config_path="/x",
        hash_seed="7",
        base={"ACL_OP_INIT_MODE": "9", "VLLM_USE_V1": "0", "LD_LIBRARY_PATH": "/cann"},
    )
    assert made["ACL_OP_INIT_MODE"] == "0"
    assert made["VLLM_USE_V1"] == "1"
    assert made["LD_LIBRARY_PATH"] == "/cann"
    assert made["PYTHONHASHSEED"] == "7"


@pytest.mark.parametrize(
    ("size_bytes", "as_integer", "as_text"),
    [
        (40 * 1024**3, 42949672960, "40GB"),
        (1536 * 1024**2, 1610612736, "1536MB"),
        (5 * 1024, 5120, "5KB"),
        (1000, 1000, 1000),
        (0, 0, 0),
    ],
)
def test_a_size_is_exact_in_either_format(size_bytes: int, as_integer: int, as_text: Any) -> None:
    assert vllm_config.size(size_bytes, "integer") == as_integer
    assert vllm_config.size(size_bytes, "text") == as_text


def test_the_user_may_set_a_size_of_his_own_in_mooncake_json() -> None:
    made = vllm_config.mooncake_json(
        CONNECTORS["0.13"],
        instance(mooncake={"local_buffer_size": "2GiB", "device_name": "x"}),
        "m:1",
    )
    assert made["local_buffer_size"] == "2GB"
    assert made["device_name"] == "x"


def test_an_instance_without_a_segment_needs_a_release_with_store_nodes() -> None:
    lending_nothing = instance(segment_size="0", mooncake={}, extra_config={})
    (found,) = vllm_config.findings(CONNECTORS["0.13"], lending_nothing, "npu-1")
    assert (found["severity"], found["check"]) == ("error", vllm_config.CHECK_SEGMENT)
    assert vllm_config.findings(CONNECTORS["cpu"], lending_nothing, "npu-1") == []
    made = vllm_config.mooncake_json(CONNECTORS["cpu"], lending_nothing, "m:1")
    assert (made["mode"], made["global_segment_size"]) == ("standalone-store", 0)


def test_what_becomes_of_a_request_whose_blocks_are_lost_is_the_users_choice() -> None:
    made = vllm_config.kv_transfer_config(CONNECTORS["0.23"], instance(on_lost_block="fail"))
    assert made["kv_load_failure_policy"] == "fail"
    assert "kv_load_failure_policy" not in vllm_config.kv_transfer_config(
        CONNECTORS["0.11"], instance()
    )
