# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import struct

from ansible_collections.kvcache.ascend.plugins.module_utils import coro_rpc
from ansible_collections.kvcache.ascend.tests.unit import loopback_servers
from hypothesis import given
from hypothesis import strategies as st

SERVICE_READY = "mooncake::WrappedMasterService::ServiceReady"


def test_the_function_id_is_the_one_that_real_masters_answer():
    assert coro_rpc.function_id(SERVICE_READY) == 0x7B81BB56


def test_the_request_is_the_one_that_real_masters_answer():
    request = coro_rpc.encode_request(coro_rpc.function_id(SERVICE_READY), 0x01020304)
    assert request == bytes.fromhex("15000000 04030201 56bb817b 00000000 00000000")


def response(error_code: int, body: bytes) -> bytes:
    return struct.pack("<BBBBIII", 0x15, 0, error_code, 0, 7, len(body), 0) + body


def test_the_answer_of_a_master_with_a_version():
    read = coro_rpc.decode_response(response(0, loopback_servers.BODY_WITH_VERSION))
    assert (read.is_coro_rpc, read.is_complete, read.error_code, read.sequence) == (
        True,
        True,
        0,
        7,
    )
    assert coro_rpc.last_text(read.body) == "2.0.0"


def test_the_answer_of_a_master_without_a_version():
    read = coro_rpc.decode_response(response(0, loopback_servers.BODY_WITHOUT_VERSION))
    assert read.is_complete
    assert coro_rpc.last_text(read.body) is None


def test_the_answer_to_an_unknown_function():
    read = coro_rpc.decode_response(response(11, loopback_servers.BODY_NOT_REGISTERED))
    assert read.error_code == coro_rpc.ERROR_FUNCTION_NOT_REGISTERED
    assert coro_rpc.last_text(read.body) == "the rpc function not registered"


def test_every_beginning_of_an_answer_is_incomplete():
    whole = response(0, loopback_servers.BODY_WITH_VERSION)
    for length in range(1, len(whole)):
        read = coro_rpc.decode_response(whole[:length])
        assert read.is_coro_rpc
        assert not read.is_complete


def test_other_protocols_are_not_coro_rpc():
    for data in (b"", b"SSH-2.0-x\r\n", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x15\x03\x03\x00"):
        assert not coro_rpc.decode_response(data).is_coro_rpc


@given(st.binary() | st.binary().map(lambda tail: b"\x15\x00" + tail))
def test_garbage_never_raises(data):
    read = coro_rpc.decode_response(data)
    coro_rpc.last_text(read.body)
    assert read.is_coro_rpc or not read.is_complete


@given(st.binary(max_size=300), st.binary(max_size=20))
def test_what_follows_an_answer_does_not_change_it(body, rest):
    read = coro_rpc.decode_response(response(0, body) + rest)
    assert read.is_complete
    assert read.body == body
