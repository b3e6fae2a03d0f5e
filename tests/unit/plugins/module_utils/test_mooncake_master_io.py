# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import errno
import socket
import threading

import pytest
from ansible_collections.kvcache.ascend.plugins.module_utils import mooncake_master_io as network
from ansible_collections.kvcache.ascend.tests.unit import loopback_servers
from hypothesis import given
from hypothesis import strategies as st

LOOPBACK = ["127.0.0.1"]
STEP_SECONDS = 0.5


def talk(port: int, ip_addresses=None, connector=network.system_connector, budget=None):
    return network.exchange(
        ip_addresses or LOOPBACK,
        port,
        b"x",
        lambda data: data.endswith(b"\n"),
        budget=budget or network.Budget(STEP_SECONDS),
        connector=connector,
    )


def failing_connector(error: OSError):
    def connector(target, seconds):
        raise error

    return connector


def test_an_answer():
    with loopback_servers.serve(loopback_servers.banner(b"hello\n")) as port:
        assert talk(port) == network.Reply(network.ANSWERED, "", b"hello\n")


def test_an_answer_that_stops_half_way_is_kept():
    with loopback_servers.serve(loopback_servers.banner(b"hel")) as port:
        assert talk(port) == network.Reply(network.ANSWERED, "", b"hel")


def test_refused():
    with loopback_servers.refused_port() as port:
        assert talk(port).outcome == network.REFUSED


def test_a_full_queue_looks_like_a_firewall_and_times_out():
    with loopback_servers.filtered_port() as port:
        assert talk(port).outcome == network.TIMED_OUT


def test_silence():
    with loopback_servers.serve(loopback_servers.silent) as port:
        assert talk(port).outcome == network.SILENT


def test_closed_at_once():
    with loopback_servers.serve(loopback_servers.closes_at_once) as port:
        assert talk(port).outcome == network.CLOSED


@pytest.mark.parametrize("number", [errno.ENETUNREACH, errno.EHOSTUNREACH])
def test_unreachable(number):
    reply = talk(1, connector=failing_connector(OSError(number, "No route")))
    assert reply == network.Reply(network.UNREACHABLE, "No route")


def test_another_error_keeps_its_words():
    reply = talk(1, connector=failing_connector(PermissionError(errno.EPERM, "Not permitted")))
    assert reply == network.Reply(network.FAILED, "Not permitted")


def test_the_next_address_is_tried_and_the_most_telling_failure_is_kept():
    def connector(target, seconds):
        if target[0] == "::1":
            raise OSError(errno.ENETUNREACH, "Network is unreachable")
        return network.system_connector(target, seconds)

    with loopback_servers.serve(loopback_servers.banner(b"hello\n")) as port:
        assert talk(port, ["::1", "127.0.0.1"], connector).data == b"hello\n"
    with loopback_servers.refused_port() as port:
        assert talk(port, ["::1", "127.0.0.1"], connector).outcome == network.REFUSED


def test_without_time_nothing_is_asked():
    reply = talk(1, budget=network.Budget(1.0, 0.0), connector=failing_connector(OSError()))
    assert reply == network.Reply(network.NOT_ASKED, "the timeout of 0 s was used up before")


def test_a_server_that_drips_bytes_gets_no_more_time_than_another():
    stop = threading.Event()

    def drip(connection: socket.socket) -> None:
        while not stop.wait(0.05):
            connection.sendall(b"x")

    with loopback_servers.serve(drip) as port:
        reply = talk(port)
        stop.set()
    assert reply.outcome == network.ANSWERED


def test_a_limit_that_is_over_before_the_answer_is_silence():
    def connector(target, seconds):
        return socket.create_connection(target, timeout=5)

    with loopback_servers.serve(loopback_servers.silent) as port:
        reply = talk(port, connector=connector, budget=network.Budget(1e-9))
    assert reply.outcome == network.SILENT


def test_names_are_resolved():
    assert network.resolve("127.0.0.1", 1, 1.0, network.system_resolver).ip_addresses == LOOPBACK


def test_an_unknown_name():
    def resolver(host, port):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    resolution = network.resolve("nowhere", 1, 1.0, resolver)
    assert resolution == network.Resolution([], "Name or service not known", False)


def test_a_name_that_cannot_be_encoded_is_not_resolved():
    resolution = network.resolve("a" * 70 + ".example", 1, 1.0, network.system_resolver)
    assert resolution.ip_addresses == []
    assert resolution.error


def test_a_name_server_that_does_not_answer():
    release = threading.Event()

    def resolver(host, port):
        release.wait(10)
        return []

    resolution = network.resolve("slow", 1, 0.1, resolver)
    release.set()
    assert resolution == network.Resolution([], "no answer within 0.1 s", True)


def answer(data: bytes) -> network.HttpReply:
    return network.read_http_answer(network.Reply(network.ANSWERED, "", data))


def test_http_with_a_length():
    data = b"HTTP/1.1 200 OK\r\nServer: cinatra\r\nContent-Length: 2\r\n\r\nOK"
    assert network.is_whole_http_answer(data)
    assert not network.is_whole_http_answer(data[:-1])
    read = answer(data)
    assert (read.status_code, read.headers["server"], read.text) == (200, "cinatra", "OK")


def test_http_in_chunks():
    data = (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x=1\r\nOK\r\n1\r\n!\r\n0\r\n\r\n"
    )
    assert network.is_whole_http_answer(data)
    assert answer(data).text == "OK!"


def test_another_protocol_is_not_waited_for():
    assert network.is_whole_http_answer(b"SSH-2.0-OpenSSH\r\n")
    assert answer(b"SSH-2.0-OpenSSH\r\n").status_code is None


@given(
    st.binary()
    | st.binary().map(lambda tail: b"HTTP/1.1 200 OK\r\n" + tail)
    | st.binary().map(lambda tail: b"HTTP/1.1 200 \r\nTransfer-Encoding: chunked\r\n\r\n" + tail)
)
def test_garbage_never_raises(data):
    network.is_whole_http_answer(data)
    assert answer(data).data == data
