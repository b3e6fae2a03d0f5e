# SPDX-License-Identifier: Apache-2.0
"""Checks of time, names and versions: what hosts of one pool must agree on."""

from __future__ import annotations

import statistics
from typing import Any

from ansible_collections.kvcache.ascend.plugins.module_utils import (
    mooncake_master_place,
)
from ansible_collections.kvcache.ascend.plugins.module_utils.preflight_model import (
    MASTER_GROUP,
    DoesNotApply,
    Finding,
    Host,
    error,
    from_sentence,
    seen_of,
    warning,
)


def check_clock(hosts: list[Host]) -> list[Finding]:
    """Each clock against the others. The control node knows when it asked and when it was answered: not more is claimed."""
    spans: dict[str, tuple[float, float]] = {}
    for host in hosts:
        clock = (host.seen or {}).get("clock")
        if clock:
            # The host's clock less the control node's is somewhere between these.
            spans[host.name] = (
                clock["host"] - clock["answered"],
                clock["host"] - clock["asked"],
            )
    if len(spans) < 2:
        raise DoesNotApply("fewer than two clocks can be compared")
    limit = float(hosts[0].get("preflight_clock_skew_seconds", 5))
    middle = statistics.median((low + high) / 2 for low, high in spans.values())
    found = []
    for name, (low, high) in spans.items():
        off = low - middle if low > middle else high - middle if high < middle else 0.0
        if abs(off) > limit:
            found.append(
                error(
                    "clock",
                    name,
                    f"its clock is {_duration(abs(off))} {'ahead of' if off > 0 else 'behind'} the others'",
                    f"at most {limit:g} s apart",
                    "let it keep time (timedatectl set-ntp true, or chrony)",
                )
            )
    return found


def _duration(seconds: float) -> str:
    for unit, length in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"


def _master(host: Host) -> dict[str, Any]:
    master = seen_of(host)["master"]
    if master is None:
        raise DoesNotApply("no master is named")
    return master


def check_master_name(host: Host) -> list[Finding]:
    address = str(host.get("mooncake_master_address", ""))
    if len(host.inventory.get(MASTER_GROUP, [])) <= 1 and address:
        problem = mooncake_master_place.place_problem(host.inventory, address, host.name)
        if problem:
            return [from_sentence("master_name", host.name, problem, "where every host reaches it")]
    master = _master(host)
    if not master["name_problem"]:
        loopback = [ip for ip in master["resolved"] if ip.startswith("127.") or ip == "::1"]
        if not loopback or host.is_master:
            return []
        return [
            error(
                "master_name",
                host.name,
                f"{master['host']} is {loopback[0]} here, this host itself",
                "the address of the master's host",
                "correct /etc/hosts, or set mooncake_master_address to an address that all hosts reach",
            )
        ]
    return [
        error(
            "master_name",
            host.name,
            f"{master['host']} is not resolved: {master['name_problem']}",
            "a name that every host knows, or an address",
            "add it to DNS or /etc/hosts, or set mooncake_master_address to an address",
        )
    ]


def check_master_reachable(host: Host) -> list[Finding]:
    """The master need not run yet: a refused connection shows that its host is there."""
    master = _master(host)
    if master["reached"] is None:
        raise DoesNotApply("the master's name is not resolved")
    if master["reached"]:
        return []
    word = str(master["outcome"]).replace("_", " ")
    return [
        error(
            "master_reachable",
            host.name,
            f"{master['host']} ({', '.join(master['resolved'][:2])}) port {master['port']}: {word}",
            "the master's host answers",
            "check that it is up, routes, and firewalls between them; its RPC and metrics ports must be open",
        )
    ]


def check_mooncake_versions(hosts: list[Host]) -> list[Finding]:
    """What is installed now. The run brings all hosts of it to one version; until then they don't understand each other."""
    by_version: dict[str, list[str]] = {}
    for host in hosts:
        version = ((host.seen or {}).get("mooncake") or {}).get("version")
        if version:
            by_version.setdefault(version, []).append(host.name)
    if not by_version:
        seen = any(host.seen is not None for host in hosts)
        raise DoesNotApply(
            "Mooncake is not installed yet" if seen else "no host could be looked at"
        )
    if len(by_version) == 1:
        return []
    most = max(by_version.values(), key=len)
    return [
        warning(
            "mooncake_versions",
            name,
            f"Mooncake {version} is installed, other hosts have another",
            "one Mooncake version in a pool",
            "run site.yml on all hosts; instances of different versions fail with RPC errors that name nothing",
        )
        for version, names in sorted(by_version.items())
        if names is not most
        for name in names
    ]
