# SPDX-License-Identifier: Apache-2.0
"""A store node: the arguments of ``mooncake_client``, and what is wrong with the variables of its role, all at once.

mooncake_client takes a size that it can't read ("64MiB") as 0 and then lends nothing, says nothing of a port in its
--host, and names its segment by that. So the role writes bytes, and host and port by which the segment is found again.
"""

from __future__ import annotations

import difflib
import re
from typing import Any, Mapping

from ansible_collections.kvcache.ascend.plugins.module_utils import (
    master_address,
    mooncake_master_flags,
    mooncake_master_place,
    service_settings,
    sizes,
    value_kinds,
)

UNIT = "mooncake-store.service"
OWN_ENVIRONMENT = ["KVCACHE_CONFIG", "MOONCAKE_STORE_ARGUMENTS"]

VARIABLES = {
    "host": "store_node_address",
    "port": "store_node_port",
    "global_segment_size": "store_node_segment_size",
    "master_server_address": "mooncake_master_address",
    "metadata_server": "nothing: the peers find each other by a handshake",
    "protocol": "release_name",
}
"""Flags that the role makes, and what each is made from."""

_FLAG = re.compile(r"(?m)^\s+-(\w+) \(")


def segments(settings: Mapping[str, Any]) -> dict[str, int]:
    """What the pool must have of the host: bytes by the segment's name."""
    name = mooncake_master_place.endpoint(settings["address"], settings["port"])
    return {name: sizes.to_bytes(settings["segment_size"])}


def arguments(settings: Mapping[str, Any]) -> str:
    """The command line of mooncake_client, without the program."""
    ((name, size_bytes),) = segments(settings).items()
    own = {
        "host": name,
        "port": settings["port"],
        "global_segment_size": size_bytes,
        "master_server_address": settings["master_address"],
        "metadata_server": "P2PHANDSHAKE",
        "protocol": settings["protocol"],
    }
    return mooncake_master_flags.arguments({**own, **settings["flags"]})


def problems(settings: Mapping[str, Any]) -> list[str]:
    """All that is wrong with the role's variables; empty when a store node can run with them and be reached.

    `settings` holds ``address``, ``port``, ``segment_size``, ``flags``, ``user``, ``environment``, ``root``, ``release``,
    ``protocol`` (None when the release's instances can't use a store node), ``master_address``, ``wait_seconds`` and
    ``is_alone`` (whether no other host uses the pool).
    """
    kind_problem, when_kind = service_settings.kind_problem, service_settings.when_kind
    flags, environment = settings["flags"], settings["environment"]
    single = [
        release_problem(settings),
        address_problem(settings),
        port_problem(settings["port"]),
        size_problem(settings["segment_size"]),
        service_settings.user_problem("store_node_user", settings["user"], "a store node"),
        service_settings.folder_problem(settings["root"]),
        wait_problem(settings["wait_seconds"]),
    ]
    return (
        [problem for problem in single if problem]
        + when_kind(
            kind_problem("store_node_flags", flags, dict, "{threads: 4}"), flags, flag_problems
        )
        + when_kind(
            kind_problem("store_node_environment", environment, dict, "{MC_LOG_LEVEL: INFO}"),
            environment,
            lambda given: service_settings.environment_problems(
                "store_node_environment", given, OWN_ENVIRONMENT
            ),
        )
    )


def release_problem(settings: Mapping[str, Any]) -> str:
    if settings["protocol"]:
        return ""
    return (
        f"release {settings['release']} has no store nodes: its instances reach the pool over NPUs, which mooncake_client "
        "does not open. Fix: take the host out of the group mooncake_store; the instances' segments are the pool."
    )


def address_problem(settings: Mapping[str, Any]) -> str:
    """Why instances on other hosts can't reach the segment at this address; empty when they may."""
    where = "store_node_address"
    fix = "Fix: set it to a name or IP address of this host that every host reaches."
    if not isinstance(settings["address"], str):
        return f"{value_kinds.problem(f'{where}:', settings['address'], value_kinds.LINE)}. {fix}"
    address = settings["address"].strip()
    ip_address = master_address.as_ip_address(mooncake_master_place.bare_host(address))
    if not address:
        return f"{where}: is empty. {fix}"
    if ip_address is not None and ip_address.is_unspecified:
        return f"{where}: {address} is an address to listen on. {fix}"
    if mooncake_master_place.is_loopback(address) and not settings["is_alone"]:
        return f"{where}: {address} is each host itself, so that no other host would reach the segment. {fix}"
    problem = master_address.host_problem(mooncake_master_place.bare_host(address))
    return f"{where}: {problem.rpartition(': ')[0] or problem}. {fix}" if problem else ""


def port_problem(port: Any) -> str:
    wrong = value_kinds.problem("store_node_port:", port, value_kinds.whole(1024, 65535))
    return f"{wrong}. Fix: correct it; 50052 is usual." if wrong else ""


def wait_problem(seconds: Any) -> str:
    wrong = value_kinds.problem("store_node_wait_seconds:", seconds, value_kinds.whole(0, 86400))
    return f"{wrong}. Fix: correct it." if wrong else ""


def size_problem(size: Any) -> str:
    wrong = value_kinds.problem("store_node_segment_size:", size, value_kinds.SIZE)
    if wrong:
        return f"{wrong}. Fix: correct it."
    size_bytes = sizes.to_bytes(size)
    if size_bytes < sizes.SLAB_BYTES:
        return (
            f"store_node_segment_size: {size!r} is {size_bytes} bytes, expected at least "
            f"{sizes.to_text(sizes.SLAB_BYTES)}, a slab of Mooncake's. Fix: write its unit, such as 40GiB."
        )
    return ""


def flag_problems(flags: Mapping[str, Any]) -> list[str]:
    """Flags that the role makes itself, and values that can't be written."""
    found = [
        f"{text}. Fix: correct it." for text in value_kinds.key_problems("store_node_flags", flags)
    ]
    for name, value in flags.items():
        if not isinstance(name, str):
            continue
        if name in VARIABLES:
            found.append(
                f"store_node_flags.{name}: is set by the role. Fix: remove it; it is made from {VARIABLES[name]}."
            )
            continue
        kind = "bool" if isinstance(value, bool) else "string"
        problem = mooncake_master_flags.value_problem(f"store_node_flags.{name}", value, kind)
        found += [problem] if problem else []
    return found


def unknown_flags(flags: Mapping[str, Any], help_text: str) -> list[str]:
    """A problem for each flag that ``mooncake_client --help`` does not name; none when it names nothing."""
    known = _FLAG.findall(help_text)
    return [
        f"store_node_flags.{name}: this mooncake_client knows no such flag and would not start.{_closest(name, known)} "
        "Fix: correct or remove it."
        for name in flags
        if known and name not in known
    ]


def _closest(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f" Did you mean {close[0]}?" if close else ""
