# SPDX-License-Identifier: Apache-2.0
"""Which master a host shall use, by the inventory and by mooncake_master_address."""

from __future__ import annotations

import pytest
from ansible_collections.kvcache.ascend.plugins.module_utils import mooncake_master_place as place
from hypothesis import given
from hypothesis import strategies as st

ONE = {"all": ["a", "b"], "mooncake_master": ["a"], "vllm": ["a", "b"]}
EMPTY = {**ONE, "mooncake_master": []}
MISSING = {"all": ["a", "b"], "ungrouped": [], "vllm": ["a", "b"]}
TWO = {**ONE, "mooncake_master": ["a", "b"]}


@pytest.mark.parametrize("address", ["a", "192.0.2.1", "fd00::1", "[fd00::1]", "fe80::1%eth0"])
@pytest.mark.parametrize("groups", [ONE, EMPTY, MISSING])
def test_an_address_is_enough_and_so_is_the_group(groups: dict, address: str) -> None:
    assert place.place_problem(groups, address, "b") == ""


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        (
            EMPTY,
            "the group mooncake_master has no host: without a master there is no pool. Fix: have",
        ),
        (MISSING, "has no group mooncake_master (it has: vllm): without a master there is no pool"),
        ({}, "has no group mooncake_master (it has: no group at all)"),
    ],
)
def test_no_master_and_no_address(groups: dict, words: str) -> None:
    assert words in place.place_problem(groups, "", "b")
    assert words in place.inventory_problem(groups, [])


def test_two_masters_whatever_the_address_is() -> None:
    for found in (place.place_problem(TWO, "a", "b"), place.inventory_problem(TWO, ["a"])):
        assert "has 2 hosts (a, b), expected one: two masters would be two pools. Fix:" in found


def test_a_master_on_another_host_than_the_group_names() -> None:
    assert place.place_problem(ONE, "a", "a", is_here=True) == ""
    assert place.place_problem(MISSING, "b", "b", is_here=True) == ""
    assert "the group mooncake_master names a" in place.place_problem(ONE, "a", "b", is_here=True)


@pytest.mark.parametrize("address", ["127.0.0.1", "127.8.0.1", "::1", "[::1]", "localhost"])
def test_a_loopback_address_is_good_on_the_master_alone(address: str) -> None:
    assert place.place_problem(ONE, address, "a") == ""
    found = place.place_problem(ONE, address, "b")
    assert "Fix: set it to a name or IP address of a that every host reaches." in found


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("0", "mooncake_master_address: 0 is no IP address. Fix: write its four numbers"),
        ("[::0]", "mooncake_master_address: ::0 is an address to listen on. Fix: give the name"),
        ("a:50088", "'a:50088' is no host name and no IP address. Fix: give the host alone"),
        ("[fd00::1]:50088", "Fix: give the host alone, its port is mooncake_master_rpc_port"),
        ("http://a", "'http://a' is no host name and no IP address. Fix: give the host alone"),
        ("etcd://a:2379", "HA addresses are not supported yet. Fix: give the host of the leader"),
        ("a b", "'a b' is no host name and no IP address. Fix: correct it."),
        (" ", "is empty. Fix: set it"),
    ],
)
def test_what_is_no_address_is_named_with_a_fix(address: str, words: str) -> None:
    assert words in place.place_problem(ONE, address, "b")


def test_an_inventory_that_gives_nothing_to_do() -> None:
    found = place.inventory_problem({"all": ["a"], "servers": ["a"]}, ["master.example.com"])
    assert "no host in the groups mooncake_master and vllm: there is nothing to do. Fix:" in found
    assert place.inventory_problem(MISSING, ["master.example.com"]) == ""
    assert place.inventory_problem(ONE, []) == ""


@pytest.mark.parametrize(
    ("address", "joined"),
    [
        ("a", "a:1"),
        ("fd00::1", "[fd00::1]:1"),
        ("[fd00::1]", "[fd00::1]:1"),
        ("10.0.0.1", "10.0.0.1:1"),
    ],
)
def test_endpoint(address: str, joined: str) -> None:
    assert place.endpoint(address, 1) == joined


@given(st.text())
def test_an_address_without_a_problem_can_be_asked(address: str) -> None:
    if place.address_problem(address) == "":
        place.master_address.parse(place.endpoint(address, 50088))


@pytest.mark.parametrize("name", ["mooncake_masters", "Mooncake-Master", "vllms", "vlm"])
def test_a_group_that_is_mistyped_is_named(name: str) -> None:
    groups = {"all": ["a", "b"], "ungrouped": [], name: ["a"], "vllm": ["b"]}
    problem = place.inventory_problem(groups, ["a"])
    meant = "vllm" if name.lower().startswith("v") else "mooncake_master"
    assert problem.startswith(f"the inventory has a group {name}, which nothing looks at, with a.")
    assert f"Fix: rename it to {meant}" in problem


@pytest.mark.parametrize("name", ["vllm_a", "vllm1", "racks", "mooncake_store"])
def test_other_groups_are_the_sites_own(name: str) -> None:
    groups = {"all": ["a", "b"], "mooncake_master": ["a"], name: ["b"], "vllm": ["b"]}
    assert place.inventory_problem(groups, []) == ""
