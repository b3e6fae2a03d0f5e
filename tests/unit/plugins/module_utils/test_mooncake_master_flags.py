# SPDX-License-Identifier: Apache-2.0
"""Flags of the master: known, typed, fitting each other, and written as arguments."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.kvcache.ascend.plugins.module_utils import mooncake_master_flags as flags
from hypothesis import given
from hypothesis import strategies as st

MOONCAKE = {
    "version": "0.3.9",
    "master_flags": [
        {"name": "rpc_port", "type": "int"},
        {"name": "port", "type": "int", "replaced_by": "rpc_port"},
        {"name": "metrics_port", "type": "int"},
        {"name": "http_metadata_server_port", "type": "int"},
        {"name": "enable_http_metadata_server", "type": "bool"},
        {"name": "enable_ha", "type": "bool"},
        {"name": "rpc_thread_num", "type": "uint"},
        {"name": "eviction_ratio", "type": "double"},
        {"name": "eviction_high_watermark_ratio", "type": "double"},
        {"name": "default_kv_lease_ttl", "type": "duration"},
        {"name": "root_fs_dir", "type": "string"},
    ],
}
GOOD: dict[str, Any] = {
    "rpc_port": 50088,
    "metrics_port": 10022,
    "rpc_thread_num": 32,
    "eviction_ratio": 0.05,
    "eviction_high_watermark_ratio": 0.9,
    "default_kv_lease_ttl": 11000,
}


def problems(**changed: Any) -> list[str]:
    return flags.problems({**GOOD, **changed}, MOONCAKE, {"rpc_port": "my_port"}, {}, 10000)


def test_good_flags_have_no_problem() -> None:
    assert problems() == []
    assert problems(enable_http_metadata_server=True, http_metadata_server_port="8080") == []


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (
            {"evition_ratio": 0.1},
            "knows no such flag and would not start. Fix: remove it; did you mean eviction_ratio?",
        ),
        ({"frobnicate": 1}, "docs/releases.md"),
        ({"port": 50051}, "Fix: set rpc_port instead"),
        ({"enable_ha": True}, "not supported yet"),
        ({"rpc_thread_num": "many"}, "'many' is not of type uint"),
        ({"rpc_thread_num": -1}, "-1 is not of type uint"),
        ({"rpc_thread_num": True}, "True is not of type uint"),
        ({"enable_http_metadata_server": "perhaps"}, "is not of type bool"),
        ({"eviction_ratio": "half"}, "is not of type double"),
        ({"default_kv_lease_ttl": "soon"}, "is not of type duration"),
        ({"root_fs_dir": "/mnt/my pool"}, "has a blank"),
        ({"root_fs_dir": "/mnt/$HOME"}, "which systemd would change"),
        ({"root_fs_dir": "/x\n"}, "has a blank"),
        ({"rpc_port": "٥٠٠٨٨"}, "is not of type int"),
        ({"rpc_port": 70000}, "rpc_port: 70000 is not a port"),
        ({"metrics_port": 50088}, "rpc_port and metrics_port are both 50088"),
        ({"eviction_ratio": 2.5}, "2.5 is not a share"),
        ({"eviction_ratio": 0.95}, "is not below eviction_high_watermark_ratio 0.9"),
        ({"default_kv_lease_ttl": 10000}, "not longer than the longest transfer timeout"),
        ({"default_kv_lease_ttl": "5s"}, "5000 ms is not longer"),
    ],
)
def test_each_mistake_is_named_with_a_fix(changed: dict[str, Any], words: str) -> None:
    found = problems(**changed)
    assert len(found) == 1
    assert words in found[0]
    assert "Fix:" in found[0]


def test_unused_metadata_port_may_be_anything() -> None:
    assert problems(http_metadata_server_port=50088) == []


def test_a_flag_with_a_variable_of_its_own_is_refused_in_the_free_flags() -> None:
    found = flags.problems(GOOD, MOONCAKE, {"rpc_port": "my_port"}, {"rpc_port": 1}, 10000)
    assert found == [
        "mooncake_master_flags.rpc_port: has a variable of its own. Fix: set my_port instead."
    ]


def test_all_mistakes_are_reported_at_once() -> None:
    assert len(problems(frobnicate=1, rpc_thread_num="many", root_fs_dir="a b")) == 3
    assert len(problems(rpc_port=0, eviction_ratio=3, default_kv_lease_ttl=1)) == 3


def test_single_mistakes_do_not_hide_those_between_flags() -> None:
    found = problems(frobnicate=1, eviction_ratio="half", metrics_port=50088, rpc_thread_num=-1)
    words = ("frobnicate", "'half'", "-1", "rpc_port and metrics_port are both 50088")
    assert len(found) == len(words)
    assert all(any(word in problem for problem in found) for word in words)


def test_arguments_are_sorted_and_booleans_are_lower_case() -> None:
    text = flags.arguments({"rpc_port": 50088, "enable_offload": True, "eviction_ratio": 0.05})
    assert text == "--enable_offload=true --eviction_ratio=0.05 --rpc_port=50088"


@given(st.text())
def test_durations_never_raise(text: str) -> None:
    milliseconds = flags.duration_ms(text)
    assert milliseconds is None or milliseconds >= 0


@given(st.dictionaries(st.text(), st.one_of(st.text(), st.integers(), st.booleans(), st.floats())))
def test_any_free_flags_give_messages_not_exceptions(free: dict[str, Any]) -> None:
    assert isinstance(flags.problems({**GOOD, **free}, MOONCAKE, {}, free, 10000), list)
