# SPDX-License-Identifier: Apache-2.0
"""Where the tokens of a prompt came from: computed, from the instance's own cache, or from the pool.

Counted by the instance's metrics before and after, in the words of the release (`metrics` of its connector), or where the
release has no such metrics told by the connector's line in the log (`hit_log`).
"""

from __future__ import annotations

import re
from typing import Any, Mapping

from ansible_collections.kvcache.ascend.plugins.module_utils.prometheus_text import Exposition

CACHE_CONFIG = "vllm:cache_config_info"
"""A gauge whose labels are the settings of the KV cache; in all versions since 0.8."""

COUNTERS = ("prompt_tokens", "local_queries", "local_hits", "external_queries", "external_hits")


def _sum(exposition: Exposition, name: str, **labels: str) -> int | None:
    """The sum over all engines; None for a metric that is not there."""
    values = [
        sample.value
        for sample in exposition.samples
        if sample.name == name
        and all(sample.labels.get(label) == value for label, value in labels.items())
    ]
    return int(sum(values)) if values else None


def counters(exposition: Exposition, metrics: Mapping[str, Any]) -> dict[str, int | None]:
    """The counters of a release, by the collection's own names."""
    found = {
        name: _sum(exposition, metrics[name]) if metrics.get(name) else None for name in COUNTERS
    }
    for name, label in (metrics.get("sources") or {}).items():
        found[f"source_{name}"] = _sum(exposition, metrics["prompt_tokens_by_source"], source=label)
    return found


def block_size(exposition: Exposition) -> int | None:
    """Tokens in a block; None when the instance does not tell."""
    for sample in exposition.samples:
        told = sample.labels.get("block_size", "")
        if sample.name == CACHE_CONFIG and re.match(r"[0-9]+\Z", told):
            return int(told)
    return None


def tokens_by_source(
    before: Mapping[str, int | None], after: Mapping[str, int | None]
) -> dict[str, int | None]:
    """What the requests between two looks were made of; null for what the release does not count.

    A counter that is not there before the first request begins at zero.
    """
    grown = {
        name: None if after[name] is None else (after[name] or 0) - (before.get(name) or 0)
        for name in after
    }
    local = grown["source_local"] if "source_local" in grown else grown["local_hits"]
    pool = grown["source_external"] if "source_external" in grown else grown["external_hits"]
    prompt = grown["prompt_tokens"]
    computed = grown.get("source_computed")
    if computed is None and prompt is not None and pool is not None:
        computed = prompt - (local or 0) - pool
    return {"prompt": prompt, "computed": computed, "local": local, "pool": pool}


def pool_tokens_in_log(text: str, pattern: str, request: str) -> int | None:
    """How many tokens of a request came from the pool, as the connector's last line about it tells; None without one."""
    found = None
    for match in re.finditer(pattern, text):
        if request in match.group("request"):
            # What is in the pool, but was in the instance's own cache as well, is not loaded.
            found = max(int(match.group("load")), 0)
    return found


def whole_blocks(tokens: int, block: int | None) -> int | None:
    """Tokens of a prompt that lie in whole blocks, which alone are kept; the last token is always computed."""
    return None if not block else (tokens - 1) // block * block
