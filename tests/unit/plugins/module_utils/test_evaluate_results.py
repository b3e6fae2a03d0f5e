# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import csv
import io
import json
import statistics

import pytest
from ansible_collections.kvcache.ascend.plugins.module_utils import evaluate_results
from evaluations import METRICS, one_round, step
from hypothesis import given
from hypothesis import strategies as st

VARIANT = {"key": "k", "name": "pool, large"}


@given(st.lists(st.floats(0, 1e6), min_size=1), st.floats(0, 100))
def test_a_percentile_lies_among_the_values(values: list[float], percent: float) -> None:
    found = evaluate_results.percentile(values, percent)
    assert min(values) <= found * (1 + 1e-12) and found <= max(values) * (1 + 1e-12)


@given(st.lists(st.floats(0, 1e6), min_size=2))
def test_percentiles_are_those_of_the_standard_library(values: list[float]) -> None:
    cuts = statistics.quantiles(values, n=100, method="inclusive")
    found = evaluate_results.statistics_of(values)
    assert found["p50"] == pytest.approx(cuts[49])
    assert found["p90"] == pytest.approx(cuts[89])
    assert found["p99"] == pytest.approx(cuts[98])
    assert found["mean"] == pytest.approx(statistics.mean(values))


def test_tokens_are_told_by_their_source() -> None:
    record = json.loads(step(VARIANT, 4, "pool"))
    first, last = evaluate_results.row(record, METRICS)["rounds"]
    assert (first["computed"], first["local"], first["pool"]) == (4124, 0, 0)
    assert (last["computed"], last["local"], last["pool"]) == (28, 0, 4096)
    assert last["mean"] == pytest.approx(0.1)


def test_failed_requests_are_counted() -> None:
    rounds = [one_round(4, 1.0, errors=["Service Unavailable"]), one_round(4, 0.1, "local")]
    row = evaluate_results.row(json.loads(step(VARIANT, 4, "", rounds=rounds)), METRICS)
    assert (row["rounds"][0]["errors"], row["rounds"][0]["error"]) == (1, "Service Unavailable")


def test_a_release_that_counts_nothing_of_the_pool_tells_nothing() -> None:
    metrics = {"prompt_tokens": METRICS["prompt_tokens"]}
    last = evaluate_results.row(json.loads(step(VARIANT, 4, "pool")), metrics)["rounds"][1]
    assert (last["computed"], last["local"], last["pool"]) == (None, None, None)


def test_what_the_instance_and_the_master_tell_is_read() -> None:
    record = json.loads(step(VARIANT, 4, "pool", capacity=1 << 26))
    assert evaluate_results.cache_tokens(record) == 56 * 128
    assert evaluate_results.pool_capacity(record) == 1 << 26
    assert evaluate_results.document_tokens(record, METRICS) == 1031
    assert evaluate_results.pool_capacity({**record, "master": []}) is None
    assert evaluate_results.cache_tokens({**record, "config": []}) is None


def test_the_table_has_a_row_for_each_variant_and_number() -> None:
    rows = [
        evaluate_results.row(json.loads(step(VARIANT, number, "local")), METRICS)
        for number in (4, 8)
    ]
    first, second = csv.DictReader(io.StringIO(evaluate_results.to_csv(rows)))
    assert (first["variant"], first["documents"]) == ("pool, large", "4")
    assert float(second["round1_ttft_p99_seconds"]) == 1.0
    assert float(second["round2_ttft_mean_seconds"]) == 0.1
    assert (second["round2_tokens_local"], second["round2_errors"]) == ("8192", "0")
