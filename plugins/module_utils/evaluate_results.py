# SPDX-License-Identifier: Apache-2.0
"""What an evaluation has measured: a line of JSON for each step, and the numbers that people compare.

A step is one number of documents, sent round after round. The first round finds nothing in a cache, the last one what the
caches have kept.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from typing import Any, Mapping, Sequence

from ansible_collections.kvcache.ascend.plugins.module_utils import (
    prometheus_text,
    vllm_evidence,
)

CAPACITY = "master_total_capacity_bytes"
STATISTICS = ("mean", "p50", "p90", "p99")
SOURCES = ("computed", "local", "pool")


def parse(text: str) -> list[dict[str, Any]]:
    """Every whole line; one that a killed run has left unfinished is passed over."""
    found = []
    for line in text.splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict) and {"key", "documents", "rounds"} <= set(record):
            found.append(record)
    return found


def of_key(records: Sequence[Mapping[str, Any]], key: str) -> dict[int, Mapping[str, Any]]:
    """The last result of each step of one variant, by its number of documents."""
    return {record["documents"]: record for record in records if record["key"] == key}


def percentile(values: Sequence[float], percent: float) -> float:
    """Between two values the point in proportion, as most tools have it."""
    ordered = sorted(values)
    place = (len(ordered) - 1) * percent / 100
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def statistics_of(values: Sequence[float]) -> dict[str, float]:
    return {
        "mean": sum(values) / len(values),
        "p50": percentile(values, 50),
        "p90": percentile(values, 90),
        "p99": percentile(values, 99),
    }


def row(record: Mapping[str, Any], metrics: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers of a step; `metrics` are the release's names of what its instances count."""
    return {
        "variant": record["variant"],
        "documents": record["documents"],
        "start": record["start"],
        "finished": record["finished"],
        "rounds": [_round(each, record["documents"], metrics) for each in record["rounds"]],
    }


def _round(
    measured: Mapping[str, Any], documents: int, metrics: Mapping[str, Any]
) -> dict[str, Any]:
    before, after = (
        vllm_evidence.counters(prometheus_text.parse(measured[name]), metrics)
        for name in ("before", "after")
    )
    tokens = vllm_evidence.tokens_by_source(before, after)
    return {
        **statistics_of(measured["ttft_seconds"]),
        "requests": documents,
        "errors": len(measured["errors"]),
        "error": measured["errors"][0] if measured["errors"] else "",
        "prompt": tokens["prompt"],
        **{name: tokens[name] for name in SOURCES},
    }


def document_tokens(record: Mapping[str, Any], metrics: Mapping[str, Any]) -> int | None:
    """Tokens of a document as the instance has counted them; None when it does not, or a request has failed."""
    first = _round(record["rounds"][0], record["documents"], metrics)
    if not first["prompt"] or first["errors"]:
        return None
    return round(first["prompt"] / record["documents"])


def cache_config(record: Mapping[str, Any]) -> dict[str, str]:
    """Settings of the instance's KV cache, as it told them."""
    for sample in prometheus_text.parse("\n".join(record["config"])).samples:
        return sample.labels
    return {}


def cache_tokens(record: Mapping[str, Any]) -> int | None:
    """Tokens that the instance's own cache holds; None when it does not tell."""
    told = cache_config(record)
    numbers = [told.get(name, "") for name in ("num_gpu_blocks", "block_size")]
    if not all(re.match(r"[0-9]+\Z", each) for each in numbers):
        return None
    return int(numbers[0]) * int(numbers[1])


def pool_capacity(record: Mapping[str, Any]) -> int | None:
    """Bytes of the whole pool, as the master told them; None when it was not asked."""
    value = prometheus_text.parse("\n".join(record["master"])).value(CAPACITY)
    return None if value is None else int(value)


def to_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """One row for each variant and number of documents."""
    rounds = max((len(each["rounds"]) for each in rows), default=0)
    columns = [*(f"ttft_{name}_seconds" for name in STATISTICS)]
    columns += [*(f"tokens_{name}" for name in SOURCES), "errors"]
    head = [f"round{number + 1}_{column}" for number in range(rounds) for column in columns]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["variant", "documents", *head])
    for each in rows:
        cells: list[Any] = []
        for measured in each["rounds"]:
            cells += [f"{measured[name]:.6f}" for name in STATISTICS]
            cells += ["" if measured[name] is None else measured[name] for name in SOURCES]
            cells.append(measured["errors"])
        writer.writerow([each["variant"], each["documents"], *cells])
    return text.getvalue()
