# SPDX-License-Identifier: Apache-2.0
"""What a release asks of a lock, and how locks are written and read."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.kvcache.ascend.plugins.module_utils import python_lock, release
from hypothesis import given
from hypothesis import strategies as st

ROW: dict[str, Any] = {
    "name": "mine",
    "platform": "npu",
    "python": {"min": "3.9", "max": "3.11"},
    "vllm": {"package": "vllm", "version": "0.11.0"},
    "vllm_ascend": {"version": "0.11.0rc3"},
    "torch": {"version": "2.8.0"},
    "torch_npu": {"version": "2.8.0"},
    "torchvision": "==0.23.0",
    "pins": {"memfabric_hybrid": "==1.0.8"},
    "glibc_min": "2.28",
    "overrides": [
        {"package": "torch", "specifier": "==2.8.0", "reason": "another is pinned"},
        {"package": "Triton", "reason": "for CUDA only"},
    ],
}
PACKAGE = {
    "name": "torch",
    "version": "2.13.0+cpu",
    "sha256": "a" * 64,
    "wheel": "torch-2.13.0+cpu-cp311-cp311-manylinux_2_28_x86_64.whl",
    "size_bytes": 191794682,
}


def row(**changes: Any) -> dict[str, Any]:
    return release.complete({**ROW, **changes})


def test_a_release_asks_for_its_own_packages_and_pins() -> None:
    assert python_lock.requirements(row()) == [
        "memfabric-hybrid==1.0.8",
        "torch-npu==2.8.0",
        "torch==2.8.0",
        "torchvision==0.23.0",
        "vllm-ascend==0.11.0rc3",
        "vllm==0.11.0",
    ]


def test_an_override_without_a_specifier_leaves_the_package_out() -> None:
    assert python_lock.overrides(row()) == ["torch==2.8.0", "triton ; sys_platform == 'never'"]


@pytest.mark.parametrize(
    "change",
    [
        {"torch": {"version": "2.9.0"}},
        {"pins": {}},
        {"overrides": []},
        {"glibc_min": "2.31"},
        {"transformers": "<5"},
    ],
)
def test_whatever_decides_a_lock_changes_the_digest(change: dict[str, Any]) -> None:
    before = python_lock.inputs_digest(row(), "aarch64", "3.11")
    assert python_lock.inputs_digest(row(**change), "aarch64", "3.11") != before


def test_what_does_not_decide_a_lock_leaves_the_digest() -> None:
    before = python_lock.inputs_digest(row(), "aarch64", "3.11")
    reworded = [dict(item, reason="other words") for item in ROW["overrides"]]
    assert (
        python_lock.inputs_digest(row(overrides=reworded, notes=["more"]), "aarch64", "3.11")
        == before
    )
    assert python_lock.inputs_digest(row(), "x86_64", "3.11") != before
    assert python_lock.inputs_digest(row(), "aarch64", "3.10") != before


def test_pythons_are_those_between_the_bounds() -> None:
    assert python_lock.pythons(row()) == ["3.9", "3.10", "3.11"]


@given(
    st.lists(
        st.builds(
            dict,
            name=st.from_regex(r"[a-z][a-z0-9-]{0,8}", fullmatch=True),
            version=st.from_regex(r"[0-9]\.[0-9]{1,3}(\.post1|\+cpu)?", fullmatch=True),
            sha256=st.from_regex(r"[0-9a-f]{64}", fullmatch=True),
            wheel=st.from_regex(r"[a-z0-9_.+-]{1,20}\.whl", fullmatch=True),
            size_bytes=st.integers(0, 10**10),
        ),
        unique_by=lambda item: item["name"],  # type: ignore[index]
    )
)
def test_what_is_written_is_read_again(packages: list[dict[str, Any]]) -> None:
    head = {"release": "mine", "inputs": "0123"}
    read = python_lock.parse(python_lock.render(head, packages))
    assert read["head"] == head
    assert read["packages"] == sorted(packages, key=lambda item: item["name"])


@pytest.mark.parametrize(
    "line",
    [
        "torch==2.13.0",
        "torch>=2.13.0 --hash=sha256:" + "a" * 64 + "  # torch-2.whl 1",
        "torch==2.13.0 --hash=sha256:" + "a" * 63 + "  # torch-2.whl 1",
        "--index-url https://mirror.example.com/simple",
    ],
)
def test_a_line_that_is_not_exact_is_named(line: str) -> None:
    text = python_lock.render({"release": "mine"}, [PACKAGE]) + line + "\n"
    with pytest.raises(ValueError, match=r"^line 4 is .*Expected: name==version"):
        python_lock.parse(text)


@pytest.mark.parametrize("name", ["Torch_NPU", "torch.npu", "torch-npu", "torch__npu"])
def test_one_package_has_one_name(name: str) -> None:
    assert python_lock.normal_name(name) == "torch-npu"
