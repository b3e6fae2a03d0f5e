# SPDX-License-Identifier: Apache-2.0
"""Variables of the role mooncake_master: each mistake is named with a fix, all of them at once."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.kvcache.ascend.plugins.module_utils import mooncake_master_settings
from hypothesis import given
from hypothesis import strategies as st

MOONCAKE = {
    "version": "0.3.13",
    "master_flags": [
        {"name": "rpc_port", "type": "int"},
        {"name": "metrics_port", "type": "int"},
        {"name": "client_ttl", "type": "int"},
    ],
}
GOOD: dict[str, Any] = {
    "address": "npu-01",
    "bind_address": "0.0.0.0",
    "user": "mooncake",
    "root": "/opt/kvcache/mooncake",
    "environment": {"LD_LIBRARY_PATH": "/usr/local/Ascend/lib64"},
    "writable_paths": ["/srv/snapshots"],
    "own_flags": {"rpc_port": 50088, "metrics_port": 10022},
    "flag_variables": {"rpc_port": "mooncake_master_rpc_port"},
    "flags": {"client_ttl": 120},
    "transfer_timeout_ms": 10000,
}


def problems(**changed: Any) -> list[str]:
    return mooncake_master_settings.problems({**GOOD, **changed}, MOONCAKE)


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"bind_address": "::"},
        {"bind_address": "192.0.2.11"},
        {"bind_address": "127.0.0.1", "address": "127.0.0.1"},
        {"bind_address": "::1", "address": "[::1]"},
        {"flags": {}, "environment": {}, "writable_paths": []},
        {"user": "svc.mooncake"},
    ],
)
def test_good_settings_have_no_problem(changed: dict[str, Any]) -> None:
    assert problems(**changed) == []


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (
            {"flags": "client_ttl=120"},
            "mooncake_master_flags: is 'client_ttl=120', expected a dict",
        ),
        (
            {"flags": ["client_ttl"]},
            "mooncake_master_flags: is a list (['client_ttl']), expected",
        ),
        ({"flags": None}, "mooncake_master_flags: is empty, expected a dict"),
        ({"flags": 5}, "mooncake_master_flags: is 5, expected a dict"),
        ({"flags": {"ttl": 1}}, "mooncake_master_flags.ttl: Mooncake 0.3.13 knows no such flag"),
        (
            {"environment": "A=1"},
            "mooncake_master_environment: is 'A=1', expected a dict",
        ),
        (
            {"environment": {"A B": 1}},
            "mooncake_master_environment: 'A B' is no name of a variable",
        ),
        (
            {"writable_paths": "/a"},
            "mooncake_master_writable_paths: is '/a', expected a list",
        ),
        ({"writable_paths": ["srv"]}, "mooncake_master_writable_paths: 'srv' is no absolute path"),
        (
            {"writable_paths": ["/a b"]},
            "mooncake_master_writable_paths: '/a b' is no absolute path",
        ),
        ({"bind_address": "0"}, "mooncake_master_bind_address: 0 is no IP address"),
        (
            {"bind_address": "224.0.0.1"},
            "224.0.0.1 is the address of a group of hosts. Fix: set it to",
        ),
        ({"bind_address": "eth0:1"}, "mooncake_master_bind_address: 'eth0:1' is no host name"),
        ({"bind_address": "127.0.0.1"}, "reached from its own host only, not at npu-01"),
        ({"user": "root"}, "mooncake_master_user: is root"),
        ({"user": "moon cake"}, "mooncake_master_user: 'moon cake' is no name of a user"),
        ({"root": "/home/ops/mooncake"}, "mooncake_root: /home/ops/mooncake is below /home"),
        ({"own_flags": {"rpc_port": 1, "metrics_port": 1}}, "are both 1"),
    ],
)
def test_each_mistake_is_named_with_a_fix(changed: dict[str, Any], words: str) -> None:
    (found,) = problems(**changed)
    assert words in found
    assert "Fix:" in found


def test_all_mistakes_are_told_at_once() -> None:
    found = problems(
        flags={"ttl": 1, "client_ttl": "long"},
        own_flags={"rpc_port": 70000, "metrics_port": 10022},
        environment=[],
        writable_paths="/a",
        bind_address="1",
        user="root",
        root="/tmp/x",
    )
    assert len(found) == 8


ANYTHING = st.one_of(
    st.none(),
    st.text(),
    st.integers(),
    st.lists(st.text()),
    st.dictionaries(st.text(), st.one_of(st.text(), st.integers())),
)


@given(ANYTHING, ANYTHING, ANYTHING)
def test_values_of_any_kind_give_messages_not_exceptions(
    flags: Any, environment: Any, paths: Any
) -> None:
    found = problems(flags=flags, environment=environment, writable_paths=paths)
    assert all("Fix:" in problem for problem in found)
