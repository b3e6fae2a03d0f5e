# Copyright The kvcache.ascend authors
# SPDX-License-Identifier: Apache-2.0
"""From what was seen of a Mooncake master to findings about its pool: clients, memory, segments. Pure: no sockets."""

from __future__ import annotations

from typing import Any, Mapping, Tuple

from ansible_collections.kvcache.ascend.plugins.module_utils import finding, sizes
from ansible_collections.kvcache.ascend.plugins.module_utils.mooncake_master_observation import (
    Observation,
)

CHECK_CLIENTS = "mooncake_master_clients"
CHECK_SEGMENT = "mooncake_master_segment"
SEGMENT_METRIC = "segment_total_capacity_bytes"
"""Of each segment, by the label segment (mooncake-store/src/master_metric_manager.cpp, from 0.3.8 on)."""

# What is observed, what was expected, what to do.
Words = Tuple[str, str, str]


def findings(
    seen: Observation,
    facts: dict[str, Any],
    this_host: str,
    min_clients: int,
    segments: Mapping[str, int],
) -> list[dict[str, str]]:
    """What is wrong with the pool of a master that serves. segments: the bytes of each that must be there, by name."""
    if not seen.serves:
        return []
    return _client_findings(seen, facts, this_host, min_clients) + [
        _make(CHECK_SEGMENT, finding.ERROR, this_host, words)
        for words in _segment_words(seen, segments)
    ]


def lent(segments: Mapping[str, int]) -> str:
    """The words about segments that are as they should be."""
    return "".join(
        f"; {sizes.to_text(size_bytes)} of its pool are the segment {name}"
        for name, size_bytes in segments.items()
    )


def _make(check: str, severity: str, this_host: str, words: Words) -> dict[str, str]:
    observed, expected, fix = words
    return finding.make(check, severity, this_host, observed=observed, expected=expected, fix=fix)


def _client_findings(
    seen: Observation, facts: dict[str, Any], this_host: str, min_clients: int
) -> list[dict[str, str]]:
    side = seen.metrics_side
    if side is None or not side.is_master:
        return []
    if side.metrics_page.status_code != 200:
        return []
    clients, capacity_bytes = facts["metrics"]["active_clients"], facts["metrics"]["capacity_bytes"]
    if not min_clients and not clients and not capacity_bytes:
        # As a master is until its first instance has started.
        observed = (
            f"{seen.address} is a Mooncake master and serves; no client has joined its pool yet"
        )
        return [finding.make(CHECK_CLIENTS, finding.OK, this_host, observed=observed)]
    words = _client_words(seen, clients, capacity_bytes, min_clients)
    if words is None:
        return []
    severity = finding.ERROR if min_clients else finding.WARNING
    return [_make(CHECK_CLIENTS, severity, this_host, words)]


def _client_words(
    seen: Observation, clients: int | None, capacity_bytes: int | None, min_clients: int
) -> Words | None:
    wanted = max(1, min_clients)
    expected = f"at least {wanted} client{'s' if wanted > 1 else ''}"
    start = "see why instances or store nodes did not join (their logs; do they name this master?)"
    # 0.3.7 exports the capacity only after the first client has brought some: None is none yet.
    if not capacity_bytes:
        attached = f"clients {clients}" if clients else "no client attached"
        observed = f"{seen.address} serves, but its pool is empty: {attached}, capacity 0 bytes"
        return observed, f"{expected} with a segment", start
    # A version that does not count its clients cannot be held to a number of them.
    if clients is not None and clients < min_clients:
        return f"{seen.address} serves, but has clients: {clients}", expected, start
    return None


def _segment_words(seen: Observation, segments: Mapping[str, int]) -> list[Words]:
    """What is wrong with each wanted segment. The master adds up those of one name, as of a process that was restarted."""
    side = seen.metrics_side
    samples = side.exposition.samples if side and side.is_master else []
    there = {
        sample.labels.get("segment"): sample.value
        for sample in samples
        if sample.name == SEGMENT_METRIC
    }
    found: list[Words] = []
    for name, wanted_bytes in segments.items():
        size = int(there.get(name) or 0)
        expected = f"{sizes.to_text(wanted_bytes)} in its pool"
        if not size:
            found.append(
                (
                    f"{seen.address} serves, but the segment {name} is not in its pool",
                    expected,
                    "see why its process did not join (sudo journalctl -u mooncake-store); does it name this master?",
                )
            )
        elif size != wanted_bytes:
            found.append(
                (
                    f"{seen.address} serves, and counts {sizes.to_text(size)} for the segment {name}",
                    expected,
                    "wait for client_ttl seconds, until the master forgets what a process before had lent, then check again",
                )
            )
    return found
