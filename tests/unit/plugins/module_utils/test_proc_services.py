# SPDX-License-Identifier: Apache-2.0
"""Who listens on a port, read from /proc: the real one of this machine, and canned texts."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.kvcache.ascend.plugins.module_utils import proc_services


def test_a_unit_that_does_not_listen_yet_is_awaited_and_a_stranger_does_not_count() -> None:
    stranger, own = {"port": 7, "unit": "other.service"}, {"port": 7, "unit": "store.service"}
    looks: list[list[dict[str, Any]]] = [[], [stranger], [own], []]
    pauses: list[float] = []
    found = proc_services.await_listeners(
        "store.service",
        [7],
        60,
        look=lambda _ports: looks.pop(0),
        clock=lambda: 0.0,
        sleep=pauses.append,
    )
    assert (found, len(pauses)) == ([own], 2)


def test_waiting_ends() -> None:
    times = iter([0.0, 0.0, 1.0, 2.0])
    found = proc_services.await_listeners(
        "store.service",
        [7],
        2,
        look=lambda _ports: [],
        clock=lambda: next(times),
        sleep=lambda _s: None,
    )
    assert found == []


def test_a_listener_of_this_process_is_found_with_its_pid() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        found = proc_services.listeners([port])
    assert [(item["port"], item["pid"]) for item in found] == [(port, os.getpid())]
    assert found[0]["command"] == Path("/proc/self/comm").read_text().strip()


def test_a_listener_on_ipv6_is_found() -> None:
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as server:
        port = server.getsockname()[1]
        assert [item["pid"] for item in proc_services.listeners([port])] == [os.getpid()]


def test_a_free_port_and_a_connected_one_are_not_listed() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = socket.create_connection(server.getsockname())
        client_port = client.getsockname()[1]
        assert proc_services.listeners([client_port]) == []
        client.close()


def test_a_process_that_may_not_be_seen_leaves_nulls(tmp_path: Path) -> None:
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "tcp").write_text(
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
        "   0: 00000000:C3A8 00000000:0000 0A 00000000:00000000 00:00000000 00000000   998        0 4242 1\n"
    )
    expected = [{"port": 50088, "uid": 998, "pid": None, "command": None, "unit": None}]
    assert proc_services.listeners([50088], str(tmp_path)) == expected


def test_unit_of_both_cgroup_versions() -> None:
    version_1 = (
        "12:cpu:/docker/0a\n1:name=systemd:/docker/0a/system.slice/mooncake-master.service\n"
    )
    assert proc_services.unit_of(version_1) == "mooncake-master.service"
    assert proc_services.unit_of("0::/system.slice/ssh.service\n") == "ssh.service"
    assert proc_services.unit_of("0::/user.slice/user-0.slice/session-1.scope\n") is None


def test_environment_and_properties() -> None:
    block = "A=1\0KVCACHE_CONFIG=abc=def\0BROKEN\0"
    wanted = ["KVCACHE_CONFIG", "ABSENT"]
    assert proc_services.parse_environment(block, wanted) == {
        "KVCACHE_CONFIG": "abc=def",
        "ABSENT": None,
    }
    assert proc_services.parse_environment("", wanted) is None
    assert proc_services.owner_uid("Name:\tx\nUid:\t998\t998\t998\t998\n") == 998
    assert proc_services.owner_uid("") is None
    assert proc_services.parse_properties("MainPID=12\nNRestarts=\n") == {
        "MainPID": "12",
        "NRestarts": "",
    }


def listener(**changed: Any) -> dict[str, Any]:
    known = {"port": 10022, "uid": 998, "pid": 7, "command": "mooncake_master", "unit": "m.service"}
    return {**known, **changed}


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({}, None),
        ({"pid": None, "command": None, "unit": None}, None),
        (
            {"unit": "web.service", "command": "nginx"},
            "port 10022 (my_port) is taken by nginx (pid 7, web.service). Fix: stop it",
        ),
        (
            {"pid": None, "command": None, "unit": None, "uid": 0},
            "a process that can not be looked at (pid unknown, no systemd unit)",
        ),
        ({"unit": None}, "(pid 7, no systemd unit)"),
    ],
)
def test_port_problems(changed: dict[str, Any], words: str | None) -> None:
    service = {"main_uid": 998, "listeners": [listener(**changed)]}
    found = proc_services.port_problems(service, "m.service", {"my_port": 10022}, "host-1")
    assert len(found) == (words is not None)
    assert words is None or words in found[0]
