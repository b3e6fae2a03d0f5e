# SPDX-License-Identifier: Apache-2.0
"""Which master a host shall use: is there one, is its address one that a host can reach?"""

from __future__ import annotations

import difflib
import re
from typing import Any

from ansible_collections.kvcache.ascend.plugins.module_utils import master_address

MASTER_GROUP, INSTANCE_GROUP, STORE_GROUP = "mooncake_master", "vllm", "mooncake_store"
GROUPS = (MASTER_GROUP, INSTANCE_GROUP, STORE_GROUP)
"""Groups of an inventory that playbooks look at."""


def address_problem(address: str) -> str:
    """Return why mooncake_master_address is not where a master can be reached; empty when it may be.

    It is a host alone; an IPv6 address may stand in brackets.
    """
    where = "mooncake_master_address"
    host = address.strip()
    if not host:
        return f"{where}: is empty. Fix: set it to the name or IP address of the master's host."
    if re.match(r"(etcd|redis|k8s)://", host):
        return f"{where}: {host!r}: HA addresses are not supported yet. Fix: give the host of the leader alone."
    bare = bare_host(host)
    if ":" in bare and master_address.as_ip_address(bare) is None:
        return (
            f"{where}: {host!r} is no host name and no IP address. "
            "Fix: give the host alone, its port is mooncake_master_rpc_port."
        )
    problem = master_address.host_problem(bare)
    return f"{where}: {_with_fix(problem)}" if problem else ""


def _with_fix(problem: str) -> str:
    """Return "what is wrong: what to do" as two sentences."""
    wrong, _colon, fix = problem.rpartition(": ")
    return f"{wrong}. Fix: {fix}." if wrong else f"{problem}. Fix: correct it."


def bare_host(address: str) -> str:
    """Return the host without the brackets that an IPv6 address may have."""
    match = re.fullmatch(r"\[([^\[\]]*)\]", address.strip())
    return match.group(1) if match else address.strip()


def is_loopback(address: str) -> bool:
    """Return whether an address is that of the host itself, whichever that is."""
    ip_address = master_address.as_ip_address(bare_host(address))
    return address.strip() == "localhost" or (ip_address is not None and ip_address.is_loopback)


def place_problem(
    groups: dict[str, list[str]], address: str, host: str, is_here: bool = False
) -> str:
    """Return why it is not clear which master `host` shall use, or why it can't be reached from there; else empty.

    `groups` are the inventory's. `address` is mooncake_master_address, empty when it is not set and there is no master
    to take it from. `is_here` says that the role runs the master on `host` itself.
    """
    masters = list(groups.get("mooncake_master", []))
    if len(masters) > 1:
        return two_masters(masters)
    if is_here and masters and masters != [host]:
        return (
            f"{host} shall run the master, but the group mooncake_master names {masters[0]}: two masters would be two "
            f"pools. Fix: run this on {masters[0]}, or have {host} in the group instead."
        )
    if not masters and not address:
        return no_master(groups)
    problem = address_problem(address)
    if not problem and masters and host not in masters and is_loopback(address):
        return (
            f"mooncake_master_address: {address} is {host} itself when {host} uses it, but the master is {masters[0]}. "
            f"Fix: set it to a name or IP address of {masters[0]} that every host reaches."
        )
    return problem


def two_masters(masters: list[str]) -> str:
    """Return the message for an inventory that names several masters."""
    return (
        f"the group mooncake_master has {len(masters)} hosts ({', '.join(masters)}), expected one: "
        "two masters would be two pools. Fix: have one host in the group."
    )


def no_master(groups: dict[str, list[str]]) -> str:
    """Return the message for an inventory that names no master."""
    others = sorted(name for name in groups if name not in ("all", "ungrouped", "mooncake_master"))
    what = (
        "the group mooncake_master has no host"
        if "mooncake_master" in groups
        else f"the inventory has no group mooncake_master (it has: {', '.join(others) or 'no group at all'})"
    )
    return (
        f"{what}: without a master there is no pool. Fix: have one host in the group, or set mooncake_master_address to a "
        "master that runs elsewhere."
    )


def mistyped_group(groups: dict[str, list[str]]) -> str:
    """Return the message for a group that is almost named as one of ours and has hosts that ours has not; else empty."""
    for name in sorted(set(groups) - {*GROUPS, "all", "ungrouped"}):
        plain = re.sub(r"[-_ ]+", "_", str(name)).lower()
        meant = difflib.get_close_matches(plain, GROUPS, n=1, cutoff=0.85)
        strays = sorted(set(groups[name]) - set(groups.get(meant[0], []))) if meant else []
        if strays:
            return (
                f"the inventory has a group {name}, which nothing looks at, with {', '.join(strays[:3])}"
                f"{' and others' * (len(strays) > 3)}. Fix: rename it to {meant[0]}, or put the hosts into that group, too."
            )
    return ""


def inventory_problem(groups: dict[str, list[str]], addresses: list[str]) -> str:
    """Return why an inventory does not give site.yml what it needs; empty when it does.

    `addresses` are the values of mooncake_master_address that the inventory or the command line sets.
    """
    mistyped = mistyped_group(groups)
    if mistyped:
        return mistyped
    masters = groups.get("mooncake_master", [])
    if len(masters) > 1:
        return two_masters(masters)
    if masters or (addresses and groups.get("vllm")):
        return ""
    if not addresses:
        return no_master(groups)
    return (
        "the inventory has no host in the groups mooncake_master and vllm: there is nothing to do. "
        "Fix: put the hosts that run instances into the group vllm."
    )


def endpoint(address: str, rpc_port: Any) -> str:
    """Return host and port as one address; an IPv6 address stands in brackets before a port."""
    return master_address.join(bare_host(address), rpc_port)
