# SPDX-License-Identifier: Apache-2.0
"""plan.yml as a user runs it, and the page in docs that shows what it says."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
SEVEN_B = {
    "hidden_size": 3584,
    "num_attention_heads": 28,
    "num_hidden_layers": 28,
    "num_key_value_heads": 4,
    "torch_dtype": "bfloat16",
}


def plan(*arguments: str, **variables: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["ansible-playbook", "plan.yml", *arguments, "-e", json.dumps(variables)],
        cwd=ROOT,
        env=dict(os.environ, ANSIBLE_NOCOLOR="1"),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def config(tmp_path: Path) -> str:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(SEVEN_B))
    return str(path)


@pytest.mark.parametrize("inventory", ["prod", "demo"])
def test_the_example_of_the_page_gives_what_the_page_shows(config: str, inventory: str) -> None:
    done = plan(
        "-i",
        inventory,
        "--check",
        plan_model_config=config,
        plan_kv_cache_tokens=369280,
        plan_segment_size="40GiB",
        plan_documents=90,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    page = (ROOT / "docs" / "size-the-pool.md").read_text()
    example = page.split("```")[3].strip().splitlines()
    shown = [line for line in example if line.strip() != "…"]
    assert len(shown) >= 7
    for line in shown:
        assert line.strip() in done.stdout, line


def test_the_watermark_of_the_master_is_the_watermark_of_the_plan(config: str) -> None:
    options = {
        "plan_model_config": config,
        "plan_kv_cache_tokens": 369280,
        "plan_segment_size": "40GiB",
    }
    done = plan("-i", "prod", mooncake_master_eviction_high_watermark_ratio=0.5, **options)
    assert "the pool holds  37 documents" in done.stdout


def test_vllm_ascend_0_11_stores_copies_and_later_ones_do_not(config: str) -> None:
    options = {
        "plan_model_config": config,
        "plan_kv_cache_tokens": 369280,
        "plan_segment_size": "40GiB",
        "plan_tensor_parallel_size": 8,
    }
    assert "114,688 bytes of the pool" in plan(release_name="0.11.0", **options).stdout
    assert "ranks, 57,344 bytes of the pool" in plan(release_name="0.23.0", **options).stdout


def test_a_document_that_does_not_fit_stops_the_play(config: str) -> None:
    done = plan("-i", "prod", plan_model_config=config, plan_kv_cache_tokens=1280)
    assert done.returncode == 2
    assert "does not fit into HBM" in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({}, "model_config is empty: give the path of the model's config.json"),
        (
            {"plan_model_config": "/none/config.json"},
            "/none/config.json on the control node: No such file or directory",
        ),
        ({"plan_model_config": "{root}/README.md"}, "README.md is no JSON"),
        ({"plan_model_config": "{root}/molecule"}, "molecule on the control node: Is a directory"),
    ],
)
def test_a_bad_file_is_named_with_the_fix(variables: dict[str, str], message: str) -> None:
    done = plan(
        "-i",
        "prod",
        plan_kv_cache_tokens=369280,
        **{key: value.format(root=ROOT) for key, value in variables.items()},
    )
    assert done.returncode == 2
    flat = " ".join((done.stdout + done.stderr).split())
    assert message in flat
    assert "Fix: correct the variable plan_" in flat


def test_the_tables_of_the_page_are_those_of_the_data() -> None:
    spec = importlib.util.spec_from_file_location("pool_docs", ROOT / "tests/tools/pool_docs.py")
    assert spec is not None and spec.loader is not None
    generator = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generator)
    assert generator.PAGE.read_text(encoding="utf-8") == generator.rendered(), "run: make docs"
