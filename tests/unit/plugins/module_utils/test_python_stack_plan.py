# SPDX-License-Identifier: Apache-2.0
"""Which stack a release and a platform ask for, and each reason why there is none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.kvcache.ascend.plugins.filter import python_stack as filters
from ansible_collections.kvcache.ascend.plugins.filter.release import release_spec
from ansible_collections.kvcache.ascend.plugins.module_utils import (
    python_lock,
    python_stack,
    python_stack_plan,
)

KUNPENG = {
    "architecture": "aarch64",
    "glibc": "2.38",
    "python_version": "3.11.6",
    "python_tag": "cp311",
}


def plan(release: str, lock_dir: str = "", **changes: str) -> dict[str, Any]:
    return filters.plan(release_spec(release, []), {**KUNPENG, **changes}, lock_dir)


def test_a_release_and_a_platform_name_one_stack() -> None:
    made = plan("0.13.0")
    assert made["problem"] == ""
    assert python_stack.NAME.match(made["stack_id"])
    assert made["stack_id"].startswith("0.13.0-")
    assert made["release"]["versions"] == {
        "vllm": "0.13.0",
        "vllm-ascend": "0.13.0",
        "torch": "2.8.0",
        "torch-npu": "2.8.0.post2",
    }
    assert "triton" in made["release"]["overrides"]
    assert made["size_bytes"] == sum(wheel["size_bytes"] for wheel in made["wheels"])


def test_what_decides_a_stack_changes_its_id() -> None:
    ids = {
        plan("0.13.0")["stack_id"],
        plan("0.13.0", python_version="3.10.12", python_tag="cp310")["stack_id"],
        plan("0.13.0", architecture="x86_64")["stack_id"],
        plan("0.18.0")["stack_id"],
    }
    assert len(ids) == 4
    # Neither a newer glibc nor another patch of the same Python changes a byte.
    assert plan("0.13.0", glibc="2.39", python_version="3.11.9")["stack_id"] in ids


@pytest.mark.parametrize(
    ("release", "changes", "expected"),
    [
        (
            "0.13.0",
            {"python_version": "3.9.9"},
            ["Python 3.9.9", "3.10 to 3.11", "python_stack_python"],
        ),
        ("0.11.0rc3", {"python_version": "3.12.1"}, ["3.9 to 3.11", "/usr/bin/python3.11"]),
        ("0.13.0", {"glibc": "2.28"}, ["glibc 2.28", "need 2.31", "operating system"]),
        (
            "0.13.0",
            {"architecture": "riscv64"},
            ["no lock 0.13.0-riscv64-cp311.txt", "has none for"],
        ),
        ("0.23.0", {}, ["there is no version of triton-ascend==3.2.2", "python_stack_lock_dir"]),
        ("cpu", {}, ["no wheels with a matching platform tag", "docs/locks.md"]),
    ],
)
def test_what_does_not_fit_is_named_with_its_fix(
    release: str, changes: dict[str, str], expected: list[str]
) -> None:
    problem = plan(release, **changes)["problem"]
    assert [words for words in [*expected, "Fix: "] if words not in problem] == []


def own_lock(folder: Path, inputs: str) -> None:
    package = {
        "name": "torch",
        "version": "2.10.0",
        "sha256": "a" * 64,
        "wheel": "torch-2.10.0.whl",
        "size_bytes": 1,
    }
    text = python_lock.render({"release": "0.23.0", "inputs": inputs}, [package])
    (folder / "0.23.0-aarch64-cp311.txt").write_text(text)


def test_a_lock_of_the_sites_own_comes_first(tmp_path: Path) -> None:
    own_lock(tmp_path, python_lock.inputs_digest(release_spec("0.23.0", []), "aarch64", "3.11"))
    made = plan("0.23.0", str(tmp_path))
    assert made["problem"] == ""
    assert [wheel["wheel"] for wheel in made["wheels"]] == ["torch-2.10.0.whl"]


def test_a_lock_made_from_another_row_is_refused(tmp_path: Path) -> None:
    own_lock(tmp_path, "0123456789abcdef")
    problem = plan("0.23.0", str(tmp_path))["problem"]
    assert "not made from the release's row as it is now (inputs 0123456789abcdef" in problem


def test_a_lock_that_is_no_lock_is_named(tmp_path: Path) -> None:
    (tmp_path / "0.23.0-aarch64-cp311.txt").write_text("torch>=2\n")
    problem = plan("0.23.0", str(tmp_path))["problem"]
    assert f"{tmp_path}/0.23.0-aarch64-cp311.txt can't be read: line 1 is 'torch>=2'" in problem


def test_wheels_that_a_folder_lacks_are_counted(tmp_path: Path) -> None:
    wheels: list[dict[str, Any]] = [
        {"wheel": f"a-{number}.whl", "size_bytes": 1} for number in range(5)
    ]
    for wheel in wheels:
        (tmp_path / wheel["wheel"]).write_text("x")
    assert python_stack_plan.wheel_problem(wheels, str(tmp_path)) == ""
    (tmp_path / "a-0.whl").unlink()
    (tmp_path / "a-1.whl").write_text("cut short")
    problem = python_stack_plan.wheel_problem(wheels, str(tmp_path))
    assert problem.startswith("2 of 5 wheels are missing")
    assert "a-0.whl, a-1.whl" in problem


def test_a_wheel_that_is_brought_anew_makes_another_archive(tmp_path: Path) -> None:
    wheels: list[dict[str, Any]] = [{"wheel": "a-1.whl", "sha256": "0" * 64}]
    (tmp_path / "a-1.whl").write_text("damaged")
    before = python_stack_plan.archive(wheels, str(tmp_path))
    assert python_stack_plan.archive(wheels, str(tmp_path)) == before
    assert Path(before).parent == tmp_path
    (tmp_path / "a-1.whl").write_text("as it is")
    assert python_stack_plan.archive(wheels, str(tmp_path)) != before


def test_instances_may_not_ask_for_two_stacks() -> None:
    same = [{"name": "a"}, {"name": "b", "release_name": "0.13.0"}]
    assert python_stack_plan.instance_problem(same, "0.13.0") == ""
    problem = python_stack_plan.instance_problem(
        [*same, {"name": "c", "release_name": "0.18.0"}], "0.13.0"
    )
    assert "c (0.18.0)" in problem and "b (" not in problem


def stack(place: str, usable: bool = True) -> dict[str, Any]:
    return {"place": place, "stack_id": place.split(".", maxsplit=1)[0], "usable": usable}


def test_the_newest_usable_stack_of_an_id_is_chosen() -> None:
    stacks = [stack("a-1"), stack("a-1.2"), stack("a-1.3", usable=False), stack("b-1")]
    assert filters.place(stacks, "a-1") == "a-1.2"
    assert filters.place(stacks, "a-1.2") == "a-1.2"
    assert filters.place(stacks, "a-1.3") == ""
    assert filters.place(stacks, "c-1") == ""


@pytest.mark.parametrize(
    ("keep", "expected"), [(0, ["a", "b"]), (1, ["a", "b"]), (2, ["a"]), (3, []), (9, [])]
)
def test_the_stack_in_use_and_the_newest_others_stay(keep: int, expected: list[str]) -> None:
    assert python_stack.surplus([stack("a"), stack("c"), stack("b")], "c", keep) == expected


def test_a_new_place_gets_the_next_number() -> None:
    assert python_stack.next_place([], "a-1") == "a-1"
    assert python_stack.next_place(["a-1", "a-1.2"], "a-1") == "a-1.3"


@pytest.mark.parametrize(
    ("one", "other"),
    [("1.0.0-1", "1.0.0.1"), ("v1.2", "1.2"), ("1.02", "1.2"), ("2.13.0+CPU", "2.13.0+cpu")],
)
def test_spellings_of_one_version_are_the_same(one: str, other: str) -> None:
    assert python_stack.normal_version(one) == python_stack.normal_version(other)
    assert python_stack.normal_version("2.8.0") != python_stack.normal_version("2.8.0.post2")


def empty_plan(release: str, wheel: dict[str, Any] | None = None) -> dict[str, Any]:
    return filters.plan(release_spec(release, []), KUNPENG, "", "empty", wheel)


def test_vllm_without_a_device_takes_the_place_of_its_wheel() -> None:
    built: dict[str, Any] = {"name": "vllm", "version": "0.13.0+empty", "sha256": "a" * 64}
    built |= {"wheel": "vllm-0.13.0+empty-py3-none-any.whl", "size_bytes": 7}
    before, after = empty_plan("0.13.0"), empty_plan("0.13.0", built)
    assert before["stack_id"] == after["stack_id"] != plan("0.13.0")["stack_id"]
    packages = {item["name"]: item for item in python_lock.parse(after["lock"])["packages"]}
    assert packages["vllm"] == built
    assert after["release"]["versions"]["vllm"] == "0.13.0+empty"
    # What an index is asked for has neither of both.
    wheels = {item["wheel"] for item in after["wheels"]}
    assert [name for name in wheels if name.startswith("vllm-0")] == []
    assert len(python_lock.parse(after["fetched"])["packages"]) == len(packages) - 1
    assert after["fetched"] == before["fetched"]


@pytest.mark.parametrize("release", ["cpu", "0.23.0"])
def test_a_release_whose_vllm_has_no_build_without_a_device(release: str) -> None:
    spec = release_spec(release, [])
    problem = python_stack_plan.empty_problem(spec)
    assert f"release {release} names no source of vLLM" in problem
    assert "Fix: set python_stack_vllm_build: wheel" in problem
    assert not python_stack_plan.empty_problem(release_spec("0.18.0", []))
