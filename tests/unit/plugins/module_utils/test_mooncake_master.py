# SPDX-License-Identifier: Apache-2.0
"""The probe against real sockets: one small server for each thing that can be there."""

from __future__ import annotations

import contextlib
import errno
import socket

import pytest
from ansible_collections.kvcache.ascend.plugins.module_utils import (
    coro_rpc,
    finding,
    master_address,
    mooncake_master,
    mooncake_master_findings,
    mooncake_master_io,
)
from ansible_collections.kvcache.ascend.plugins.module_utils.mooncake_master_observation import (
    HttpSide,
)
from ansible_collections.kvcache.ascend.tests.unit import loopback_servers as servers
from hypothesis import given
from hypothesis import strategies as st

OLD_RPC = servers.rpc_answer(0, servers.BODY_WITHOUT_VERSION)
NEW_RPC = servers.rpc_answer(0, servers.BODY_WITH_VERSION)
OTHER_RPC = servers.rpc_answer(11, servers.BODY_NOT_REGISTERED)

REFUSED = object()
FILTERED = object()


@pytest.fixture
def start():
    """start(handler) -> port, for a handler of loopback_servers or for REFUSED or FILTERED."""
    with contextlib.ExitStack() as stack:

        def start_one(what) -> int:
            if what is REFUSED:
                return stack.enter_context(servers.refused_port())
            if what is FILTERED:
                return stack.enter_context(servers.filtered_port())
            return stack.enter_context(servers.serve(what))

        yield start_one


def ask(port, metrics_port, host="127.0.0.1", total_seconds=None, **options):
    return mooncake_master.ask_all(
        [master_address.MasterAddress(host, port)],
        mooncake_master.Options(metrics_port, step_timeout_seconds=0.5, **options),
        "demo-2",
        total_seconds,
    )


def only(result):
    assert len(result.findings) == 1, result.findings
    return result.findings[0]


# --- a master that serves -----------------------------------------------------------------


def test_a_new_master_with_a_pool(start):
    port, metrics_port = start(NEW_RPC), start(servers.new_master_pages())
    result = ask(port, metrics_port, min_clients=1)
    assert only(result)["severity"] == "ok"
    assert only(result)["host"] == "demo-2"
    (master,) = result.masters
    assert master["serving"] is True
    assert master["role"] == "leader"
    assert master["rpc"]["protocol_version"] == "2.0.0"
    assert master["health"]["service_ready"] is True
    assert master["metrics"]["capacity_bytes"] == 67108864
    assert master["metrics"]["allocated_bytes"] == 1000
    assert master["metrics"]["active_clients"] == 1
    assert master["metrics"]["mount_segment_failures_total"] is None


def test_an_old_master_tells_less_and_nothing_is_guessed(start):
    metrics = "master_total_capacity_bytes 67108864\n"
    result = ask(start(OLD_RPC), start(servers.old_master_pages(metrics)), min_clients=3)
    assert only(result)["severity"] == "ok"
    (master,) = result.masters
    assert master["serving"] is True
    assert master["role"] is None
    assert master["rpc"]["protocol_version"] is None
    assert master["health"]["service_ready"] is None
    assert master["metrics"]["active_clients"] is None


def test_a_number_that_json_does_not_know_is_unknown(start):
    metrics = "master_total_capacity_bytes 64\nmaster_key_count NaN\nmaster_active_clients +Inf\n"
    result = ask(start(NEW_RPC), start(servers.new_master_pages(metrics)))
    assert result.masters[0]["metrics"]["key_count"] is None
    assert result.masters[0]["metrics"]["active_clients"] is None


def test_the_metrics_port_can_be_left_out(start):
    result = ask(start(NEW_RPC), 0)
    assert only(result)["severity"] == "ok"
    assert result.masters[0]["health"]["outcome"] == "not_asked"


def test_no_client_is_told_and_with_min_clients_an_error(start):
    port = start(NEW_RPC)
    metrics_port = start(servers.new_master_pages(servers.METRICS_WITHOUT_POOL))
    found = only(ask(port, metrics_port))
    assert (found["check"], found["severity"]) == ("mooncake_master_clients", "ok")
    assert "serves; no client has joined its pool yet" in found["observed"]
    assert found["fix"] == ""
    wanted = only(ask(port, metrics_port, min_clients=1))
    assert wanted["severity"] == "error"
    assert "no client attached, capacity 0 bytes" in wanted["observed"]
    assert "see why instances or store nodes did not join" in wanted["fix"]


def test_the_empty_metrics_page_of_a_fresh_0_3_7_is_a_pool_without_clients(start):
    found = only(ask(start(OLD_RPC), start(servers.old_master_pages(""))))
    assert (found["check"], found["severity"]) == ("mooncake_master_clients", "ok")


def test_a_client_without_memory_is_a_warning(start):
    metrics = servers.METRICS_WITHOUT_POOL.replace("clients 0", "clients 1")
    found = only(ask(start(NEW_RPC), start(servers.new_master_pages(metrics))))
    assert (found["check"], found["severity"]) == ("mooncake_master_clients", "warning")
    assert "clients 1, capacity 0 bytes" in found["observed"]


def test_too_few_clients(start):
    found = only(ask(start(NEW_RPC), start(servers.new_master_pages()), min_clients=2))
    assert found["severity"] == "error"
    assert "has clients: 1" in found["observed"]
    assert found["expected"] == "at least 2 clients"


@pytest.mark.parametrize(
    ("segments", "severity", "words"),
    [
        ({"127.0.0.1:15000": 67108864}, "ok", "64 MiB of its pool are the segment 127.0.0.1:15000"),
        ({"127.0.0.1:15001": 67108864}, "error", "the segment 127.0.0.1:15001 is not in its pool"),
        # A process that was restarted counts twice until the master forgets the first.
        ({"127.0.0.1:15000": 33554432}, "error", "counts 64 MiB for the segment 127.0.0.1:15000"),
    ],
)
def test_a_segment_is_in_the_pool_with_its_size(start, segments, severity, words):
    port, metrics_port = start(NEW_RPC), start(servers.new_master_pages())
    found = only(ask(port, metrics_port, segments=segments))
    assert found["severity"] == severity
    assert words in found["observed"]


def test_a_client_without_memory_does_not_make_a_pool(start):
    metrics = servers.METRICS_WITHOUT_POOL.replace("clients 0", "clients 1")
    found = only(ask(start(NEW_RPC), start(servers.new_master_pages(metrics)), min_clients=1))
    assert found["severity"] == "error"
    assert "clients 1, capacity 0 bytes" in found["observed"]


# --- the RPC port: each situation has words of its own ---------------------------------------


@pytest.mark.parametrize(
    ("rpc", "metrics", "observed", "fix"),
    [
        (
            REFUSED,
            REFUSED,
            "127.0.0.1:{port} refused the connection",
            "start it there (sudo systemctl start mooncake-master) or correct mooncake_master_address",
        ),
        (
            REFUSED,
            servers.old_master_pages(),
            ("127.0.0.1:{port} refused the connection, but a master's metrics port {metrics_port}"),
            "compare with mooncake_master_rpc_port",
        ),
        (
            FILTERED,
            REFUSED,
            "127.0.0.1:{port} did not accept a connection: no answer within 0.5 s",
            "open {port}/tcp in the firewalls",
        ),
        (
            FILTERED,
            servers.new_master_pages(),
            "but the master's metrics port {metrics_port} did",
            "open {port}/tcp in the firewalls",
        ),
        (
            servers.pages({}, server="nginx/1.22.1"),
            REFUSED,
            ("127.0.0.1:{port} is an HTTP server (nginx/1.22.1), /health status 404"),
            "correct the port in mooncake_master_address",
        ),
        (
            servers.pages({"/health": (200, "OK")}),
            REFUSED,
            "is an HTTP server (cinatra), /health status 200",
            "correct the port in mooncake_master_address",
        ),
        (
            servers.new_master_pages(),
            REFUSED,
            "127.0.0.1:{port} is the metrics port of a Mooncake master",
            "put the RPC port (mooncake_master_rpc_port) into mooncake_master_address",
        ),
        (
            servers.old_master_pages(""),
            REFUSED,
            "127.0.0.1:{port} is the metrics port of a Mooncake master",
            "put the RPC port (mooncake_master_rpc_port) into mooncake_master_address",
        ),
        (
            OTHER_RPC,
            REFUSED,
            "127.0.0.1:{port} is another coro_rpc service, not a master (RPC error 11)",
            "give mooncake_master_rpc_port",
        ),
        (
            servers.rpc_answer(5, b"\x04oops"),
            REFUSED,
            "127.0.0.1:{port} answers with RPC error 5: oops",
            "sudo journalctl -u mooncake-master",
        ),
        (
            servers.banner(b"SSH-2.0-OpenSSH_9.2p1 Debian\r\n"),
            REFUSED,
            '127.0.0.1:{port} is another service; it says "SSH-2.0-OpenSSH_9.2p1 Debian"',
            "sudo ss -ltnp 'sport = :{port}'",
        ),
        (
            servers.banner(b"\x1b[31m\x00\xff"),
            REFUSED,
            '127.0.0.1:{port} is another service; it says ".[31m.."',
            "sudo ss -ltnp 'sport = :{port}'",
        ),
        (
            servers.closes_at_once,
            REFUSED,
            "127.0.0.1:{port} accepts connections and closes them at once",
            "another service, or a proxy with no master behind it",
        ),
        (
            servers.silent,
            REFUSED,
            "127.0.0.1:{port} accepts connections but gives no answer within 0.5 s",
            "sudo systemctl restart mooncake-master",
        ),
        (
            servers.silent,
            servers.silent,
            ", nor does its metrics port {metrics_port}",
            "sudo systemctl restart mooncake-master",
        ),
    ],
)
def test_the_rpc_port_does_not_serve(start, rpc, metrics, observed, fix):
    port, metrics_port = start(rpc), start(metrics)
    result = ask(port, metrics_port)
    found = only(result)
    assert (found["check"], found["severity"]) == ("mooncake_master_rpc", "error")
    assert observed.format(port=port, metrics_port=metrics_port) in found["observed"]
    assert fix.format(port=port) in found["fix"]
    assert result.masters[0]["serving"] is False
    assert result.masters[0]["rpc"]["is_master"] is False


def test_an_answer_to_somebody_elses_request_is_no_proof(start):
    def handler(connection: socket.socket) -> None:
        connection.recv(4096)
        header = coro_rpc.RESPONSE_HEADER.pack(0x15, 0, 0, 0, 0, 0, 0)
        connection.sendall(header)

    found = only(ask(start(handler), 0))
    assert found["check"] == "mooncake_master_rpc"
    assert "is another service" in found["observed"]


def test_a_name_that_is_not_known():
    def resolver(host, port):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    found = only(ask(50088, 10022, host="nowhere", resolver=resolver))
    assert found["check"] == "mooncake_master_name"
    assert found["observed"] == (
        "the host of nowhere:50088 cannot be resolved: Name or service not known"
    )
    assert "correct mooncake_master_address" in found["fix"]


def test_a_name_server_that_does_not_answer():
    def resolver(host, port):
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    found = only(ask(50088, 10022, host="nowhere", resolver=resolver))
    assert "/etc/resolv.conf" in found["fix"]


@pytest.mark.parametrize(
    ("error", "observed", "fix"),
    [
        (
            OSError(errno.ENETUNREACH, "Network is unreachable"),
            "127.0.0.1:50088 cannot be reached: Network is unreachable",
            "its route (ip route get)",
        ),
        (
            PermissionError(errno.EPERM, "Operation not permitted"),
            "127.0.0.1:50088 cannot be connected to: Operation not permitted",
            "a local firewall",
        ),
    ],
)
def test_no_way_to_the_host(error, observed, fix):
    def connector(target, seconds):
        raise error

    found = only(ask(50088, 10022, connector=connector))
    assert found["observed"] == observed
    assert fix in found["fix"]


def test_without_time_it_says_so():
    found = only(ask(50088, 10022, total_seconds=0.0, resolver=lambda host, port: ["127.0.0.1"]))
    assert "was not asked: the timeout of 0 s was used up" in found["observed"]


# --- the metrics port of a master that serves ------------------------------------------------


@pytest.mark.parametrize(
    ("metrics", "observed", "fix"),
    [
        (
            REFUSED,
            ("127.0.0.1:{metrics_port} refused the connection, although 127.0.0.1:{port}"),
            "compare with mooncake_master_metrics_port",
        ),
        (FILTERED, "127.0.0.1:{metrics_port} did not accept a connection", "metrics_port 0"),
        (
            servers.pages({"/health": (200, '{"status":"healthy","code":0}')}),
            "is not the metrics port of 127.0.0.1:{port} but an HTTP server (cinatra)",
            "free the port (sudo ss -ltnp 'sport = :{metrics_port}')",
        ),
        (
            servers.pages({"/health": (200, "OK"), "/metrics": (200, "node_load1 0.5\n")}),
            "is not the metrics port of 127.0.0.1:{port} but an HTTP server (cinatra)",
            "free the port",
        ),
        (
            servers.banner(b"SSH-2.0-x\r\n"),
            'is not the metrics port of 127.0.0.1:{port}; it says "SSH-2.0-x"',
            "free the port",
        ),
        (servers.closes_at_once, "closes connections at once, although", "free the port"),
        (servers.silent, "gives no answer within 0.5 s, although", "free the port"),
        (
            servers.pages({"/health": (200, '{"service_ready":true}'), "/metrics": (503, "")}),
            "127.0.0.1:{metrics_port}/metrics does not answer as it should: HTTP status 503",
            "sudo journalctl -u mooncake-master",
        ),
    ],
)
def test_the_metrics_port_is_not_the_masters(start, metrics, observed, fix):
    port, metrics_port = start(NEW_RPC), start(metrics)
    result = ask(port, metrics_port)
    found = only(result)
    assert (found["check"], found["severity"]) == ("mooncake_master_metrics", "error")
    assert observed.format(port=port, metrics_port=metrics_port) in found["observed"]
    assert fix.format(metrics_port=metrics_port) in found["fix"]
    assert result.masters[0]["serving"] is True
    assert result.masters[0]["metrics"]["capacity_bytes"] is None


# --- role ------------------------------------------------------------------------------------


def standby(leader: str):
    return servers.new_master_pages(role="standby", state="standby", ready="false", leader=leader)


@pytest.mark.parametrize(
    ("leader", "fix"),
    [
        ("null", "put the leader's host:port into mooncake_master_address"),
        (
            '"10.0.0.7:50088"',
            "put the leader's address into mooncake_master_address: 10.0.0.7:50088",
        ),
        ('"0.0.0.0:50088"', "start the leader with its real rpc_address"),
    ],
)
def test_a_standby(start, leader, fix):
    port = start(REFUSED)
    result = ask(port, start(standby(leader)))
    found = only(result)
    assert found["check"] == "mooncake_master_role"
    assert found["observed"] == f"127.0.0.1:{port} is a standby master and does not serve"
    assert fix in found["fix"]
    assert result.masters[0]["role"] == "standby"


def test_a_standby_that_answers_the_rpc_does_not_serve_either(start):
    metrics_port = start(servers.new_master_pages(role="standby", ready="true"))
    result = ask(start(NEW_RPC), metrics_port)
    assert only(result)["check"] == "mooncake_master_role"
    assert result.masters[0]["serving"] is False


@pytest.mark.parametrize("rpc", [REFUSED, NEW_RPC])
def test_a_master_that_is_not_ready(start, rpc):
    metrics_port = start(servers.new_master_pages(state="leader_warmup", ready="false"))
    result = ask(start(rpc), metrics_port)
    found = only(result)
    assert found["check"] == "mooncake_master_role"
    assert "not ready: state leader_warmup" in found["observed"]
    assert result.masters[0]["serving"] is False


# --- several addresses, and waiting ------------------------------------------------------------


def test_the_findings_of_all_addresses_come_at_once(start):
    well, dead, foreign = start(NEW_RPC), start(REFUSED), start(OTHER_RPC)
    result = mooncake_master.ask_all(
        [master_address.MasterAddress("127.0.0.1", port) for port in (dead, well, foreign)],
        mooncake_master.Options(0, 0.5),
        "demo-2",
    )
    assert [found["severity"] for found in result.findings] == ["error", "ok", "error"]
    assert [master["port"] for master in result.masters] == [dead, well, foreign]


class Clock:
    """A clock that only moves while somebody sleeps."""

    def __init__(self, at_sleep=lambda: None):
        self.now = 100.0
        self.at_sleep = at_sleep

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.at_sleep()


def wait(port, clock, timeout_seconds):
    return mooncake_master.wait_until_all_serve(
        [master_address.MasterAddress("127.0.0.1", port)],
        mooncake_master.Options(0, 0.5),
        "demo-2",
        timeout_seconds,
        2.0,
        clock=clock,
        sleep=clock.sleep,
    )


def test_it_waits_for_a_master_that_comes_later(start):
    answers = [servers.closes_at_once, NEW_RPC]

    def handler(connection: socket.socket) -> None:
        answers[0](connection)

    result = wait(start(handler), Clock(at_sleep=lambda: answers.__delitem__(0)), 10.0)
    assert (result.attempts, result.waited_seconds) == (2, 2.0)
    assert finding.worst(result.findings) == "ok"


@pytest.mark.parametrize(("timeout_seconds", "attempts"), [(0.0, 1), (1.9, 1), (2.0, 2), (5.0, 3)])
def test_it_gives_up_when_no_further_try_fits(start, timeout_seconds, attempts):
    result = wait(start(REFUSED), Clock(), timeout_seconds)
    assert result.attempts == attempts
    assert finding.worst(result.findings) == "error"


# --- what servers may send ---------------------------------------------------------------------


@given(st.text(), st.sampled_from([200, 404, 503]), st.text(), st.text())
def test_no_page_makes_the_facts_raise(health, status_code, role, metrics):
    def page(text: str):
        return mooncake_master_io.HttpReply("answered", "", b"", status_code, {}, text)

    side = HttpSide(1, page(health), page(role), page(health), page(metrics))
    assert side.is_master in (True, False)
    assert side.service_ready in (True, False, None)
    assert side.leader_address is None or isinstance(side.leader_address, str)
    assert side.role is None or isinstance(side.role, str)


@pytest.mark.parametrize("health", ["[" * 100000, "[]", "null", "1e999", '{"service_ready":"yes"}'])
def test_json_of_another_kind(health):
    side = HttpSide(1, mooncake_master_io.HttpReply("answered", "", b"", 200, {}, health))
    assert side.service_ready is None
    assert side.leader_address is None


@given(st.binary())
def test_an_excerpt_is_safe_for_a_terminal(data):
    text = mooncake_master_findings.excerpt(data)
    assert text.isascii()
    assert text.isprintable()
    assert len(text) <= 62
