# Copyright The kvcache.ascend authors
# SPDX-License-Identifier: Apache-2.0
"""Read the address of a Mooncake master: host:port or [IPv6]:port."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_BRACKETED = re.compile(r"\[(?P<host>[^\[\]]*)\](?::(?P<port>.*))?\Z", re.DOTALL)
_HOST_NAME = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_.])?\Z")
# What inet_aton() takes for an IPv4 address, in any of its spellings: 10.0.0.1, 10.1, 0, 0x7f.1, 0177.1.
_NUMBERS_ONLY = re.compile(r"(?:0[xX][0-9a-fA-F]*|[0-9]+)(?:\.(?:0[xX][0-9a-fA-F]*|[0-9]+))*\.?\Z")
_IPV4 = re.compile(r"(?:0|[1-9][0-9]{0,2})(?:\.(?:0|[1-9][0-9]{0,2})){3}\Z")
_PORT = re.compile(r"[0-9]{1,5}\Z")

# Backends of a master's high availability mode, mooncake-store/src/ha, as clients write them.
_HIGH_AVAILABILITY_SCHEMES = ("etcd", "redis", "k8s")


class AddressError(ValueError):
    """The text is no address of a master; the message says why and what to write instead."""


@dataclass(frozen=True)
class MasterAddress:
    host: str
    port: int

    def __str__(self) -> str:
        return join(self.host, self.port)


def join(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def parse(text: str) -> MasterAddress:
    address = text.strip()
    _reject_scheme(address)
    host, port = _split(address)
    _check_host(host, address)
    return MasterAddress(host, _read_port(port, address))


def _reject_scheme(address: str) -> None:
    found = _SCHEME.match(address)
    if found is None:
        return
    scheme = found.group(1).lower()
    if scheme in _HIGH_AVAILABILITY_SCHEMES:
        raise AddressError(
            f"{address!r}: HA addresses are not supported yet: "
            "give host:port of the leader's RPC port"
        )
    raise AddressError(f"{address!r}: give host:port of the RPC port, without {scheme}://")


def _split(address: str) -> tuple[str, str]:
    bracketed = _BRACKETED.match(address)
    if bracketed:
        host = bracketed.group("host")
        if not _is_ipv6(host):
            raise AddressError(f"{address!r}: {host!r} is no IPv6 address")
        return host, bracketed.group("port") or ""
    if address.count(":") > 1:
        raise AddressError(f"{address!r}: put an IPv6 address in brackets, such as [fd00::1]:50088")
    host, _colon, port = address.partition(":")
    return host, port


def _check_host(host: str, address: str) -> None:
    if not host:
        raise AddressError(f"{address!r}: the host is missing: give host:port")
    problem = host_problem(host)
    if problem:
        raise AddressError(f"{address!r}: {problem}")


def host_problem(host: str) -> str:
    """Why nobody can reach a master under this name or IP address; empty when one can."""
    ip_address = as_ip_address(host)
    if ip_address is not None:
        return _ip_problem(ip_address, host)
    if _NUMBERS_ONLY.match(host):
        return f"{host} is no IP address: write its four numbers, such as 192.0.2.11"
    return "" if _HOST_NAME.match(host) else f"{host!r} is no host name and no IP address"


def _ip_problem(ip_address: ipaddress.IPv4Address | ipaddress.IPv6Address, host: str) -> str:
    fix = "give the name or IP address of the master's host"
    if ip_address.is_unspecified:
        return f"{host} is an address to listen on: {fix}"
    if ip_address.is_multicast or str(ip_address) == "255.255.255.255":
        return f"{host} is the address of a group of hosts: {fix}"
    # 0.0.0.0/8 is "this network" (RFC 1122), 240.0.0.0/4 was never given out: no host has either.
    if ip_address.version == 4 and (ip_address.is_reserved or str(ip_address).startswith("0.")):
        return f"{host} is no host's address: {fix}"
    if ip_address.version == 6 and ip_address.is_link_local and "%" not in host:
        return f"{host} is valid on one network only: add the interface, such as {host}%eth0"
    return ""


def as_ip_address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The IP address that a text writes in full, an IPv4 address in IPv6 clothes as what it is."""
    try:
        if ":" in host:
            ipv6_address = ipaddress.IPv6Address(host.split("%", 1)[0])
            return ipv6_address.ipv4_mapped or ipv6_address
        # Older Pythons take 010.0.0.1, which others read as 8.0.0.1.
        return ipaddress.IPv4Address(host) if _IPV4.match(host) else None
    except ValueError:
        return None


def _is_ipv6(host: str) -> bool:
    return ":" in host and as_ip_address(host) is not None


def _read_port(port: str, address: str) -> int:
    if not port:
        raise AddressError(f"{address!r}: the port is missing: give host:port")
    if not _PORT.match(port) or not 1 <= int(port) <= 65535:
        raise AddressError(f"{address!r}: port {port!r} is no number from 1 to 65535")
    return int(port)
