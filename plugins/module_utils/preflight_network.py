# SPDX-License-Identifier: Apache-2.0
"""Checks of ports, time, names and versions: what hosts of one pool must agree on."""

from __future__ import annotations

import statistics
from typing import Any

from ansible_collections.kvcache.ascend.plugins.module_utils import (
    mooncake_master_place,
    proc_services,
)
from ansible_collections.kvcache.ascend.plugins.module_utils.preflight_model import (
    MASTER_GROUP,
    DoesNotApply,
    Finding,
    Host,
    error,
    from_sentence,
    seen_of,
    spec_of,
    warning,
)

MASTER_UNIT = "mooncake-master.service"
MASTER_PORTS = ("mooncake_master_rpc_port", "mooncake_master_metrics_port")


def ports_of(host: Host) -> dict[str, tuple[str, dict[str, int]]]:
    """The ports that a host's services will listen on: unit to (name in messages, variable to port)."""
    ports: dict[str, tuple[str, dict[str, int]]] = {}
    if host.is_master:
        named = {name: int(host.get(name, 0)) for name in MASTER_PORTS}
        ports[MASTER_UNIT] = ("the master", named)
    for each in host.instances():
        ports[f"vllm@{each.name}.service"] = (
            f"instance {each.name}",
            {f"port of instance {each.name}": each.port},
        )
    return ports


def check_ports_busy(host: Host) -> list[Finding]:
    """Something else listens where a service is to listen; the service itself may."""
    listeners = seen_of(host)["listeners"]
    found: list[Finding] = []
    wanted = [port for _name, variables in ports_of(host).values() for port in variables.values()]
    for unit, (_name, every) in ports_of(host).items():
        # Two services of ours that want one port are the finding of another check.
        variables = {name: port for name, port in every.items() if wanted.count(port) == 1}
        mine = [each for each in listeners if each["port"] in variables.values()]
        own = next((each["uid"] for each in mine if each["unit"] == unit), None)
        service = {"listeners": mine, "main_uid": own}
        found += [
            from_sentence("ports_busy", host.name, text, "a free port")
            for text in proc_services.port_problems(service, unit, variables, host.name)
        ]
    if not ports_of(host):
        raise DoesNotApply("no service of it listens")
    return found


def transfer_ports(host: Host) -> tuple[int, int] | None:
    """First and last port of the transfer engines of all devices of a host; None on platform cpu."""
    spec = spec_of(host)
    devices = [device for each in host.instances() for device in each.devices]
    if spec["platform"] != "npu" or not devices:
        return None
    mooncake = spec["mooncake"]
    base = int(mooncake["ascend_port_base"])
    if mooncake["reads_ascend_base_port"]:
        base = min(int(each.env.get("ASCEND_BASE_PORT", base)) for each in host.instances())
    step = int(mooncake["ascend_port_range"])
    return base + min(devices) * step, base + (max(devices) + 1) * step


def check_ports_collide(host: Host) -> list[Finding]:
    """Two services of a host that want one port, and ports inside the range of the transfer engines."""
    claims: dict[int, list[str]] = {}
    for name, variables in ports_of(host).values():
        for variable, port in variables.items():
            claims.setdefault(port, []).append(variable if name == "the master" else name)
    found = [
        error(
            "ports_collide",
            host.name,
            f"port {port} is claimed by {' and by '.join(names)}",
            "a port for each",
            "give one of them another port",
        )
        for port, names in sorted(claims.items())
        # Two instances are the finding of check_instances.
        if len(names) > 1 and any(not name.startswith("instance ") for name in names)
    ]
    span = transfer_ports(host)
    if span is None:
        return found
    found += [
        error(
            "ports_collide",
            host.name,
            f"port {port} ({' and '.join(names)}) is inside the ports of the transfer engines",
            f"a port outside {span[0]} to {span[1]}, which the host's devices take",
            "choose another port",
        )
        for port, names in sorted(claims.items())
        if span[0] <= port <= span[1]
    ]
    return found + _local_port_findings(host, span)


def _local_port_findings(host: Host, span: tuple[int, int]) -> list[Finding]:
    local = host.seen["local_ports"] if host.seen else None
    if not local or local[0] > span[1] or local[1] < span[0]:
        return []
    return [
        warning(
            "ports_collide",
            host.name,
            f"the kernel hands out ports {local[0]} to {local[1]} to outgoing connections, and the transfer "
            f"engines take {span[0]} to {span[1]}",
            "ranges that do not overlap, or a start fails now and then",
            f"set net.ipv4.ip_local_port_range to begin above {span[1]}",
        )
    ]


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
