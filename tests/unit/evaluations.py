# SPDX-License-Identifier: Apache-2.0
"""Results of an evaluation as the program of the role writes them, for tests."""

from __future__ import annotations

import json
from typing import Any, Sequence

METRICS = {
    "prompt_tokens": "vllm:prompt_tokens_total",
    "local_queries": "vllm:prefix_cache_queries_total",
    "local_hits": "vllm:prefix_cache_hits_total",
    "external_queries": "vllm:external_prefix_cache_queries_total",
    "external_hits": "vllm:external_prefix_cache_hits_total",
    "prompt_tokens_by_source": "vllm:prompt_tokens_by_source_total",
    "sources": {
        "computed": "local_compute",
        "local": "local_cache_hit",
        "external": "external_kv_transfer",
    },
}
CONFIG = (
    'vllm:cache_config_info{block_size="128",enable_prefix_caching="True",num_gpu_blocks="56"} 1.0'
)
DOCUMENT = 1031
KEPT = 1024


def exposition(computed: int, local: int, pool: int) -> str:
    source = 'vllm:prompt_tokens_by_source_total{source="%s"} %d'
    return "\n".join(
        [
            f"vllm:prompt_tokens_total {computed + local + pool}",
            f"vllm:prefix_cache_hits_total {local}",
            f"vllm:external_prefix_cache_hits_total {pool}",
            source % ("local_compute", computed),
            source % ("local_cache_hit", local),
            source % ("external_kv_transfer", pool),
        ]
    )


def one_round(
    documents: int, seconds: float, held: str = "", errors: Sequence[str] = ()
) -> dict[str, Any]:
    """A round of which all documents were found (`held`: local or pool) or computed."""
    kept = KEPT * documents if held else 0
    tokens = {"computed": DOCUMENT * documents - kept, "local": 0, "pool": 0}
    if held:
        tokens[held] = kept
    return {
        "seconds": seconds * documents,
        "ttft_seconds": [seconds] * (documents - len(errors)),
        "errors": list(errors),
        "before": exposition(0, 0, 0),
        "after": exposition(**tokens),
    }


def step(
    variant: dict[str, Any], documents: int, held: str, capacity: int = 0, **changes: Any
) -> str:
    """A line of results: 1 s for a document that is computed, 0.1 s for one that is found."""
    record = {
        "key": variant["key"],
        "variant": variant["name"],
        "documents": documents,
        "start": "reset",
        "config": [CONFIG],
        "master": [f"master_total_capacity_bytes {capacity}"] if capacity else [],
        "finished": "2026-01-02T03:04:05Z",
        "rounds": [one_round(documents, 1.0), one_round(documents, 0.1 if held else 1.0, held)],
    }
    return json.dumps({**record, **changes})
