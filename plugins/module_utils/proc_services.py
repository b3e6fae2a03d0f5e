# SPDX-License-Identifier: Apache-2.0
"""Which process listens on a TCP port, to which systemd unit it belongs, and in which environment it runs.

Read from /proc, so that nothing has to be installed on the host: ``ss`` is missing on lean systems. The folder is a
parameter, so that tests can hand over a copy. Without root, only the processes of the calling user can be named.
"""

from __future__ import annotations

import os
import re
import socket
import time
from typing import Any, Callable, Iterable

from ansible_collections.kvcache.ascend.plugins.module_utils import host_files

LISTEN = "0A"
"""State of a listening socket in /proc/net/tcp (TCP_LISTEN of the kernel's tcp_states.h)."""


def listening_inodes(table: str, ports: Iterable[int]) -> dict[str, tuple[int, int]]:
    """Return port and owner's user id of each listening socket by its inode, for the wanted ports.

    `table` is the text of /proc/net/tcp or tcp6: local address ``HEX:PORT`` in column 2, state in 4, uid in 8, inode in 10.
    """
    wanted = set(ports)
    inodes: dict[str, tuple[int, int]] = {}
    for line in table.splitlines()[1:]:
        columns = line.split()
        if len(columns) < 10 or columns[3] != LISTEN:
            continue
        port = int(columns[1].rsplit(":", 1)[1], 16)
        if port in wanted:
            inodes[columns[9]] = (port, int(columns[7]))
    return inodes


def unit_of(cgroup: str) -> str | None:
    """Return the systemd service in the text of /proc/PID/cgroup; None when the process belongs to none."""
    units = re.findall(r"/([^/\n]+\.service)", cgroup)
    return units[-1] if units else None


def unit_of_process(pid: int, proc: str = "/proc") -> str | None:
    """Return the systemd service of a process; None when it belongs to none, or has ended."""
    return unit_of(host_files.read_text(os.path.join(proc, str(pid), "cgroup")))


def parse_environment(block: str, names: Iterable[str]) -> dict[str, str | None] | None:
    """Return the wanted variables of /proc/PID/environ, None for each that is not set; None for all when it is empty."""
    if not block:
        return None
    variables = host_files.variables(block)
    return {name: variables.get(name) for name in names}


def parse_properties(text: str) -> dict[str, str]:
    """Return what ``systemctl show`` printed, ``Name=value`` a line, as a dict."""
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def socket_inodes(proc: str, pid: str) -> set[str]:
    """Return the inodes of the sockets that a process has open."""
    folder = os.path.join(proc, pid, "fd")
    inodes: set[str] = set()
    try:
        names = os.listdir(folder)
    except OSError:
        return inodes
    for name in names:
        try:
            target = os.readlink(os.path.join(folder, name))
        except OSError:
            continue
        if target.startswith("socket:["):
            inodes.add(target[len("socket:[") : -1])
    return inodes


def owner_uid(status: str) -> int | None:
    """Return the real user id in the text of /proc/PID/status; None when there is none, as for a process that ended."""
    match = re.search(r"^Uid:\s+(\d+)", status, re.MULTILINE)
    return int(match.group(1)) if match else None


def process_state(status: str) -> str | None:
    """Return the state letter in the text of /proc/PID/status (proc(5)); None when there is none."""
    match = re.search(r"^State:\s+(\S)", status, re.MULTILINE)
    return match.group(1) if match else None


def listen_problem(address: str) -> str:
    """Return why no service can listen on this address here; empty when one can. Any free port is used to try."""
    try:
        found = socket.getaddrinfo(address, 0, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _name, target = found[0]
        with socket.socket(family, kind, protocol) as listener:
            listener.bind(target)
    except (OSError, UnicodeError) as error:
        return getattr(error, "strerror", None) or str(error)
    return ""


def listeners(ports: list[int], proc: str = "/proc") -> list[dict[str, Any]]:
    """Return who listens on the wanted TCP ports: ``port``, ``uid``, ``pid``, ``command``, ``unit``, sorted by port.

    The last three are null for a process whose open files may not be looked at.
    """
    inodes: dict[str, tuple[int, int]] = {}
    for table in ("net/tcp", "net/tcp6"):
        inodes.update(listening_inodes(host_files.read_text(os.path.join(proc, table)), ports))
    found: dict[int, dict[str, Any]] = {
        port: {"port": port, "uid": uid, "pid": None, "command": None, "unit": None}
        for port, uid in inodes.values()
    }
    for pid in filter(str.isdigit, os.listdir(proc)) if inodes else []:
        for inode in socket_inodes(proc, pid) & set(inodes):
            found[inodes[inode][0]].update(
                pid=int(pid),
                command=host_files.read_text(os.path.join(proc, pid, "comm")).strip(),
                unit=unit_of(host_files.read_text(os.path.join(proc, pid, "cgroup"))),
            )
    return [found[port] for port in sorted(found)]


def await_listeners(
    unit: str,
    ports: list[int],
    seconds: float,
    *,
    look: Callable[[list[int]], list[dict[str, Any]]] = listeners,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> list[dict[str, Any]]:
    """Return who listens on the ports, as soon as the unit itself listens on all of them or the time is over."""
    end = clock() + seconds
    while True:
        found = look(ports)
        if {item["port"] for item in found if item["unit"] == unit} >= set(ports) or clock() >= end:
            return found
        sleep(0.5)


def port_problems(
    service: dict[str, Any], unit: str, variables: dict[str, int], host: str
) -> list[str]:
    """Return a message for each port of a service that something else than the service listens on.

    `service` is what the module service_state_info returns; `variables` gives the port that each variable names. A
    process that can't be looked at counts as the service's own when it runs under the user of the service's main process.
    """
    names = {int(port): name for name, port in variables.items()}
    strangers = [
        item
        for item in service["listeners"]
        if item["unit"] != unit and not (item["pid"] is None and item["uid"] == service["main_uid"])
    ]
    return [
        f"{host}: port {item['port']} ({names.get(item['port'], 'not configured')}) is taken by "
        f"{item['command'] or 'a process that can not be looked at'} (pid {item['pid'] or 'unknown'}, "
        f"{item['unit'] or 'no systemd unit'}). Fix: stop it, or choose another port."
        for item in strangers
    ]
