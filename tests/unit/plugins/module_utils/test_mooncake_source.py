# SPDX-License-Identifier: Apache-2.0
"""What a build from source is made of, and who compiles it."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.kvcache.ascend.plugins.module_utils import mooncake_build, mooncake_source
from hypothesis import given
from hypothesis import strategies as st

HOST = {
    "os_id": "openEuler",
    "os_version": "24.03",
    "architecture": "aarch64",
    "glibc": "2.38",
    "python_tag": "cp311",
    "cores": 192,
    "memory_bytes": 1 << 40,
}
COMMIT = "b6a841dc78c707ec655a563453277d969fb8f38d"
SOURCE = {
    "revision": COMMIT,
    "url": "https://one.example.com/Mooncake.git",
    "yalantinglibs": "0.5.5",
}
CANN = {"home": "/usr/local/Ascend/cann", "version": "8.5.1"}


def build_id(**changes: Any) -> str:
    given_ = {"source": SOURCE, "options": {"A": True}, "host": HOST, "cann": CANN, **changes}
    found = mooncake_source.inputs(
        "0.3.7.post2", given_["source"], given_["options"], given_["host"], given_["cann"]
    )
    return mooncake_build.build_id(found)


@pytest.mark.parametrize(
    "changes",
    [
        {"options": {"A": False}},
        {"options": {"A": True, "B": 1}},
        {"source": {**SOURCE, "revision": "0" * 40}},
        {"source": {**SOURCE, "yalantinglibs": "0.5.6"}},
        {"source": {"sha256": "ab", "yalantinglibs": "0.5.5"}},
        {"cann": None},
        {"cann": {**CANN, "version": "9.0.0"}},
        {"cann": {**CANN, "home": "/opt/cann"}},
        *(
            {"host": {**HOST, key: "other"}}
            for key in ("os_id", "os_version", "architecture", "glibc", "python_tag")
        ),
    ],
)
def test_whatever_changes_the_bytes_changes_the_build_id(changes: dict[str, Any]) -> None:
    assert build_id(**changes) != build_id()


def test_what_does_not_change_the_bytes_does_not() -> None:
    elsewhere = {**SOURCE, "url": "https://mirror.example.com/Mooncake.git"}
    assert build_id(source=elsewhere) == build_id()
    assert build_id(host={**HOST, "cores": 8, "memory_bytes": 1}) == build_id()
    assert build_id(options={"A": "ON"}) == build_id()


def test_a_tag_means_something_only_with_its_repository() -> None:
    tag = {**SOURCE, "revision": "v1"}
    assert build_id(source={**tag, "url": "https://other.example.com/"}) != build_id(source=tag)


def test_options_of_the_site_win_and_are_written_as_cmake_reads_them() -> None:
    options = mooncake_source.cmake_options("npu", {"USE_ASCEND_DIRECT": False, "X": 3})
    words = mooncake_source.option_arguments(options)
    assert "-DUSE_ASCEND_DIRECT=OFF" in words
    assert "-DX=3" in words
    assert "-DBUILD_UNIT_TESTS=OFF" in words
    assert words == sorted(words)
    assert mooncake_source.cmake_options("npu", {})["USE_ASCEND_DIRECT"] is True
    assert mooncake_source.cmake_options("cpu", {})["USE_ASCEND_DIRECT"] is False


@pytest.mark.parametrize(
    ("options", "cann", "go"),
    [
        ({"USE_ASCEND_DIRECT": True}, True, False),
        ({"USE_ASCEND_DIRECT": "on"}, True, False),
        ({"USE_ASCEND_DIRECT": "OFF", "STORE_USE_ETCD": "1"}, False, True),
        ({}, False, False),
    ],
)
def test_what_the_options_need(options: dict[str, Any], cann: bool, go: bool) -> None:
    assert mooncake_source.needs_cann(options) is cann
    assert mooncake_source.needs_go(options) is go


@pytest.mark.parametrize(
    ("cores", "gib", "wanted", "jobs"),
    [(2, 24, 0, 2), (192, 1024, 0, 157), (64, 16, 0, 2), (8, 3, 0, 1), (8, 3, 6, 6)],
)
def test_jobs_follow_memory(cores: int, gib: int, wanted: int, jobs: int) -> None:
    assert mooncake_source.jobs(cores, gib << 30, wanted) == jobs


def test_packages_by_family_and_distribution() -> None:
    row = {
        "packages": {
            "Debian": ["g++"],
            "RedHat": ["gcc-c++", "libzstd-devel"],
            "renamed": {"openEuler": {"libzstd-devel": "zstd-devel"}},
        }
    }
    names = mooncake_source.packages(row, "RedHat", "openEuler", mpich=True, generator="make")
    assert names == ["gcc-c++", "zstd-devel", "mpich", "mpich-devel"]
    names = mooncake_source.packages(row, "RedHat", "Rocky", mpich=False, generator="ninja")
    assert names == ["gcc-c++", "libzstd-devel", "ninja-build"]
    assert mooncake_source.packages(row, "Debian", "Ubuntu", mpich=False, generator="make") == [
        "g++"
    ]


def test_families() -> None:
    assert mooncake_source.family("openEuler", "") == "RedHat"
    assert mooncake_source.family("Kylin Linux Advanced Server", "") is None
    assert mooncake_source.family("Kylin Linux Advanced Server", "RedHat") == "RedHat"


def test_openmpi_is_told_from_what_only_sounds_like_it() -> None:
    names = ["openmpi-bin", "libopenmpi3", "libopenmpi-dev", "mpich", "libmpich12", "openmpi"]
    assert mooncake_source.openmpi_in(names) == [
        "openmpi-bin",
        "libopenmpi3",
        "libopenmpi-dev",
        "openmpi",
    ]


def fleet(**hosts: str) -> dict[str, dict[str, Any]]:
    """a="X" needs build X, a="X+" has it."""
    return {
        name: {"build_id": text.rstrip("+"), "has": text.endswith("+")}
        for name, text in hosts.items()
    }


def failure(host: str, build: str, kind: str) -> dict[str, str]:
    return {"host": host, "build_id": build, "kind": kind, "message": f"{host} failed."}


def test_one_host_of_each_group_compiles() -> None:
    elected = mooncake_source.elect(fleet(a="X", b="X", c="Y", d="X"), [], [], [])
    assert {key: (value["action"], value["host"]) for key, value in elected.items()} == {
        "X": ("compile", "a"),
        "Y": ("compile", "c"),
    }
    assert elected["X"]["needing"] == ["a", "b", "d"]


def test_nobody_compiles_what_the_store_or_a_host_has() -> None:
    assert mooncake_source.elect(fleet(a="X", b="X+"), ["X"], [], [])["X"]["action"] == "ship"
    packed = mooncake_source.elect(fleet(a="X", b="X+"), [], [], [])["X"]
    assert (packed["action"], packed["host"]) == ("pack", "b")
    assert mooncake_source.elect(fleet(a="X+"), [], [], []) == {}


def test_a_build_that_is_only_named_hinders_nobody_else() -> None:
    hosts = fleet(a="X", b="Y")
    hosts["a"]["named"] = True
    elected = mooncake_source.elect(hosts, [], [], [])
    assert {key: value["action"] for key, value in elected.items()} == {"X": "none", "Y": "compile"}


def test_preferred_hosts_compile_first() -> None:
    assert (
        mooncake_source.elect(fleet(a="X", b="X", c="X"), [], [], ["z", "c", "b"])["X"]["host"]
        == "c"
    )


def test_another_host_tries_when_a_host_is_at_fault_and_none_when_the_sources_are() -> None:
    hosts = fleet(a="X", b="X", c="X")
    second = mooncake_source.elect(hosts, [], [failure("a", "X", "host")], [])["X"]
    assert (second["action"], second["host"], second["why"]) == ("compile", "b", ["a failed."])
    both = [failure("a", "X", "host"), failure("b", "X", "host")]
    assert mooncake_source.elect(hosts, [], both, [])["X"]["action"] == "none"
    assert mooncake_source.elect(hosts, [], both, [], 3)["X"]["host"] == "c"
    assert (
        mooncake_source.elect(hosts, [], [failure("a", "X", "source")], [])["X"]["action"] == "none"
    )
    assert mooncake_source.elect(hosts, [], [], [], 0)["X"]["action"] == "none"


@given(
    st.dictionaries(
        st.sampled_from("abcdef"), st.tuples(st.sampled_from("XYZ"), st.booleans()), min_size=1
    ),
    st.lists(st.sampled_from("XYZ")),
)
def test_each_build_that_is_lacking_gets_exactly_one_errand(
    hosts: dict[str, tuple[str, bool]], stored: list[str]
) -> None:
    known = {name: {"build_id": build, "has": has} for name, (build, has) in hosts.items()}
    elected = mooncake_source.elect(known, stored, [], [])
    assert set(elected) == {build for build, has in hosts.values() if not has}
    for build, errand in elected.items():
        assert errand["host"] is None or known[errand["host"]]["build_id"] == build
        assert (errand["action"] == "ship") == (build in stored)


def test_the_newest_builds_are_kept() -> None:
    builds = [
        {"build_id": name, "created": f"2026-01-0{day}"} for day, name in enumerate("abcd", 1)
    ]
    assert mooncake_source.builds_to_remove(builds, "a", 2) == ["b"]
    assert mooncake_source.builds_to_remove(builds, "d", 0) == ["c", "b", "a"]
    assert mooncake_source.builds_to_remove(builds, "d", 9) == []


def test_git_is_told_of_mirrors() -> None:
    text = mooncake_source.redirects({"https://github.com/": "git://mirror/"})
    assert text == '[url "git://mirror/"]\n\tinsteadOf = https://github.com/\n'
    assert mooncake_source.redirects({}) == ""
