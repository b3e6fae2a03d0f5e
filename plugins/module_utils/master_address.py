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
        try:
            ipaddress.IPv6Address(host.split("%", 1)[0])
        except ValueError:
            raise AddressError(f"{address!r}: {host!r} is no IPv6 address") from None
        return host, bracketed.group("port") or ""
    if address.count(":") > 1:
        raise AddressError(f"{address!r}: put an IPv6 address in brackets, such as [fd00::1]:50088")
    host, _colon, port = address.partition(":")
    return host, port


def _check_host(host: str, address: str) -> None:
    if not host:
        raise AddressError(f"{address!r}: the host is missing: give host:port")
    if ":" not in host and not _HOST_NAME.match(host):
        raise AddressError(f"{address!r}: {host!r} is no host name and no IP address")
    if host in ("0.0.0.0", "::"):
        raise AddressError(
            f"{address!r}: {host} is an address to listen on: "
            "give the name or IP address of the master's host"
        )


def _read_port(port: str, address: str) -> int:
    if not port:
        raise AddressError(f"{address!r}: the port is missing: give host:port")
    if not _PORT.match(port) or not 1 <= int(port) <= 65535:
        raise AddressError(f"{address!r}: port {port!r} is no number from 1 to 65535")
    return int(port)
