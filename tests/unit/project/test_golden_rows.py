# SPDX-License-Identifier: Apache-2.0
"""What an instance reads in each release, against files that were written by hand (tests/unit/golden/rows)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.kvcache.ascend.plugins.filter.release import load_tables, release_spec
from ansible_collections.kvcache.ascend.plugins.module_utils import vllm_plan

GOLDEN = Path(__file__).parents[1] / "golden" / "rows"
ROWS = {row["name"]: row["platform"] for row in load_tables()["releases"]}
NPU_ROWS = [name for name, platform in ROWS.items() if platform == "npu"]
CANN = "/usr/local/Ascend/ascend-toolkit/latest"
ALONE = {"name": "a", "model": "Qwen/Qwen2.5-7B-Instruct", "devices": [0]}


def golden(name: str) -> dict[str, Any]:
    return dict(yaml.safe_load((GOLDEN / f"{name}.yml").read_text()))


def planned(release: str, described: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """The plan of a host with one instance, as the role has it made."""
    spec = release_spec(release, [])
    settings = {
        "connector": spec["connector"],
        "platform": spec["platform"],
        "options": {},
        "environment": {},
        "secrets": {},
        "hash_seed": "0",
        "series": "A2",
        "master_address": "npu-1:50088",
        "folder": "/etc/kvcache/instances",
        "host": "npu-1",
        "cann": {},
        "mooncake": "/opt/kvcache/mooncake/current",
        "inputs": [],
        **changes,
    }
    plan = vllm_plan.make([described], settings)
    return plan


@pytest.mark.parametrize("series", ["A2", "A3"])
@pytest.mark.parametrize("release", NPU_ROWS)
def test_a_release_sets_the_environment_that_its_guide_asks_for(release: str, series: str) -> None:
    (made,) = planned(release, ALONE, series=series)["instances"]
    of_the_role = {
        "ASCEND_RT_VISIBLE_DEVICES": "0",
        "MOONCAKE_CONFIG_PATH": "/etc/kvcache/instances/a/mooncake.json",
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": "/opt/kvcache/mooncake/current/python",
        "LD_LIBRARY_PATH": "/opt/kvcache/mooncake/current/lib",
        "ASCEND_PROCESS_LOG_PATH": "/var/log/vllm/a/ascend",
        vllm_plan.CONFIG: made["config"],
    }
    assert made["environment"] == {**golden("environment")[release][series], **of_the_role}


def test_each_release_for_npus_has_its_golden_environment() -> None:
    assert sorted(golden("environment")) == sorted(NPU_ROWS)


def test_what_this_collection_took_over_from_is_rendered_as_it_was() -> None:
    origin = golden("origin")
    plan = planned(
        "0.11.0rc3-torch2.8",
        origin["described"],
        cann={
            "PYTHONPATH": f"{CANN}/python/site-packages",
            "LD_LIBRARY_PATH": f"{CANN}/lib64",
        },
    )
    (made,) = plan["instances"]
    options = dict(made["vllm_yaml"])
    assert json.loads(options.pop("kv-transfer-config")) == origin["kv_transfer_config"]
    assert options == origin["vllm_yaml"]
    assert made["mooncake_json"] == origin["mooncake_json"]
    assert made["environment"].pop(vllm_plan.CONFIG) == made["config"]
    assert made["environment"] == origin["environment"]
    named = [each["observed"].split()[3] for each in plan["warnings"]]
    assert named == origin["does_nothing"]


def test_an_instance_that_lends_nothing_leaves_the_pool_to_store_nodes() -> None:
    (made,) = planned("cpu", {**ALONE, "devices": [], "segment_size": 0})["instances"]
    assert made["mooncake_json"] == golden("standalone")["mooncake_json"]


@pytest.mark.parametrize("release", NPU_ROWS)
def test_no_release_for_npus_can_do_so(release: str) -> None:
    plan = planned(release, {**ALONE, "segment_size": 0})
    assert plan["instances"] == []
    (problem,) = plan["problems"]
    assert "instance a lends no segment (segment_size 0)" in problem
    assert "this release has no mode in which only store nodes own the pool" in problem
