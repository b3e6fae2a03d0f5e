# SPDX-License-Identifier: Apache-2.0
"""A store node: what its variables may be, what is written of them, and what its journal says."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.kvcache.ascend.plugins.module_utils import store_node, store_node_journal
from store_nodes import GOOD

# As mooncake_client 0.3.13 prints it.
HELP = """\
mooncake_client: Warning: SetUsageMessage() never called

  Flags from /src/mooncake-store/src/real_client_main.cpp:
    -global_segment_size (Size of global segment) type: string default: "4 GB"
    -threads (Number of threads for client service) type: int32 default: 1
"""

UNIT = "mooncake-store.service"
START = f"Starting {UNIT} - Mooncake store node...\nStarted {UNIT} - Mooncake store node.\n"
FATAL = "F1130 19:02:42.916069 20479 real_client_main.cpp:134] Failed to setup client: "
AFTER = (
    f"*** Check failure stack trace: ***\n{UNIT}: Main process exited, code=dumped, status=6/ABRT\n"
)
NO_MASTER = """\
E1130 19:03:37.186514 21495 master_client.cpp:361] Client not available
W1130 19:03:37.278749 21464 real_client.cpp:858] Failed to create client on port 14276, retry 8/20
I1130 19:03:37.378942 21464 client_metric.cpp:102] Client metrics enabled (default enabled)
"""
OTHER_VERSION = """\
E1130 19:07:41.716849 19315 master_client.cpp:208] RPC call failed: invalid rpc arg
E1130 19:07:41.717442 19296 real_client.cpp:263] Failed to mount segment: RPC_FAIL
"""
NO_MEMORY = "E1130 19:02:42.916064 20479 real_client.cpp:1020] Failed to allocate segment memory\n"


def problems(**changed: Any) -> list[str]:
    return store_node.problems({**GOOD, **changed})


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"address": "192.0.2.13"},
        {"address": "fd00::13"},
        {"address": "127.0.0.1", "is_alone": True},
        {"segment_size": 16 << 20, "flags": {"threads": 4, "enable_offload": True}},
        {"environment": {"MC_LOG_LEVEL": "INFO"}},
    ],
)
def test_good_settings_have_no_problem(changed: dict[str, Any]) -> None:
    assert problems(**changed) == []


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"protocol": None, "release": "0.23.0"}, "release 0.23.0 has no store nodes"),
        ({"address": ""}, "store_node_address: is empty"),
        ({"address": "0.0.0.0"}, "store_node_address: 0.0.0.0 is an address to listen on"),
        ({"address": "127.0.0.1"}, "store_node_address: 127.0.0.1 is each host itself"),
        ({"address": "npu 03"}, "store_node_address: 'npu 03' is no host name"),
        ({"port": 80}, "store_node_port: is 80, expected a whole number from 1024"),
        ({"port": True}, "store_node_port: is true, expected"),
        ({"segment_size": "40G"}, "store_node_segment_size: is '40G', expected a size"),
        ({"segment_size": 40}, "store_node_segment_size: 40 is 40 bytes, expected at least 16 MiB"),
        ({"user": "root"}, "store_node_user: is root, but a store node runs unprivileged"),
        ({"root": "/tmp/mooncake"}, "mooncake_root: "),
        ({"flags": ["threads"]}, "store_node_flags: is a list"),
        ({"flags": {"port": 1}}, "store_node_flags.port: is set by the role. Fix: remove it; it is made from"),
        ({"flags": {"device_names": "a b"}}, "store_node_flags.device_names: 'a b' has a blank"),
        ({"environment": "A=1"}, "store_node_environment: is 'A=1', expected a dict"),
        ({"environment": {"KVCACHE_CONFIG": "1"}}, "store_node_environment: KVCACHE_CONFIG is set by the role"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_alone_and_with_its_fix(changed: dict[str, Any], words: str) -> None:
    (text,) = problems(**changed)
    assert words in text
    assert "Fix: " in text


def test_all_mistakes_are_told_at_once() -> None:
    assert len(problems(port=1, segment_size="x", user="root", flags=3, environment=3)) == 5


def test_sizes_are_written_in_bytes_since_the_client_reads_40gib_as_nothing() -> None:
    line = store_node.arguments({**GOOD, "flags": {"threads": 4}})
    assert line.split() == [
        "--global_segment_size=42949672960",
        "--host=npu-03:50052",
        "--master_server_address=npu-01:50088",
        "--metadata_server=P2PHANDSHAKE",
        "--port=50052",
        "--protocol=tcp",
        "--threads=4",
    ]


def test_the_segment_is_named_by_address_and_port() -> None:
    assert store_node.segments(GOOD) == {"npu-03:50052": 40 << 30}
    assert list(store_node.segments({**GOOD, "address": "fd00::13"})) == ["[fd00::13]:50052"]


def test_a_flag_that_the_program_does_not_know() -> None:
    (text,) = store_node.unknown_flags({"thread": 4, "threads": 4}, HELP)
    assert "store_node_flags.thread: this mooncake_client knows no such flag" in text
    assert "Did you mean threads?" in text
    assert store_node.unknown_flags({"thread": 4}, "no help") == []


@pytest.mark.parametrize(
    ("journal", "active", "words"),
    [
        (START + NO_MASTER, "active", "it does not reach the master. Fix: check the master"),
        (START + NO_MASTER + FATAL + "RPC_FAIL\n" + AFTER, "activating", "it does not reach the master"),
        (START + OTHER_VERSION + FATAL + "RPC_FAIL\n" + AFTER, "activating", "the master speaks another version"),
        (START + NO_MEMORY + FATAL + "INVALID_PARAMS\n" + AFTER, "activating", "has not the memory for its segment"),
        (START + FATAL + "INTERNAL\n" + AFTER, "activating", "it refuses to start: Failed to setup client: INTERNAL"),
        ("ERROR: unknown command line flag 'nosuch'", "activating", "remove it from store_node_flags"),
        (START + f"{UNIT}: Main process exited, code=exited, status=1/FAILURE\n", "activating", "can't listen on its port"),
        (START + NO_MASTER + f"{UNIT}: Main process exited, code=killed, status=9/KILL\n", "active", "killed by signal 9"),
        (START, "active", "compare /etc/kvcache/store.env"),
        (f"Stopping {UNIT} - Mooncake store node...\nStopped {UNIT} - Mooncake store node.\n", "inactive",
         "it was stopped, by a person or another program. Fix: start it (sudo systemctl start mooncake-store)"),
    ],
)  # fmt: skip
def test_cause_and_fix(journal: str, active: str, words: str) -> None:
    assert words in store_node_journal.explain(journal, "/opt/m", {"active": active})
