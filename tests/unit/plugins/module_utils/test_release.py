# SPDX-License-Identifier: Apache-2.0
"""A release is found by name and put together; versions are ordered as the packaging library orders them."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.kvcache.ascend.plugins.filter import release as release_filters
from ansible_collections.kvcache.ascend.plugins.module_utils import release
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

NUMBERS = st.integers(min_value=0, max_value=30)
SEPARATORS = st.sampled_from(["", ".", "-", "_"])


@st.composite
def versions(draw: st.DrawFn) -> str:
    """Draw X.Y.Z, possibly with a, b or rc, and with post."""
    text = ".".join(map(str, draw(st.lists(NUMBERS, min_size=1, max_size=4))))
    if draw(st.booleans()):
        phase = draw(st.sampled_from(["a", "b", "rc", "alpha", "beta", "c", "RC"]))
        text += f"{draw(SEPARATORS)}{phase}{draw(st.one_of(st.just(''), NUMBERS.map(str)))}"
    if draw(st.booleans()):
        text += f"{draw(SEPARATORS)}post{draw(st.one_of(st.just(''), NUMBERS.map(str)))}"
    return text


def flag(name: str, default: Any, since: str = "0.1", **more: Any) -> dict[str, Any]:
    return {"name": name, "type": "int", "since": since, "default": default, "summary": "", **more}


FLAGS = [
    flag("rpc_port", 0),
    flag("port", 50051, replaced_by="rpc_port"),
    flag("rpc_thread_num", 0),
    flag("max_threads", 4, until="0.3.12"),
    flag("max_threads", 16, since="0.3.12"),
    flag("metrics_port", 9003),
    flag("default_kv_lease_ttl", 5000),
    flag("client_ttl", 10),
    flag("eviction_high_watermark_ratio", 0.95),
    flag("eviction_ratio", 0.05),
    flag("metrics_host", "0.0.0.0", since="0.3.13"),
]
MOONCAKE = {
    "0.3.9": {"wheels": {"npu": None, "cpu": None}},
    "0.3.11.post1": {"wheels": {"npu": {"package": "for-npu"}, "cpu": None}},
    "0.3.13.post1": {"wheels": {"npu": None, "cpu": {"package": "for-cpu"}}},
}
CONNECTORS = {"0.23": {"platform": "npu", "name": "A"}, "cpu": {"platform": "cpu", "name": "B"}}


def row(name: str = "0.23.0", **more: Any) -> dict[str, Any]:
    base = {
        "name": name,
        "platform": "npu",
        "mooncake_version": "0.3.11.post1",
        "connector": "0.23",
    }
    return {**base, **more}


def compose(name: str, *rows: dict[str, Any]) -> dict[str, Any]:
    return release.compose(name, list(rows), MOONCAKE, FLAGS, CONNECTORS)


@given(versions(), versions())
def test_versions_are_ordered_as_packaging_orders_them(first: str, second: str) -> None:
    ours = (release.version_key(first), release.version_key(second))
    theirs = (Version(first), Version(second))
    assert (ours[0] < ours[1]) == (theirs[0] < theirs[1])
    assert (ours[0] == ours[1]) == (theirs[0] == theirs[1])


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("8.3.RC1", "8.3.RC2"),
        ("8.3.RC2", "8.5.0"),
        ("0.3.7", "0.3.7.post2"),
        ("0.3.9", "0.3.10"),
        ("0.11.0rc3", "0.11.0"),
        ("v0.3.8", "0.3.8.post1"),
    ],
)
def test_versions_of_cann_and_mooncake_are_ordered(older: str, newer: str) -> None:
    assert release.version_key(older) < release.version_key(newer)


@pytest.mark.parametrize("text", ["", "latest", "1.x", "2.13.0+cpu", "1!2.0", "1.0.dev1", "0.3 .7"])
def test_what_is_no_version_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a version"):
        release.version_key(text)


def test_a_flag_is_known_from_since_up_to_until() -> None:
    flags = [flag("a", 1, since="0.3.8", until="0.3.10")]
    known = [
        v
        for v in ("0.3.7.post2", "0.3.8", "0.3.9", "0.3.10", "0.3.11")
        if release.flags_known(v, flags)
    ]
    assert known == ["0.3.8", "0.3.9"]


def test_a_flag_of_two_periods_is_known_once_with_the_default_of_its_time() -> None:
    old, new = (
        {f["name"]: f for f in release.flags_known(v, FLAGS)} for v in ("0.3.11.post1", "0.3.12")
    )
    assert (old["max_threads"]["default"], new["max_threads"]["default"]) == (4, 16)


def test_flags_are_sorted_and_say_when_nothing_replaces_them() -> None:
    known = release.flags_known("0.3.11", FLAGS)
    assert [f["name"] for f in known] == sorted(f["name"] for f in known)
    assert {f["name"]: f["replaced_by"] for f in known}["port"] == "rpc_port"
    assert {f["name"]: f["replaced_by"] for f in known}["rpc_port"] is None


def test_an_unknown_release_is_answered_with_the_known_and_the_closest() -> None:
    with pytest.raises(ValueError) as caught:
        compose("0.11.0rc4", row("0.11.0rc3"), row("0.13.0"))
    assert str(caught.value) == (
        "release_name '0.11.0rc4' is unknown. Known: 0.11.0rc3, 0.13.0. Did you mean 0.11.0rc3? "
        "Add a row of your own with release_extra_rows."
    )


def test_no_guess_is_made_where_nothing_is_close() -> None:
    with pytest.raises(ValueError) as caught:
        compose("latest", row("0.11.0rc3"))
    assert "Did you mean" not in str(caught.value)


def test_a_name_without_quotes_is_a_number_and_still_answered() -> None:
    with pytest.raises(ValueError, match=r"release_name '0\.11' is unknown"):
        release.compose(0.11, [row("0.11.0")], MOONCAKE, FLAGS, CONNECTORS)  # type: ignore[arg-type]


def test_an_unknown_mooncake_version_names_the_row_and_the_known_ones() -> None:
    with pytest.raises(ValueError) as caught:
        compose("mine", row("mine", mooncake_version="0.3.11"))
    assert str(caught.value) == (
        "release 'mine' has mooncake_version '0.3.11', which is unknown. Known: 0.3.9, 0.3.11.post1, 0.3.13.post1. "
        "Did you mean 0.3.11.post1? Correct it in release_extra_rows."
    )


def test_an_unknown_connector_names_the_row_and_the_known_ones() -> None:
    with pytest.raises(
        ValueError, match=r"release 'mine' has connector '0\.22'.*Known: 0\.23, cpu"
    ):
        compose("mine", row("mine", connector="0.22"))


def test_a_connector_of_the_other_platform_is_refused() -> None:
    with pytest.raises(ValueError) as caught:
        compose("mine", row("mine", platform="cpu"))
    assert str(caught.value) == (
        "release 'mine' is for platform cpu, but its connector '0.23' is for npu. Choose one of: cpu."
    )


def test_a_later_row_replaces_an_earlier_one_of_the_same_name() -> None:
    rows = [row("a", summary="built-in"), row("b"), row("a", summary="ours")]
    assert compose("a", *rows)["summary"] == "ours"
    assert release.known_names(rows) == ["a", "b"]


def test_what_a_row_leaves_out_is_there_as_not_known() -> None:
    spec = compose(
        "a",
        row("a", cann={"recommended": "9.1.0"}, overrides=[{"package": "triton", "reason": "x"}]),
    )
    assert set(release.ROW_DEFAULTS) <= set(spec)
    assert spec["cann"] == {"min": None, "recommended": "9.1.0"}
    assert spec["overrides"] == [{"package": "triton", "specifier": None, "reason": "x"}]
    assert spec["driver"] is None


def test_mooncake_and_connector_take_the_place_of_their_names() -> None:
    spec = compose("a", row("a"))
    assert "mooncake_version" not in spec
    assert spec["connector"] == {"family": "0.23", "platform": "npu", "name": "A"}
    assert spec["mooncake"]["version"] == "0.3.11.post1"
    assert "metrics_host" not in [f["name"] for f in spec["mooncake"]["master_flags"]]
    cpu = compose("c", row("c", platform="cpu", connector="cpu", mooncake_version="0.3.13.post1"))
    assert "metrics_host" in [f["name"] for f in cpu["mooncake"]["master_flags"]]


@pytest.mark.parametrize(
    ("platform", "version", "wheel"),
    [
        ("npu", "0.3.11.post1", {"package": "for-npu"}),
        ("npu", "0.3.13.post1", None),
        ("cpu", "0.3.13.post1", {"package": "for-cpu"}),
    ],
)
def test_the_wheel_is_the_one_for_the_platform(platform: str, version: str, wheel: Any) -> None:
    connector = "cpu" if platform == "cpu" else "0.23"
    spec = compose("a", row("a", platform=platform, connector=connector, mooncake_version=version))
    assert spec["mooncake"]["wheel"] == wheel
    assert "wheels" not in spec["mooncake"]


def test_the_masters_defaults_come_from_its_flags() -> None:
    assert compose("a", row("a"))["mooncake"]["defaults"] == {
        "rpc_port": 50051,
        "metrics_port": 9003,
        "rpc_threads": 4,
        "kv_lease_ms": 5000,
        "client_ttl_seconds": 10,
        "eviction_high_watermark_ratio": 0.95,
        "eviction_ratio": 0.05,
    }


def test_the_tables_are_not_changed_by_who_changes_the_result() -> None:
    rows = [row("a", pins={"numpy": "<2"})]
    before = copy.deepcopy((rows, MOONCAKE, FLAGS, CONNECTORS, release.ROW_DEFAULTS))
    spec = compose("a", *rows)
    spec["pins"]["x"] = spec["connector"]["x"] = spec["mooncake"]["wheel"]["x"] = "changed"
    spec["notes"].append("changed")
    spec["mooncake"]["master_flags"][0]["default"] = "changed"
    assert (rows, MOONCAKE, FLAGS, CONNECTORS, release.ROW_DEFAULTS) == before


def test_the_filters_read_the_tables_and_raise_ansibles_error() -> None:
    filters = release_filters.FilterModule().filters()
    tables = release_filters.load_tables()
    extra = {**release.find_row("cpu", tables["releases"]), "name": "ours"}
    spec = filters["release_spec"]("ours", [extra])
    assert spec == {**filters["release_spec"]("cpu", []), "name": "ours"}
    assert filters["release_problem"]("ours", [extra]) == ""
    with pytest.raises(AnsibleFilterError, match=r"release_name 'ours' is unknown\. Known: 0\.11"):
        filters["release_spec"]("ours", [])
    assert filters["release_problem"]("b", []).startswith("release_name 'b' is unknown")
