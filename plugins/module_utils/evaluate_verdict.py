# SPDX-License-Identifier: Apache-2.0
"""What a measurement says: where the knee is, whether the plan knew it, what a hit saves and what a miss costs."""

from __future__ import annotations

import statistics
from typing import Any, Mapping, Sequence

from ansible_collections.kvcache.ascend.plugins.module_utils import kv_knee
from ansible_collections.kvcache.ascend.plugins.module_utils.kv_knee import Knee

HELD_SHARE = 0.5
"""A cycle of documents is found whole or not at all; between the two lies only what a step beside the knee leaves."""

CAPACITY_TOLERANCE = 0.02
FIRST_ROUND_SHARE = 0.05


def knee_by_ttft(rows: Sequence[Mapping[str, Any]]) -> Knee:
    """Where the mean TTFT of the last round leaves that of a hit for that of a recompute, which the first round tells.

    A hit in the pool takes longer than one in the instance's own cache, and is one all the same: the border is what a step
    takes of which half is found as fast as in the fastest step, and the other half computed.
    """
    last = [each["rounds"][-1]["mean"] for each in rows]
    hit = min(last)
    recompute = statistics.median(each["rounds"][0]["mean"] for each in rows)
    if recompute < hit * kv_knee.JUMP_FACTOR:
        return Knee(None, rows[0]["documents"])
    last_held = None
    for each, seconds in zip(rows, last):
        if seconds > HELD_SHARE * hit + (1 - HELD_SHARE) * recompute:
            return Knee(last_held, each["documents"])
        last_held = each["documents"]
    return Knee(last_held, None)


def reused_share(measured: Mapping[str, Any]) -> float | None:
    """The share of a round's tokens that came from a cache; None when the release does not count them."""
    if not measured["prompt"] or measured["computed"] is None:
        return None
    return 1 - float(measured["computed"]) / float(measured["prompt"])


def knee_by_tokens(rows: Sequence[Mapping[str, Any]]) -> Knee | None:
    """Where the tokens of the last round are no longer found; None when the release does not count them."""
    last_held = None
    for each in rows:
        share = reused_share(each["rounds"][-1])
        if share is None:
            return None
        if share < HELD_SHARE:
            return Knee(last_held, each["documents"])
        last_held = each["documents"]
    return Knee(last_held, None)


def within_a_step(knee: Knee, predicted: int, documents: Sequence[int]) -> bool:
    """Whether the predicted number lies in the step of the jump, or in one beside it."""
    least, most = 0, None
    if knee.last_held is not None:
        before = [number for number in documents if number < knee.last_held]
        least = before[-1] if before else 0
    if knee.first_lost is not None:
        behind = [number for number in documents if number > knee.first_lost]
        # Beyond the last step, one as large as that.
        most = behind[0] if behind else 2 * knee.first_lost - (knee.last_held or 0)
    return least <= predicted and (most is None or predicted < most)


def knee_text(knee: Knee | None) -> str:
    if knee is None:
        return "not counted by this release"
    if knee.last_held is None:
        return f"before {knee.first_lost}"
    if knee.first_lost is None:
        return f"not reached up to {knee.last_held}"
    return f"between {knee.last_held} and {knee.first_lost}"


def is_held(each: Mapping[str, Any], knee: Knee) -> bool:
    return knee.last_held is not None and each["documents"] <= knee.last_held


def mean_ttft(rows: Sequence[Mapping[str, Any]], number: int) -> float | None:
    """The mean over all documents of one round of some steps; None without a step."""
    requests = sum(each["documents"] for each in rows)
    if not requests:
        return None
    return (
        float(sum(each["rounds"][number]["mean"] * each["documents"] for each in rows)) / requests
    )


def hit_and_recompute(rows: Sequence[Mapping[str, Any]], knee: Knee) -> dict[str, float | None]:
    """Mean TTFT of a document that is found, and of one that is computed, and how many times as long that takes."""
    hit = mean_ttft([each for each in rows if is_held(each, knee)], -1)
    recompute = mean_ttft(rows, 0)
    ratio = recompute / hit if hit and recompute else None
    return {"hit_seconds": hit, "recompute_seconds": recompute, "ratio": ratio}


def miss_cost(
    rows: Sequence[Mapping[str, Any]],
    knee: Knee,
    bare: Sequence[Mapping[str, Any]],
    bare_knee: Knee,
) -> float | None:
    """How many times as long a document takes that no cache holds, with a pool as without (`bare`).

    Beyond both knees, where the pool also evicts; where no step lies there, in the first round.
    """
    lost, bare_lost = (
        {each["documents"] for each in some if not is_held(each, knee_of)}
        for some, knee_of in ((rows, knee), (bare, bare_knee))
    )
    both, number = lost & bare_lost, -1
    if not both:
        both, number = (
            {each["documents"] for each in rows} & {each["documents"] for each in bare},
            0,
        )
    seconds = [
        mean_ttft([each for each in some if each["documents"] in both], number)
        for some in (rows, bare)
    ]
    return seconds[0] / seconds[1] if seconds[0] and seconds[1] else None


def causes(variant: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Why the knee may lie elsewhere than planned, as far as the measurement shows it."""
    found = []
    rounds = [measured for each in rows for measured in each["rounds"]]
    errors = sum(each["errors"] for each in rounds)
    if errors:
        found.append(f"{errors} requests failed, their documents may not be in the cache")
    if variant["pool"] and not any(each["pool"] for each in rounds if each["pool"] is not None):
        found.append("nothing came from the pool: see the instance's log, and verify.yml")
    if any(not _is_exact(each, variant["document_tokens"]) for each in rounds):
        found.append("the instance counted other requests than those of the evaluation")
    if any(each["start"] == "reset" and _found(each["rounds"][0]) for each in rows):
        found.append(
            "the first round found tokens in a cache that had just been emptied: documents begin alike"
        )
    planned, capacity = variant["segment_bytes"], variant["capacity_bytes"]
    if capacity and planned and abs(capacity / planned - 1) > CAPACITY_TOLERANCE:
        found.append(
            f"the pool has {capacity:,} bytes, and the instance's segments are {planned:,}: other instances lend to it"
        )
    if any(each["start"] != "reset" for each in rows):
        found.append("the caches were not emptied before each step")
    if variant["concurrency"] > 1:
        found.append(
            f"{variant['concurrency']} requests at a time: they take blocks from one another"
        )
    if variant["by_tokens"] is not None and variant["by_tokens"] != variant["by_ttft"]:
        found.append(
            f"TTFT and token counters disagree (tokens: {knee_text(variant['by_tokens'])}): TTFT is noisy"
        )
    return found or [
        "none that the measurement shows: compare the blocks and the watermark that the plan took"
    ]


def _found(measured: Mapping[str, Any]) -> bool:
    share = reused_share(measured)
    return share is not None and share > FIRST_ROUND_SHARE


def _is_exact(measured: Mapping[str, Any], document_tokens: int) -> bool:
    """Whether the counters moved by the requests that were sent, and by no others."""
    if measured["prompt"] is None or measured["errors"]:
        return True
    return bool(measured["prompt"] == measured["requests"] * document_tokens)
