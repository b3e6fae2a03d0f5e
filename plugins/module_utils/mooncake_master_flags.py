# SPDX-License-Identifier: Apache-2.0
"""Flags of ``mooncake_master``: are they known to the release, do they fit each other, how are they written.

The master itself ends at once on an unknown flag, aborts on a ratio out of range, starts happily with a port that can't
exist, and never notices that its lease is shorter than a transfer. So all of it is checked before a file is written.
"""

from __future__ import annotations

import difflib
import re
from typing import Any

INTEGER_TYPES = ("int", "uint")
DURATION = re.compile(r"([0-9]+)(ms|s|m|h)?")
DURATION_MS = {None: 1, "ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000}
"""Milliseconds of the suffixes that the master takes from 0.3.10.post1 on; a bare number is milliseconds."""

PORT_FLAGS = ("rpc_port", "metrics_port", "http_metadata_server_port")
RATIO_FLAGS = ("eviction_ratio", "eviction_high_watermark_ratio")
HA_FLAGS = ("enable_ha", "etcd_endpoints", "ha_backend_type", "ha_backend_connstring")
WRITABLE = re.compile(r"[^\s'\"\\$%#]*")
"""What a value may hold: systemd splits the arguments at blanks and expands ``$`` and ``%``."""


def duration_ms(value: Any) -> int | None:
    """Return a duration flag's value in milliseconds; None when it is none (``11000``, ``11s`` and ``2m`` are)."""
    match = DURATION.fullmatch(str(value))
    return int(match.group(1)) * DURATION_MS[match.group(2)] if match else None


def is_of_type(value: Any, kind: str) -> bool:
    """Return whether a YAML value can be written for a flag of this type (bool, int, uint, double, duration, string)."""
    if kind == "bool":
        return isinstance(value, bool) or str(value).lower() in ("true", "false")
    if isinstance(value, bool):
        return False
    if kind in INTEGER_TYPES:
        return re.fullmatch(r"[0-9]+" if kind == "uint" else r"-?[0-9]+", str(value)) is not None
    if kind == "double":
        return re.fullmatch(r"-?[0-9]+(\.[0-9]+)?(e-?[0-9]+)?", str(value), re.I) is not None
    if kind == "duration":
        return duration_ms(value) is not None
    return isinstance(value, (str, int, float))


def unknown_flag(name: str, known: list[str], version: str) -> str:
    """Return the message for a flag that this Mooncake version does not know."""
    close = difflib.get_close_matches(name, known, n=1)
    hint = (
        f"did you mean {close[0]}?"
        if close
        else "see docs/releases.md for the flags of each version."
    )
    return f"mooncake_master_flags.{name}: Mooncake {version} knows no such flag and would not start. Fix: remove it; {hint}"


def value_problem(name: str, value: Any, kind: str) -> str:
    """Return why a value can't be written for a flag of this type; empty when it can."""
    if not is_of_type(value, kind):
        return f"{name}: {value!r} is not of type {kind}. Fix: correct the value."
    if not WRITABLE.fullmatch(str(value)):
        return (
            f"{name}: {value!r} has a blank, a quote, $, % or # in it, which systemd would change. "
            "Fix: choose a value without."
        )
    return ""


def flag_problem(name: str, value: Any, mooncake: dict[str, Any]) -> str:
    """Return what is wrong with a single flag: unknown, deprecated, of the wrong type, not writable, or HA."""
    known = {flag["name"]: flag for flag in mooncake["master_flags"]}
    flag = known.get(name)
    if name in HA_FLAGS:
        return f"mooncake_master_flags.{name}: a highly available master is not supported yet. Fix: remove it."
    if flag is None:
        return unknown_flag(name, list(known), mooncake["version"])
    if flag.get("replaced_by"):
        return f"mooncake_master_flags.{name}: deprecated by Mooncake. Fix: set {flag['replaced_by']} instead."
    return value_problem(name, value, flag["type"])


def port_problems(flags: dict[str, Any]) -> list[str]:
    """Return which ports can't exist or are used twice."""
    ports = {name: int(flags[name]) for name in PORT_FLAGS if name in flags}
    if str(flags.get("enable_http_metadata_server")).lower() != "true":
        ports.pop("http_metadata_server_port", None)
    found = [
        f"{name}: {port} is not a port. Fix: choose one from 1 to 65535."
        for name, port in ports.items()
        if not 1 <= port <= 65535
    ]
    names = list(ports)
    found += [
        f"{first} and {second} are both {ports[first]}. Fix: give each its own port."
        for index, first in enumerate(names)
        for second in names[index + 1 :]
        if ports[first] == ports[second]
    ]
    return found


def ratio_problems(flags: dict[str, Any]) -> list[str]:
    """Return which ratios are out of range, or free more than there is to free."""
    ratios = {name: float(flags[name]) for name in RATIO_FLAGS if name in flags}
    found = [
        f"{name}: {value} is not a share. Fix: choose a number from 0 to 1."
        for name, value in ratios.items()
        if not 0 <= value <= 1
    ]
    evicted, watermark = (ratios.get(name) for name in RATIO_FLAGS)
    if not found and evicted is not None and watermark is not None and evicted >= watermark:
        found.append(
            f"eviction_ratio {evicted} is not below eviction_high_watermark_ratio {watermark}: each eviction would empty "
            "the pool. Fix: lower eviction_ratio (0.05 is usual)."
        )
    return found


def lease_problems(flags: dict[str, Any], transfer_timeout_ms: int) -> list[str]:
    """Return whether a lease can end while a transfer that may still succeed is reading the object."""
    lease_ms = duration_ms(flags.get("default_kv_lease_ttl"))
    if lease_ms is None or lease_ms > transfer_timeout_ms:
        return []
    return [
        f"default_kv_lease_ttl: {lease_ms} ms is not longer than the longest transfer timeout "
        f"({transfer_timeout_ms} ms), so an object can be evicted while it is read. "
        f"Fix: raise mooncake_master_kv_lease_ttl_ms above it (for example {transfer_timeout_ms + 1000}), "
        "or lower the instances' timeouts and mooncake_master_transfer_timeout_ms."
    ]


def problems(
    flags: dict[str, Any],
    mooncake: dict[str, Any],
    variables: dict[str, str],
    free_flags: dict[str, Any],
    transfer_timeout_ms: int,
) -> list[str]:
    """Return all that is wrong with the flags of a master; empty when it can start with them and serve.

    `flags` are all flags by name, `mooncake` is the release's description of its Mooncake (``version``, and
    ``master_flags``: a list of ``name``, ``type`` and possibly ``replaced_by``), `variables` names the variable of
    each flag that has one of its own, `free_flags` is what the user wrote into ``mooncake_master_flags``.
    """
    twice = [
        f"mooncake_master_flags.{name}: has a variable of its own. Fix: set {variables[name]} instead."
        for name in free_flags
        if name in variables
    ]
    single = {str(name): flag_problem(str(name), flags[name], mooncake) for name in flags}
    # A flag that is wrong by itself can't be compared with others; the others still can.
    right = {name: value for name, value in flags.items() if not single[str(name)]}
    return (
        twice
        + [problem for problem in single.values() if problem]
        + port_problems(right)
        + ratio_problems(right)
        + lease_problems(right, transfer_timeout_ms)
    )


def arguments(flags: dict[str, Any]) -> str:
    """Return the flags as the arguments of a command line, sorted by name, separated by blanks."""
    return " ".join(
        f"--{name}={str(value).lower() if isinstance(value, bool) else value}"
        for name, value in sorted(flags.items())
    )
