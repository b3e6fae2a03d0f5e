# SPDX-License-Identifier: Apache-2.0
"""The plan against the measurement that ships with the collection, and against its own rules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.kvcache.ascend.plugins.module_utils import (
    kv_answer,
    kv_knee,
    kv_plan,
    sizes,
)
from hypothesis import given
from hypothesis import strategies as st

ROOT = Path(__file__).parents[4]
REFERENCE = yaml.safe_load((ROOT / "roles/plan/files/reference.yml").read_text())["reference"]
VARIANTS = {variant["name"]: variant for variant in REFERENCE["variants"]}
SEVEN_B = REFERENCE["model_config"]


def reference_plan(variant: dict[str, Any], **more: Any) -> dict[str, Any]:
    options = {
        key: REFERENCE[key]
        for key in ("document_tokens", "output_tokens", "block_size", "watermark")
    }
    return kv_answer.plan(
        SEVEN_B,
        kv_cache_tokens=variant["kv_cache_tokens"],
        segment_size=variant["segment_size"],
        **options,
        **more,
    )


@pytest.mark.parametrize(
    ("name", "knee", "held_and_lost"),
    [
        ("HBM 20 GB", 36, (30, 40)),
        ("HBM 40 GB", 73, (70, 80)),
        ("HBM 20 GB + Mooncake 20 GB", 36, (30, 40)),
        ("HBM 20 GB + Mooncake 40 GB", 67, (60, 70)),
        ("HBM 20 GB + Mooncake 60 GB", 101, (100, 110)),
    ],
)
def test_the_plan_predicts_the_knees_that_were_measured(
    name: str, knee: int, held_and_lost: tuple[int, int]
) -> None:
    variant = VARIANTS[name]
    measured = kv_knee.find(REFERENCE["documents"], variant["ttft_seconds"])
    planned = reference_plan(variant)["knee_documents"]
    assert (measured.last_held, measured.first_lost) == held_and_lost
    assert planned == knee
    assert measured.agrees_with(planned)


def test_the_sum_of_hbm_and_pool_would_not_have_predicted_them() -> None:
    wrong = []
    for variant in VARIANTS.values():
        answer = reference_plan(variant)
        measured = kv_knee.find(REFERENCE["documents"], variant["ttft_seconds"])
        if answer["pool"]["documents"]:
            wrong.append(
                measured.agrees_with(answer["hbm"]["documents"] + answer["pool"]["documents"])
            )
    assert wrong == [False, False, False]


def test_a_pool_that_gives_nothing_is_said_with_the_segment_that_would() -> None:
    answer = reference_plan(VARIANTS["HBM 20 GB + Mooncake 20 GB"])
    (warning,) = answer["findings"]
    assert warning["severity"] == "warning"
    assert "the pool holds 33 documents, no more than HBM with 36" in warning["observed"]
    assert "at least 22GiB" in warning["expected"]
    better = dict(VARIANTS["HBM 20 GB + Mooncake 20 GB"], segment_size="22GiB")
    assert reference_plan(better)["findings"] == []


def test_the_wanted_segment_is_the_least_whole_gib_that_holds_them() -> None:
    answer = reference_plan(VARIANTS["HBM 20 GB"], documents=90)
    wanted = answer["wanted_segment_bytes"]
    assert sizes.to_text(wanted) == "54 GiB"
    for size, holds in ((wanted, True), (wanted - kv_plan.GIB, False)):
        held = reference_plan(dict(VARIANTS["HBM 20 GB"], segment_size=str(size)))["pool"][
            "documents"
        ]
        assert (held >= 90) is holds
    assert any(
        "90 documents are wanted, and 36 are held" in found["observed"]
        for found in answer["findings"]
    )


def test_documents_that_hbm_holds_need_no_segment() -> None:
    answer = reference_plan(VARIANTS["HBM 20 GB"], documents=36)
    assert answer["wanted_segment_bytes"] == 0
    assert answer["findings"] == []


def test_a_document_that_does_not_fit_is_an_error() -> None:
    answer = kv_answer.plan(SEVEN_B, kv_cache_tokens=9000)
    (error,) = answer["findings"]
    assert error["severity"] == "error"
    assert (
        "a document of 10000 tokens does not fit into HBM, which holds 8960 tokens"
        in error["observed"]
    )


def test_memory_and_tokens_tell_the_same() -> None:
    tokens = kv_answer.capacity(SEVEN_B, kv_cache_tokens=369280)
    memory = kv_answer.capacity(SEVEN_B, kv_cache_memory="21175992320")
    device = kv_answer.capacity(
        SEVEN_B,
        device_memory="40GiB",
        gpu_memory_utilization=0.9,
        weights_memory="14GiB",
        other_memory="2GiB",
    )
    assert tokens == memory
    assert device.blocks == 20 * 1024**3 // (128 * 57344)


def test_every_rank_adds_a_segment() -> None:
    one = kv_answer.plan(SEVEN_B, kv_cache_tokens=369280, segment_size="20GiB")
    four = kv_answer.plan(
        SEVEN_B, kv_cache_tokens=369280, segment_size="5GiB", tensor_parallel_size=4
    )
    assert one["pool"] == four["pool"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "give one of kv_cache_tokens, kv_cache_memory, device_memory: none of them is given"),
        (
            {"kv_cache_tokens": 500, "kv_cache_memory": "1GiB"},
            "kv_cache_tokens and kv_cache_memory is given",
        ),
        ({"kv_cache_tokens": 5}, "kv_cache_tokens is 5: it is at least 128"),
        ({"kv_cache_tokens": 500, "block_size": 0}, "block_size is 0: it is at least 1"),
        ({"kv_cache_memory": "10 G"}, "kv_cache_memory: '10 G' is no size: write a number"),
        (
            {"kv_cache_memory": "1MiB"},
            "1 MiB for the KV cache of a rank holds no two blocks of 7 MiB",
        ),
        ({"device_memory": "10GiB", "weights_memory": "14GiB"}, "nothing is left for the KV cache"),
        (
            {"device_memory": "64GiB", "gpu_memory_utilization": 1.2},
            "gpu_memory_utilization is 1.2",
        ),
        ({"kv_cache_tokens": 369280, "watermark": 0}, "watermark is 0"),
        (
            {"kv_cache_tokens": 369280, "eviction_ratio": 2},
            "eviction_ratio is 2: it is from 0 to 1",
        ),
        (
            {"kv_cache_tokens": 369280, "document_tokens": 100},
            "document_tokens is 100, less than one block of 128",
        ),
        ({"kv_cache_tokens": 369280, "output_tokens": -1}, "output_tokens is -1: it is at least 0"),
    ],
)
def test_what_cannot_be_planned_is_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(kv_plan.PlanError) as raised:
        kv_answer.plan(SEVEN_B, **options)
    assert message in str(raised.value)


@given(
    tokens=st.integers(min_value=20000, max_value=10**7),
    segment=st.integers(min_value=0, max_value=2**42),
    prompt=st.integers(min_value=128, max_value=130000),
)
def test_more_memory_never_holds_less(tokens: int, segment: int, prompt: int) -> None:
    def knee(tokens: int, segment: int) -> int:
        answer = kv_answer.plan(
            SEVEN_B, kv_cache_tokens=tokens, segment_size=str(segment), document_tokens=prompt
        )
        return int(answer["knee_documents"])

    least = knee(tokens, segment)
    assert knee(tokens + 128, segment) >= least
    assert knee(tokens, segment + kv_plan.GIB) >= least


def test_the_text_shows_every_number_and_the_findings() -> None:
    text = kv_answer.render(reference_plan(VARIANTS["HBM 20 GB + Mooncake 20 GB"], documents=90))
    assert (
        "HBM holds         36 documents: 369,280 tokens in 2,885 blocks of 128, 19.7 GiB a rank"
        in text
    )
    assert "the pool holds    33 documents of 546 MiB in 20 GiB; 31 once it evicts" in text
    assert "for 90 documents  segment_size 54GiB for each rank" in text
    assert "warning: the pool holds 33 documents" in text
    assert max(len(line) for line in text.splitlines()) <= 100
