# SPDX-License-Identifier: Apache-2.0
"""An evaluation as a whole: what was measured of each variant, beside what the plan says of it."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from ansible_collections.kvcache.ascend.plugins.module_utils import (
    evaluate_input,
    evaluate_results,
    evaluate_verdict,
    kv_answer,
    kv_layout,
    kv_plan,
    vllm_instance,
)


def make(plan: Mapping[str, Any], results: str, known: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Each variant that has results: its rows, its prediction and its verdict.

    known: metrics and keyed_by_rank of the release; model_config (a dict, empty when it could not be read); options of all
    instances; watermark and eviction_ratio of the master; document_tokens, output_tokens, concurrency; kv_cache_tokens (0:
    as the instance tells).
    """
    records = evaluate_results.parse(results)
    found = []
    for variant in plan["variants"]:
        done = evaluate_results.of_key(records, variant["key"])
        measured = [done[number] for number in plan["documents"] if number in done]
        if measured:
            left = len(plan["documents"]) - len(measured)
            found.append({**_variant(variant, measured, known), "missing": left})
    bare = [each for each in found if not each["pool"]]
    for each in found:
        _judge(each, bare[0] if bare else None)
    return found


def _variant(
    variant: Mapping[str, Any], measured: Sequence[Mapping[str, Any]], known: Mapping[str, Any]
) -> dict[str, Any]:
    first = measured[0]
    tokens = evaluate_results.document_tokens(first, known["metrics"])
    ranks = _ranks(variant["instance"], known["options"])
    made: dict[str, Any] = {
        "name": variant["name"],
        "pool": variant["pool"],
        "ranks": ranks,
        "rows": [evaluate_results.row(each, known["metrics"]) for each in measured],
        "document_tokens": tokens or int(known["document_tokens"]),
        "concurrency": int(known["concurrency"]),
        "cache_tokens": evaluate_results.cache_tokens(first) or int(known["kv_cache_tokens"]),
        "segment_bytes": ranks
        * evaluate_input.segment_bytes(variant, vllm_instance.Instance.segment_size),
        "capacity_bytes": evaluate_results.pool_capacity(first) if variant["pool"] else None,
    }
    made["block_size"] = int(evaluate_results.cache_config(first).get("block_size", 128))
    made["plan"], made["no_plan"] = _plan(made, known)
    return made


def _ranks(instance: Mapping[str, Any], options: Mapping[str, Any]) -> int:
    return vllm_instance.read_all([instance], options)[0].tensor_parallel_size


def _plan(made: Mapping[str, Any], known: Mapping[str, Any]) -> tuple[dict[str, Any] | None, str]:
    """The plan of a variant, from the blocks that the instance has told; or why there is none."""
    if not known["model_config"]:
        return None, "the model's config.json could not be read"
    if not made["cache_tokens"]:
        return None, "the instance does not tell its blocks: give evaluate_kv_cache_tokens"
    pool_bytes = made["capacity_bytes"] or made["segment_bytes"]
    try:
        plan = kv_answer.plan(
            known["model_config"],
            tensor_parallel_size=made["ranks"],
            kv_cache_tokens=made["cache_tokens"],
            block_size=made["block_size"],
            segment_size=str(pool_bytes // made["ranks"]),
            watermark=float(known["watermark"]),
            eviction_ratio=float(known["eviction_ratio"]),
            keyed_by_rank=known["keyed_by_rank"],
            document_tokens=made["document_tokens"],
            output_tokens=int(known["output_tokens"]),
        )
    except (kv_plan.PlanError, kv_layout.ConfigError) as error:
        return None, str(error)
    return plan, ""


def _judge(made: dict[str, Any], bare: Mapping[str, Any] | None) -> None:
    """Add the verdict; `bare` is the variant without a pool, if there is one."""
    rows = made["rows"]
    made["by_ttft"] = evaluate_verdict.knee_by_ttft(rows)
    made["by_tokens"] = evaluate_verdict.knee_by_tokens(rows)
    # The counters are exact, times are not.
    made["knee"] = made["by_tokens"] or made["by_ttft"]
    made["predicted"] = made["plan"]["knee_documents"] if made["plan"] else None
    numbers = [each["documents"] for each in rows]
    made["agrees"] = None
    if made["predicted"] is not None:
        made["agrees"] = all(
            evaluate_verdict.within_a_step(knee, made["predicted"], numbers)
            for knee in (made["by_ttft"], made["by_tokens"])
            if knee is not None
        )
    made["causes"] = evaluate_verdict.causes(made, rows) if made["agrees"] is False else []
    made.update(evaluate_verdict.hit_and_recompute(rows, made["knee"]))
    made["miss_cost"] = None
    if made["pool"] and bare is not None:
        bare_knee = evaluate_verdict.knee_by_tokens(bare["rows"]) or evaluate_verdict.knee_by_ttft(
            bare["rows"]
        )
        made["miss_cost"] = evaluate_verdict.miss_cost(rows, made["knee"], bare["rows"], bare_knee)


def facts(made: Mapping[str, Any]) -> dict[str, Any]:
    """A variant's verdict as plain data, for `set_stats` and for playbooks."""
    return {
        "name": made["name"],
        "pool": made["pool"],
        "predicted_knee": made["predicted"],
        "knee_last_held": made["knee"].last_held,
        "knee_first_lost": made["knee"].first_lost,
        "ttft_last_held": made["by_ttft"].last_held,
        "ttft_first_lost": made["by_ttft"].first_lost,
        "agrees": made["agrees"],
        "hit_seconds": made["hit_seconds"],
        "recompute_seconds": made["recompute_seconds"],
        "recompute_to_hit": made["ratio"],
        "miss_cost": made["miss_cost"],
        "causes": made["causes"],
        "rows": made["rows"],
    }


def verdict(made: Mapping[str, Any]) -> str:
    """One line that says what a variant has shown."""
    knee = f"{made['name']}: knee {evaluate_verdict.knee_text(made['knee'])}"
    if made["predicted"] is None:
        parts = [f"{knee}; no prediction: {made['no_plan']}"]
    else:
        agreed = "as planned" if made["agrees"] else "NOT as planned"
        parts = [f"{knee}, {agreed} (after {made['predicted']} documents)"]
    if made["ratio"]:
        parts.append(
            f"a hit takes {seconds_text(made['hit_seconds'])}, computing {seconds_text(made['recompute_seconds'])}"
            f" ({made['ratio']:.1f} times as long)"
        )
    if made["miss_cost"]:
        parts.append(
            f"a miss takes {made['miss_cost']:.2f} times as long as it does without a pool"
        )
    if made["missing"]:
        parts.append(f"{made['missing']} steps are not measured yet")
    errors = sum(each["errors"] for row in made["rows"] for each in row["rounds"])
    if errors:
        parts.append(f"{errors} requests failed")
    return "; ".join(parts)


def seconds_text(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"


def table(found: Sequence[Mapping[str, Any]], documents: Sequence[int]) -> list[list[str]]:
    """Mean TTFT of the last round, in seconds: a row for each variant, a column for each number of documents."""
    rows = [["documents", *map(str, documents)]]
    for each in found:
        means = {row["documents"]: row["rounds"][-1]["mean"] for row in each["rows"]}
        rows.append(
            [
                each["name"],
                *(f"{means[number]:.4f}" if number in means else "-" for number in documents),
            ]
        )
    return rows


def render(found: Sequence[Mapping[str, Any]], documents: Sequence[int]) -> str:
    """Table and verdict as lines for a terminal."""
    rows = table(found, documents)
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["Mean TTFT of the last round, in seconds"]
    for row in rows:
        cells = [f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:])]
        lines.append("  ".join([f"{row[0]:<{widths[0]}}", *cells]))
    for each in found:
        lines += [verdict(each), *(f"  likely: {cause}" for cause in each["causes"])]
    return "\n".join(lines)
