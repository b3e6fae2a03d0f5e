# SPDX-License-Identifier: Apache-2.0
"""What a host is like, as far as a compile there is concerned: its OS, memory, disk, tools."""

from __future__ import annotations

import os
import shlex
import shutil
from typing import Any

CGROUP_LIMITS = (
    "/sys/fs/cgroup/memory.max",
    "/sys/fs/cgroup/memory/memory.limit_in_bytes",
)


def read_text(path: str) -> str:
    """Return a file's text; empty when it can't be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as handle:
            return handle.read()
    except OSError:
        return ""


def os_release(text: str) -> dict[str, str]:
    """Return the variables of /etc/os-release."""
    found = {}
    for line in text.splitlines():
        key, equals, value = line.strip().partition("=")
        if equals and not key.startswith("#"):
            try:
                found[key] = "".join(shlex.split(value))
            except ValueError:
                found[key] = value.strip("\"'")
    return found


def memory_bytes(meminfo: str, limits: list[str]) -> int:
    """Return the memory that is free for a compiler: what the kernel says, or the limit of the container."""
    available = 0
    for line in meminfo.splitlines():
        if line.startswith("MemAvailable:"):
            available = int(line.split()[1]) * 1024
    numbers = [int(limit) for limit in limits if limit.strip().isdigit()]
    return min([available, *numbers]) if available else min(numbers, default=0)


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def free_bytes(path: str) -> int:
    """Return the free bytes of the file system that `path` would be on; it need not be there yet."""
    while not os.path.isdir(path):
        path = os.path.dirname(path) or "/"
    return shutil.disk_usage(path).free


def look(build_dir: str) -> dict[str, Any]:
    """Return OS, cores, memory, disk and ccache of this host."""
    release = os_release(read_text("/etc/os-release"))
    return {
        "os_id": release.get("ID", "unknown"),
        "os_version": release.get("VERSION_ID", ""),
        "os_name": release.get("PRETTY_NAME") or release.get("NAME", "an unknown system"),
        "cores": cores(),
        "memory_bytes": memory_bytes(
            read_text("/proc/meminfo"), [read_text(path) for path in CGROUP_LIMITS]
        ),
        "free_bytes": free_bytes(build_dir),
        "ccache": shutil.which("ccache"),
    }
