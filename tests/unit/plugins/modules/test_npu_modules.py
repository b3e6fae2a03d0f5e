# SPDX-License-Identifier: Apache-2.0
"""npu_info and npu_check as Ansible runs them: arguments in, JSON out; and what they document. This machine has no NPU."""

from __future__ import annotations

import importlib
from typing import Any, Callable

import pytest
import yaml
from ansible_collections.kvcache.ascend.plugins.doc_fragments import npu
from ansible_collections.kvcache.ascend.plugins.module_utils import npu_arguments, npu_requirements
from ansible_collections.kvcache.ascend.plugins.modules import npu_check, npu_info

Run = Callable[..., "dict[str, Any]"]


@pytest.fixture
def run(run_module: Run) -> Run:
    def run_with(module: Any, check_mode: bool = False, **arguments: Any) -> dict[str, Any]:
        return run_module(module, arguments, check_mode)

    return run_with


@pytest.mark.parametrize("check_mode", [False, True])
def test_info_does_not_fail_where_there_is_no_npu(run: Run, check_mode: bool) -> None:
    result = run(npu_info, check_mode=check_mode)
    assert result["changed"] is False
    assert result.get("failed", False) is False
    assert result["npu"]["verdicts"]["hardware_present"]["ok"] is False
    assert result["npu"]["chips"] == []


def test_check_fails_with_all_findings(run: Run) -> None:
    result = run(npu_check, count=8, devices=[0, 1], min_cann="8.3")
    assert result["failed"] is True
    assert [found["check"] for found in result["findings"]] == [
        "npu_hardware",
        "npu_count",
        "npu_devices",
        "npu_cann",
    ]
    assert result["msg"].count("Fix: ") == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"timeout": 0}, "timeout 0 is no number of seconds above 0"),
        ({"timeout": float("nan")}, "timeout nan is no number of seconds"),
        ({"python_timeout": -1}, "python_timeout -1 is no number"),
        ({"python_set_env": "/x"}, "python_set_env needs python"),
        ({"min_driver": "new"}, "min_driver 'new' is no version. Expected something like 25.2.0"),
        ({"cann": "8,3"}, "cann '8,3' is no version"),
        ({"count": -1}, "count -1 is below 0"),
        ({"links": False, "links_up": True}, "links_up needs links"),
        ({"processes": False, "foreign_processes": False}, "foreign_processes needs processes"),
        ({"health": "Alarm"}, "value of health must be one of"),
    ],
)
def test_a_wrong_argument_fails_and_says_why(
    run: Run, arguments: dict[str, Any], message: str
) -> None:
    result = run(npu_check, **arguments)
    assert message in result["msg"]
    assert "npu" not in result


def options(module: Any) -> dict[str, Any]:
    own = yaml.safe_load(module.DOCUMENTATION).get("options", {})
    return {**yaml.safe_load(npu.ModuleDocFragment.DOCUMENTATION)["options"], **own}


@pytest.mark.parametrize("name", ["npu_info", "npu_check"])
def test_the_examples_use_documented_options(name: str) -> None:
    module = importlib.import_module(f"ansible_collections.kvcache.ascend.plugins.modules.{name}")
    for task in yaml.safe_load(module.EXAMPLES):
        assert set(task.get(f"kvcache.ascend.{name}") or {}) <= set(options(module))


def test_the_options_are_documented_as_they_are() -> None:
    spec = {**npu_arguments.LOOK, **npu_arguments.EXPECT}
    documented = options(npu_check)
    assert set(documented) == set(spec)
    for name, option in spec.items():
        for key in ("type", "default", "elements", "choices"):
            assert documented[name].get(key) == option.get(key), name


def test_the_checks_are_documented() -> None:
    told = str(yaml.safe_load(npu_check.RETURN)["findings"]["contains"]["check"]["description"])
    assert {name for name in npu_requirements.CHECKS if f"V({name})" in told} == set(
        npu_requirements.CHECKS
    )
