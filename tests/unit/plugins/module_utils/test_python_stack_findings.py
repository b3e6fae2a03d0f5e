# SPDX-License-Identifier: Apache-2.0
"""What is said of a stack that is not as it should be."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.kvcache.ascend.plugins.module_utils import python_stack_findings

PATH = "/opt/kvcache/stack/0.13.0-0123456789ab"


def stack(**changes: Any) -> dict[str, Any]:
    seen: dict[str, Any] = {
        "release": {
            "name": "0.13.0",
            "platform": "npu",
            "versions": {"vllm": "0.13.0", "torch": "2.8.0", "torch-npu": "2.8.0.post2"},
            "overrides": ["torch", "triton"],
            "alias": None,
        },
        "error": None,
        "packages": {
            "vllm": "0.13.0",
            "torch": "2.8.0",
            "torch-npu": "2.8.0.post2",
            "triton-ascend": "3.2.0",
        },
        "plugins": {"vllm.platform_plugins": {"ascend": "vllm_ascend:register"}},
        "missing": [],
        "extra": [],
        "different": [],
        "twice": [],
        "damaged_count": 0,
        "damaged": [],
        "unmet": [],
    }
    return {**seen, **changes}


def checks(seen: dict[str, Any]) -> list[str]:
    return [item["check"] for item in python_stack_findings.stack_findings(seen, PATH, "host")]


def observed(seen: dict[str, Any]) -> str:
    found = python_stack_findings.stack_findings(seen, PATH, "host")
    return " ".join(item["observed"] for item in found)


def test_a_stack_as_it_should_be_has_no_finding() -> None:
    assert checks(stack()) == []


def test_packages_are_named_by_what_is_wrong_with_them() -> None:
    names = [f"package-{number}==1" for number in range(8)]
    text = observed(
        stack(
            missing=["numpy==1.26.4"],
            extra=names,
            different=[{"name": "torch", "locked": "2.8.0", "installed": "2.9.0"}],
        )
    )
    assert "torch is 2.9.0 (lock: 2.8.0)" in text
    assert "are missing: numpy==1.26.4" in text
    assert "package-4==1 and 3 more" in text


def test_a_version_that_the_release_does_not_name_is_found() -> None:
    packages = {**stack()["packages"], "vllm": "0.13.1"}
    assert checks(stack(packages=packages)) == ["python_stack_versions"]


@pytest.mark.parametrize(
    ("torch", "torch_npu", "fits"),
    [
        ("2.8.0", "2.8.0", True),
        ("2.8.0+cpu", "2.8.0.post2", True),
        ("2.7.1", "2.8.0", False),
        ("2.8.0", "2.7.1.post1", False),
    ],
)
def test_torch_and_torch_npu_belong_together_by_their_number(
    torch: str, torch_npu: str, fits: bool
) -> None:
    seen = stack()
    seen["packages"].update({"torch": torch, "torch-npu": torch_npu})
    seen["release"]["versions"] = {"torch": torch, "torch-npu": torch_npu}
    assert checks(seen) == ([] if fits else ["python_stack_torch_pair"])


def test_triton_beside_triton_ascend_is_found() -> None:
    packages = {**stack()["packages"], "triton": "3.4.0"}
    assert "python_stack_triton" in checks(stack(packages=packages))


def test_requirements_that_are_not_met_are_found_unless_overridden() -> None:
    overridden = {"package": "vllm", "requires": "torch==2.9.0", "installed": "2.8.0"}
    missing = {"package": "xgrammar", "requires": "triton", "installed": None}
    wrong = {"package": "vllm", "requires": "numpy>=2", "installed": "1.26.4"}
    assert checks(stack(unmet=[overridden, missing])) == []
    assert checks(stack(unmet=None)) == []
    seen = stack(unmet=[overridden, wrong])
    assert checks(seen) == ["python_stack_requirements"]
    assert "vllm wants numpy>=2, 1.26.4 is installed" in observed(seen)


def answers(**changes: Any) -> dict[str, Any]:
    good = {"value": None, "error": None}
    names = ["torch", "torch_npu", "vllm_ascend.vllm_ascend_C"]
    return {
        **{name: good for name in names},
        "platform": {"value": "NPUPlatform", "error": None},
        **changes,
    }


def test_imports_that_succeed_have_no_finding() -> None:
    assert python_stack_findings.import_findings(answers(), stack(), PATH, "host") == []


@pytest.mark.parametrize(
    ("error", "fix"),
    [
        ("ImportError: libhccl.so: cannot open shared object file", "install CANN"),
        ("ImportError: libatb.so: cannot open shared object file", "nnal"),
        ("ImportError: x.so: undefined symbol: _ZN5torch7Library", "compiled for another version"),
        ("it ended Python with status 134: corrupted size vs. prev_size", "jemalloc"),
        ("RuntimeError: 0 active drivers ([])", "triton and triton-ascend"),
        ("ModuleNotFoundError: No module named 'x'", "by hand"),
    ],
)
def test_a_failed_import_is_explained_by_its_words(error: str, fix: str) -> None:
    failed = answers(**{"vllm_ascend.vllm_ascend_C": {"value": None, "error": error}})
    (found,) = python_stack_findings.import_findings(failed, stack(), PATH, "host")
    assert error in found["observed"]
    assert fix in found["fix"]


def test_another_platform_than_the_hosts_is_found() -> None:
    other = answers(platform={"value": "UnspecifiedPlatform", "error": None})
    (found,) = python_stack_findings.import_findings(other, stack(), PATH, "host")
    assert "activates UnspecifiedPlatform; its platform plugins: ascend" in found["observed"]
