# SPDX-License-Identifier: Apache-2.0
"""From lines of results to verdict and report; also for the measurement that ships with the collection."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from ansible_collections.kvcache.ascend.plugins.filter import evaluate as filters
from ansible_collections.kvcache.ascend.plugins.module_utils import (
    evaluate_answer,
    evaluate_input,
    evaluate_plot,
    evaluate_report,
    evaluate_verdict,
    kv_answer,
)
from ansible_collections.kvcache.ascend.plugins.module_utils.kv_knee import Knee
from evaluations import METRICS, one_round, step
from test_evaluate_input import asked

DOCUMENTS = [4, 8, 12, 16]
# 4096 bytes for a token: 4 layers, 4 heads of 64, bfloat16.
MODEL = {
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "hidden_size": 256,
    "torch_dtype": "bfloat16",
}
VARIANTS = [
    {"name": "large"},
    {"name": "small", "instance": {"segment_size": "16MiB"}},
    {"name": "none", "instance": {"pool": False}},
]
PLAN = evaluate_input.make(asked(documents=DOCUMENTS, variants=VARIANTS), "")
KNOWN = {
    "metrics": METRICS,
    "keyed_by_rank": True,
    "model_config": MODEL,
    "options": {},
    "watermark": 0.9,
    "eviction_ratio": 0.05,
    "document_tokens": 1031,
    "output_tokens": 2,
    "concurrency": 1,
    "kv_cache_tokens": 0,
    "environment": {"vLLM": "0.32.0 <&>"},
    "reference": None,
}


def lines(held: dict[str, dict[int, str]], **changes: Any) -> str:
    """Results in which each variant finds the given steps, in which cache."""
    capacity = {"large": 64 << 20, "small": 16 << 20, "none": 0}
    return "\n".join(
        step(each, number, held[each["name"]].get(number, ""), capacity[each["name"]], **changes)
        for each in PLAN["variants"]
        for number in DOCUMENTS
    )


THREE_REGIMES = {
    "large": {4: "local", 8: "pool", 12: "pool"},
    "small": {4: "local"},
    "none": {4: "local"},
}


def test_the_three_regimes_are_as_planned() -> None:
    large, small, none = evaluate_answer.make(PLAN, lines(THREE_REGIMES), KNOWN)
    assert [each["predicted"] for each in (large, small, none)] == [14, 6, 6]
    assert [each["knee"] for each in (large, small, none)] == [Knee(12, 16), Knee(4, 8), Knee(4, 8)]
    assert all(each["agrees"] for each in (large, small, none))
    assert large["ratio"] == pytest.approx(10)
    assert (large["miss_cost"], none["miss_cost"]) == (pytest.approx(1), None)


def test_a_knee_elsewhere_is_told_with_what_the_measurement_shows() -> None:
    held = {**THREE_REGIMES, "large": {4: "local"}}
    large = evaluate_answer.make(PLAN, lines(held, start="2 passes discarded"), KNOWN)[0]
    assert large["agrees"] is False
    assert large["causes"] == [
        "nothing came from the pool: see the instance's log, and verify.yml",
        "the caches were not emptied before each step",
    ]
    assert "NOT as planned (after 14 documents)" in evaluate_answer.verdict(large)


def test_a_pool_of_another_size_is_planned_with_and_told() -> None:
    results = lines({**THREE_REGIMES, "large": {}}).replace(str(64 << 20), str(640 << 20))
    large = evaluate_answer.make(PLAN, results, KNOWN)[0]
    assert large["predicted"] == 144
    assert any("671,088,640 bytes" in cause for cause in large["causes"])


def test_other_requests_failures_and_documents_that_begin_alike_are_told() -> None:
    broken = [one_round(4, 1.0, "local"), one_round(5, 1.0, errors=["x"]), one_round(5, 1.0)]
    causes = evaluate_answer.make(
        PLAN,
        lines({"large": {}, "small": {}, "none": {}}, rounds=broken),
        {**KNOWN, "concurrency": 2},
    )[0]["causes"]
    assert {cause.split(":")[0].split(",")[0] for cause in causes} >= {
        "4 requests failed",
        "the instance counted other requests than those of the evaluation",
        "the first round found tokens in a cache that had just been emptied",
        "2 requests at a time",
    }


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"model_config": {}}, "config.json could not be read"),
        ({"model_config": {"num_hidden_layers": 1}}, "num_key_value_heads is missing"),
    ],
)
def test_without_a_plan_it_is_said_why(changes: dict[str, Any], why: str) -> None:
    large = evaluate_answer.make(PLAN, lines(THREE_REGIMES), {**KNOWN, **changes})[0]
    assert large["agrees"] is None
    assert why in evaluate_answer.verdict(large)


def test_the_text_is_a_table_and_a_verdict_for_each_variant() -> None:
    text = filters.answer(PLAN, lines(THREE_REGIMES), KNOWN)["text"].splitlines()
    assert text[1].split() == ["documents", "4", "8", "12", "16"]
    assert text[2].split() == ["large", "0.1000", "0.1000", "0.1000", "1.0000"]
    assert text[5] == (
        "large: knee between 12 and 16, as planned (after 14 documents); a hit takes 100 ms, computing 1.00 s "
        "(10.0 times as long); a miss takes 1.00 times as long as it does without a pool"
    )


class Page(HTMLParser):
    """All texts of a page, and the addresses that it would load."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.loads: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.loads += [f"{tag} {name}" for name, _value in attrs if name in ("src", "href")]
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


REFERENCE = yaml.safe_load(
    (Path(__file__).parents[4] / "roles/plan/files/reference.yml").read_text(encoding="utf-8")
)["reference"]


def test_the_page_is_whole_and_loads_nothing() -> None:
    page = Page()
    page.feed(filters.answer(PLAN, lines(THREE_REGIMES), {**KNOWN, "reference": REFERENCE})["html"])
    assert page.open == [] and page.loads == []
    assert "0.32.0 <&>" in page.texts
    assert "12,288" in page.texts  # tokens of 12 documents that came from the pool
    assert "reference: HBM 20 GB" in page.texts


def test_the_plot_marks_each_planned_knee() -> None:
    found = evaluate_answer.make(PLAN, lines(THREE_REGIMES), KNOWN)
    svg = ElementTree.fromstring(evaluate_plot.draw(evaluate_report._lines(found, None)))
    names = {"svg": "http://www.w3.org/2000/svg"}
    assert len(svg.findall("svg:polyline", names)) == 3
    marks = [each.text for each in svg.findall("svg:line/svg:title", names)]
    assert marks == [
        f"{name}: knee planned after {n}" for name, n in (("large", 14), ("small", 6), ("none", 6))
    ]


def test_a_planned_knee_far_beyond_leaves_the_lines_their_room() -> None:
    near = evaluate_plot.Line("near", [(4, 1.0), (16, 2.0)], planned=20)
    far = evaluate_plot.Line("far", [(4, 1.0), (16, 2.0)], planned=400)
    drawn = evaluate_plot.draw([near, far])
    assert "near: knee planned after 20" in drawn and "far: knee planned" not in drawn
    assert "far (planned knee: 400)" in drawn
    names = {"svg": "http://www.w3.org/2000/svg"}
    circles = ElementTree.fromstring(drawn).findall("svg:circle", names)
    assert max(float(each.get("cx", 0)) for each in circles) > evaluate_plot.WIDTH / 2


@pytest.mark.parametrize(
    ("last", "knee"),
    [
        # A hit in the pool that takes more than twice as long as one in HBM.
        ([0.03, 0.07, 0.04, 0.9], Knee(12, 16)),
        ([0.03, 0.03, 0.04, 0.05], Knee(16, None)),
        # A model so small that a hit in the pool takes half as long as computing.
        ([0.23, 0.4, 0.5, 0.8], Knee(12, 16)),
        ([0.9, 1.1, 1.0, 0.8], Knee(None, 4)),
        ([0.05, 0.9, 1.1, 1.0], Knee(4, 8)),
    ],
)
def test_the_jump_is_from_a_hit_to_a_recompute(last: list[float], knee: Knee) -> None:
    rows = [
        {"documents": number, "rounds": [{"mean": 1.0}, {"mean": seconds}]}
        for number, seconds in zip(DOCUMENTS, last)
    ]
    assert evaluate_verdict.knee_by_ttft(rows) == knee


@pytest.mark.parametrize("row", REFERENCE["variants"], ids=lambda row: str(row["name"]))
def test_the_measurement_that_ships_is_as_planned(row: dict[str, Any]) -> None:
    """Only its means are known: what is judged is the TTFT."""
    rows = [
        {"documents": number, "rounds": [{"mean": 3.2}, {"mean": seconds}]}
        for number, seconds in zip(REFERENCE["documents"], row["ttft_seconds"])
    ]
    planned = planned_knee(row)
    knee = evaluate_verdict.knee_by_ttft(rows)
    assert evaluate_verdict.within_a_step(knee, planned, REFERENCE["documents"])
    assert not evaluate_verdict.within_a_step(knee, planned + 31, REFERENCE["documents"])


def planned_knee(row: dict[str, Any]) -> int:
    plan = kv_answer.plan(
        REFERENCE["model_config"],
        kv_cache_tokens=row["kv_cache_tokens"],
        segment_size=row["segment_size"],
    )
    return int(plan["knee_documents"])


@pytest.mark.parametrize(
    ("knee", "predicted", "within"),
    [
        (Knee(8, 12), 4, True),
        (Knee(8, 12), 15, True),
        (Knee(8, 12), 3, False),
        (Knee(8, 12), 16, False),
        (Knee(None, 4), 7, True),
        (Knee(None, 4), 8, False),
        (Knee(16, None), 12, True),
        (Knee(16, None), 11, False),
        (Knee(12, 16), 19, True),
        (Knee(12, 16), 20, False),
    ],
)
def test_one_step_beside_the_jump_still_agrees(knee: Knee, predicted: int, within: bool) -> None:
    assert evaluate_verdict.within_a_step(knee, predicted, DOCUMENTS) is within


@pytest.mark.parametrize(("span", "step"), [(1, 0.2), (0.07, 0.02), (110, 20), (3.7, 1)])
def test_ticks_are_round(span: float, step: float) -> None:
    assert evaluate_plot.step_of(span) == pytest.approx(step)
