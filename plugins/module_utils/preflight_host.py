# SPDX-License-Identifier: Apache-2.0
"""What the preflight must know of a host beside its NPUs, in one look: system, memory, disk, ports, time, network, builds.

Files are read below a root, commands and sockets are passed in, so that tests use folders and sockets of theirs.
"""

from __future__ import annotations

import json
import os
import platform
import re
from dataclasses import dataclass
from typing import Any, Mapping, Sequence

from ansible_collections.kvcache.ascend.plugins.module_utils import (
    host_files,
    mooncake_build,
    mooncake_master_io,
    proc_services,
)
from ansible_collections.kvcache.ascend.plugins.module_utils.limited_command import Runner
from ansible_collections.kvcache.ascend.plugins.module_utils.npu_files import Files

CAP_SYS_RESOURCE = 24
"""Bit of the capability that raises a limit above the hard one (linux/capability.h)."""
UNLIMITED = "unlimited"
CONNECTED = (
    mooncake_master_io.ANSWERED,
    mooncake_master_io.SILENT,
    mooncake_master_io.CLOSED,
    mooncake_master_io.REFUSED,
)
"""Outcomes that show that the host behind an address is there, whether or not something listens."""


@dataclass(frozen=True)
class Options:
    ports: Sequence[int] = ()
    paths: Sequence[str] = ()
    master_host: str | None = None
    master_port: int = 0
    mooncake_root: str = "/opt/kvcache/mooncake"
    seconds: float = 5.0


def os_release(files: Files) -> dict[str, str | None]:
    """Name and version of the distribution."""
    text = files.read("/etc/os-release") or files.read("/usr/lib/os-release") or ""
    found = host_files.os_release(text)
    return {
        "id": found.get("ID"),
        "id_like": found.get("ID_LIKE"),
        "name": found.get("NAME"),
        "version": found.get("VERSION_ID"),
    }


def glibc_version() -> str | None:
    """None on a system with another C library."""
    try:
        return (os.confstr("CS_GNU_LIBC_VERSION") or "").split()[-1]
    except (ValueError, IndexError):
        return None


def memory(files: Files) -> dict[str, int | None]:
    """Bytes of memory, and huge pages of the default size."""
    table = dict(re.findall(r"(?m)^(\w+):\s+(\d+)", files.read("/proc/meminfo") or ""))

    def bytes_of(name: str) -> int | None:
        return int(table[name]) * 1024 if name in table else None

    return {
        "total_bytes": bytes_of("MemTotal"),
        "available_bytes": bytes_of("MemAvailable"),
        "hugepage_bytes": bytes_of("Hugepagesize"),
        "hugepages_total": int(table["HugePages_Total"]) if "HugePages_Total" in table else None,
        "hugepages_free": int(table["HugePages_Free"]) if "HugePages_Free" in table else None,
    }


def memlock_limit_bytes(files: Files) -> int | None:
    """The most memory that systemd lets a service lock; None for no bound.

    systemd hands LimitMEMLOCK= on as far as its own hard limit goes, and beyond it only with CAP_SYS_RESOURCE.
    """
    capabilities = re.search(r"(?m)^CapEff:\s*([0-9a-f]+)", files.read("/proc/1/status") or "")
    if capabilities and int(capabilities.group(1), 16) >> CAP_SYS_RESOURCE & 1:
        return None
    limit = re.search(r"(?m)^Max locked memory\s+\S+\s+(\S+)", files.read("/proc/1/limits") or "")
    return int(limit.group(1)) if limit and limit.group(1).isdigit() else None


def disk(path: str) -> dict[str, Any]:
    """The file system that a path is on, or will be on once it is made."""
    place = path
    while not os.path.exists(place) and place != "/":
        place = os.path.dirname(place)
    try:
        seen = os.statvfs(place)
    except OSError:
        return {"path": path, "free_bytes": None, "total_bytes": None}
    return {
        "path": path,
        "free_bytes": seen.f_bavail * seen.f_frsize,
        "total_bytes": seen.f_blocks * seen.f_frsize,
    }


def local_ports(files: Files) -> list[int] | None:
    """First and last port that the kernel hands out to outgoing connections."""
    numbers = (files.read("/proc/sys/net/ipv4/ip_local_port_range") or "").split()
    return [int(numbers[0]), int(numbers[1])] if len(numbers) == 2 else None


def ask_python(path: str, run: Runner, seconds: float) -> dict[str, Any]:
    """Version and tag of a Python; None where it can't be run, with the problem."""
    answer = run([path, "-c", mooncake_build.PLATFORM_SCRIPT], dict(os.environ), seconds)
    found = re.search(r"\{.*\}", answer.output)
    if answer.status != 0 or not found:
        lines = answer.error.strip().splitlines()
        reason = answer.problem or f"status {answer.status}: {lines[-1] if lines else 'no message'}"
        return {"path": path, "platform": None, "problem": reason}
    return {"path": path, "platform": _json(found.group()), "problem": None}


def _json(text: str) -> Any:
    return json.loads(text)


def reach(
    host: str,
    port: int,
    seconds: float,
    resolver: mooncake_master_io.Resolver = mooncake_master_io.system_resolver,
    connector: mooncake_master_io.Connector = mooncake_master_io.system_connector,
) -> dict[str, Any]:
    """Whether a name resolves and something at the address answers a connection, be it with a refusal."""
    found = mooncake_master_io.resolve(host, port, seconds, resolver)
    seen: dict[str, Any] = {
        "host": host,
        "port": port,
        "resolved": found.ip_addresses,
        "name_problem": found.error or None,
        "outcome": None,
        "reached": None,
    }
    if not found.ip_addresses:
        return seen
    reply = mooncake_master_io.exchange(
        found.ip_addresses,
        port,
        b"",
        lambda _data: True,
        budget=mooncake_master_io.Budget(seconds),
        connector=connector,
    )
    return {**seen, "outcome": reply.outcome, "reached": reply.outcome in CONNECTED}


def look(options: Options, files: Files, run: Runner, python: str, now: float) -> dict[str, Any]:
    """Everything, as preflight_info returns it."""
    builds = mooncake_build.read_builds(options.mooncake_root)
    current = mooncake_build.current_build(options.mooncake_root)
    master = None
    if options.master_host:
        master = reach(options.master_host, options.master_port, options.seconds)
    return {
        "hostname": platform.node(),
        "architecture": platform.machine(),
        "kernel": platform.release(),
        "glibc": glibc_version(),
        "os": os_release(files),
        "python": ask_python(python, run, options.seconds),
        "memory": memory(files),
        "memlock_limit_bytes": memlock_limit_bytes(files),
        "disks": [disk(path) for path in options.paths],
        "listeners": proc_services.listeners(list(options.ports)),
        "local_ports": local_ports(files),
        "master": master,
        "mooncake": {"current": current, "version": _version(builds, current)},
        "time": now,
    }


def _version(builds: Sequence[Mapping[str, Any]], current: str | None) -> str | None:
    return next((str(b.get("version")) for b in builds if b["build_id"] == current), None)
