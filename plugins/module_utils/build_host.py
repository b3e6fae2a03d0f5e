# SPDX-License-Identifier: Apache-2.0
"""What a host is like, as far as a compile there is concerned: its OS, memory, disk, tools."""

from __future__ import annotations

import os
import shutil
from typing import Any

from ansible_collections.kvcache.ascend.plugins.module_utils import host_files

CGROUP_LIMITS = (
    "/sys/fs/cgroup/memory.max",
    "/sys/fs/cgroup/memory/memory.limit_in_bytes",
)


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


def look(build_dir: str) -> dict[str, Any]:
    """Return OS, cores, memory, disk and ccache of this host."""
    release = host_files.os_release(host_files.read_text("/etc/os-release"))
    return {
        "os_id": release.get("ID", "unknown"),
        "os_version": release.get("VERSION_ID", ""),
        "os_name": release.get("PRETTY_NAME") or release.get("NAME", "an unknown system"),
        "cores": cores(),
        "memory_bytes": memory_bytes(
            host_files.read_text("/proc/meminfo"),
            [host_files.read_text(path) for path in CGROUP_LIMITS],
        ),
        "free_bytes": host_files.free_bytes(build_dir),
        "ccache": shutil.which("ccache"),
    }
