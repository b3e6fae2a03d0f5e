# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from ansible_collections.kvcache.ascend.plugins.module_utils import master_address
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("master-1:50088", "master-1", 50088),
        (" 10.0.0.1:1 ", "10.0.0.1", 1),
        ("kv_master.example.:65535", "kv_master.example.", 65535),
        ("[fd00::12]:50088", "fd00::12", 50088),
        ("[fe80::1%eth0]:50088", "fe80::1%eth0", 50088),
        ("127.0.0.1:50088", "127.0.0.1", 50088),
        ("[::1]:50088", "::1", 50088),
        ("[::ffff:10.0.0.1]:50088", "::ffff:10.0.0.1", 50088),
        ("10-0-0-1:50088", "10-0-0-1", 50088),
        ("npu01:50088", "npu01", 50088),
        ("3com.example:50088", "3com.example", 50088),
        ("xn--bcher-kva.example:1", "xn--bcher-kva.example", 1),
    ],
)
def test_addresses(text, host, port):
    assert master_address.parse(text) == master_address.MasterAddress(host, port)
    assert str(master_address.parse(text)) == text.strip()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the host is missing: give host:port"),
        (":50088", "the host is missing: give host:port"),
        ("master-1", "the port is missing: give host:port"),
        ("master-1:", "the port is missing: give host:port"),
        ("[::1]", "the port is missing: give host:port"),
        ("master-1:0", "port '0' is no number from 1 to 65535"),
        ("master-1:65536", "port '65536' is no number from 1 to 65535"),
        ("master-1:-1", "port '-1' is no number from 1 to 65535"),
        ("master-1:٣", "is no number from 1 to 65535"),
        ("master-1:50088/metrics", "port '50088/metrics' is no number from 1 to 65535"),
        ("fd00::12:50088", "put an IPv6 address in brackets, such as [fd00::1]:50088"),
        ("[master-1]:50088", "'master-1' is no IPv6 address"),
        ("master 1:50088", "'master 1' is no host name and no IP address"),
        ("user@master-1:50088", "'user@master-1' is no host name and no IP address"),
        ("0.0.0.0:50088", "0.0.0.0 is an address to listen on: give the name or IP address of"),
        ("[::]:50088", ":: is an address to listen on"),
        ("[::0]:50088", "::0 is an address to listen on"),
        ("[0:0:0:0:0:0:0:0]:50088", "is an address to listen on"),
        ("[::ffff:0:0]:50088", "::ffff:0:0 is an address to listen on"),
        ("[::ffff:0.0.0.0]:50088", "::ffff:0.0.0.0 is an address to listen on"),
        ("0:50088", "0 is no IP address: write its four numbers, such as 192.0.2.11"),
        ("1:50088", "1 is no IP address: write its four numbers"),
        ("0x7f000001:50088", "0x7f000001 is no IP address"),
        ("127.1:50088", "127.1 is no IP address"),
        ("010.0.0.1:50088", "010.0.0.1 is no IP address"),
        ("256.0.0.1:50088", "256.0.0.1 is no IP address"),
        ("1.2.3.4.5:50088", "1.2.3.4.5 is no IP address"),
        ("0.0.0.0.:50088", "0.0.0.0. is no IP address"),
        ("0.0.0.1:50088", "0.0.0.1 is no host's address"),
        ("224.0.0.1:50088", "224.0.0.1 is the address of a group of hosts"),
        ("255.255.255.255:50088", "255.255.255.255 is the address of a group of hosts"),
        ("250.0.0.1:50088", "250.0.0.1 is no host's address"),
        ("[ff02::1]:50088", "ff02::1 is the address of a group of hosts"),
        ("[::ffff:224.0.0.1]:50088", "is the address of a group of hosts"),
        ("[fe80::1]:50088", "fe80::1 is valid on one network only: add the interface"),
        (
            "etcd://a:2379;b:2379",
            "HA addresses are not supported yet: give host:port of the leader",
        ),
        ("redis://a:6379", "HA addresses are not supported yet: give host:port of the leader"),
        ("k8s://ns/lease", "HA addresses are not supported yet: give host:port of the leader"),
        ("http://master-1:50088", "give host:port of the RPC port, without http://"),
        ("HTTPS://master-1:50088", "give host:port of the RPC port, without https://"),
    ],
)
def test_what_is_no_address_is_rejected_with_what_to_write(text, message):
    with pytest.raises(master_address.AddressError) as raised:
        master_address.parse(text)
    assert message in str(raised.value)
    assert str(raised.value).startswith(repr(text))


@given(st.text() | st.lists(st.sampled_from(list("[]:.%/a1 ")), max_size=20).map("".join))
def test_garbage_is_an_address_or_an_address_error(text):
    try:
        address = master_address.parse(text)
    except master_address.AddressError:
        return
    assert 1 <= address.port <= 65535
    assert master_address.parse(str(address)) == address
