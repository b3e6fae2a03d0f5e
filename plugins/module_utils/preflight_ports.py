# SPDX-License-Identifier: Apache-2.0
"""Checks of ports: those of the services of a host, of the transfer engines and of HCCL."""

from __future__ import annotations

import re

from ansible_collections.kvcache.ascend.plugins.module_utils import (
    proc_services,
    store_node,
    vllm_instance,
)
from ansible_collections.kvcache.ascend.plugins.module_utils.preflight_model import (
    DoesNotApply,
    Finding,
    Host,
    error,
    from_sentence,
    seen_of,
    spec_of,
    warning,
)

HCCL_BASE, HCCL_RANGE = "HCCL_IF_BASE_PORT", "HCCL_HOST_SOCKET_PORT_RANGE"
HCCL_DEFAULT_BASE = 60000
"""The process of device N listens on base + N of the host, unless a range is given, of which it takes any port."""

MASTER_UNIT = "mooncake-master.service"
STORE_PORT = "store_node_port"
MASTER_PORTS = ("mooncake_master_rpc_port", "mooncake_master_metrics_port")


def ports_of(host: Host) -> dict[str, tuple[str, dict[str, int]]]:
    """The ports that a host's services will listen on: unit to (name in messages, variable to port)."""
    ports: dict[str, tuple[str, dict[str, int]]] = {}
    if host.is_master:
        named = {name: int(host.get(name, 0)) for name in MASTER_PORTS}
        ports[MASTER_UNIT] = ("the master", named)
    if host.is_store_node:
        port = {STORE_PORT: int(host.get(STORE_PORT, 0))}
        ports[store_node.UNIT] = ("the store node", port)
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
            claims.setdefault(port, []).append(name if name.startswith("instance ") else variable)
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
    found += _hccl_findings(host, claims)
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


def hccl_ports(instance: vllm_instance.Instance) -> list[tuple[int, int]]:
    """First and last port of each range on which HCCL listens on the host, for an instance on several NPUs; else none.

    ValueError when a variable can't be read.
    """
    if len(instance.devices) < 2:
        return []
    ranges = instance.env.get(HCCL_RANGE, "")
    if ranges == "auto":
        return []
    if ranges:
        spans = [_span(part.strip()) for part in ranges.split(",")]
        if not all(1 <= first <= last <= 65535 for first, last in spans):
            raise ValueError(f"{HCCL_RANGE} {ranges!r}")
        return spans
    base = instance.env.get(HCCL_BASE, str(HCCL_DEFAULT_BASE))
    if not re.fullmatch(r"[0-9]{4,5}", base) or not 1024 <= int(base) <= 65520:
        raise ValueError(f"{HCCL_BASE} {base!r}")
    return [(int(base) + device, int(base) + device) for device in sorted(instance.devices)]


def _span(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"([0-9]{1,5})(?:-([0-9]{1,5}))?", text)
    return (int(found.group(1)), int(found.group(2) or found.group(1))) if found else (0, 0)


def _hccl_findings(host: Host, claims: dict[int, list[str]]) -> list[Finding]:
    """Two instances of a host that want one port for HCCL, and services on a port that HCCL takes."""
    if host.platform != "npu":
        return []
    found: list[Finding] = []
    taken: dict[int, str] = {}
    for instance in host.instances():
        try:
            spans = hccl_ports(instance)
        except ValueError as problem:
            found.append(
                _hccl_error(host, f"instance {instance.name}: env: {problem} can't be read")
            )
            continue
        for first, last in spans:
            found += [
                _hccl_error(
                    host,
                    f"port {port} ({' and '.join(names)}) is one of HCCL's of instance {instance.name}",
                )
                for port, names in sorted(claims.items())
                if first <= port <= last
            ]
            # Of a range each process takes what is free.
            if first == last:
                other = taken.setdefault(first, instance.name)
                if other != instance.name:
                    found.append(
                        _hccl_error(
                            host,
                            f"instances {other} and {instance.name} both take port {first} for HCCL",
                        )
                    )
    return found


def _hccl_error(host: Host, observed: str) -> Finding:
    return error(
        "ports_collide",
        host.name,
        observed,
        f"ports of its own for each: HCCL listens on {HCCL_BASE} ({HCCL_DEFAULT_BASE}) plus the number of the NPU",
        f"leave {HCCL_BASE} alone, the NPUs' numbers already differ; or set {HCCL_RANGE}: auto in env",
    )
