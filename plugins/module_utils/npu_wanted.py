# SPDX-License-Identifier: Apache-2.0
"""What can be expected of a host's NPUs, and the words that all checks of it share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Mapping, Sequence

from ansible_collections.kvcache.ascend.plugins.module_utils import finding


@dataclass(frozen=True)
class Wanted:
    """What is expected. None, or empty: not asked for."""

    count: int | None = None
    devices: Sequence[int] = ()  # physical ids; all checks of chips are then about these
    min_driver: str | None = None
    cann: str | None = None
    min_cann: str | None = None
    health: str | None = "ok"  # the worst state that is accepted: ok or warning
    links_up: bool = False
    min_free_memory_mb: int | None = None
    foreign_processes: bool = True  # whether processes of others are accepted
    own_units: Sequence[str] = ()  # patterns of the systemd units whose processes are one's own
    compatibility: Sequence[Mapping[str, Any]] = ()  # rows: cann, drivers, fails


Seen = Dict[str, Any]
Check = Callable[[Wanted, Seen, str], List[Dict[str, str]]]


def error(check: str, host: str, observed: str, expected: str, fix: str) -> dict[str, str]:
    return finding.make(check, finding.ERROR, host, observed=observed, expected=expected, fix=fix)


def warning(check: str, host: str, observed: str, expected: str, fix: str) -> dict[str, str]:
    return finding.make(check, finding.WARNING, host, observed=observed, expected=expected, fix=fix)


def from_verdict(name: str, check: str, seen: Seen, host: str, expected: str) -> list[Any]:
    verdict = seen["verdicts"][name]
    if verdict["ok"] is not False:
        return []
    return [error(check, host, verdict["reason"], expected, verdict["fix"])]


def wanted_chips(wanted: Wanted, seen: Seen) -> list[dict[str, Any]]:
    """The chips that are asked for."""
    chips = seen["chips"]
    if not wanted.devices:
        return chips
    return [chip for chip in chips if chip["phy_id"] in wanted.devices]
