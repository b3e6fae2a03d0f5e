# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.kvcache.ascend.plugins.module_utils import evaluate_input
from evaluations import step

INSTANCES = [
    {"name": "a", "model": "/m", "segment_size": "64MiB", "options": {"dtype": "bfloat16"}},
    {"name": "b", "model": "/m", "port": 8001},
]


def asked(**changes: Any) -> dict[str, Any]:
    return {
        "host": "npu-1",
        "instances": INSTANCES,
        "instance": "",
        "variants": [],
        "documents": [4, 8],
        "document_tokens": 1031,
        "output_tokens": 2,
        "rounds": 2,
        "concurrency": 1,
        "warmups": 2,
        "start": "auto",
        "options": {},
        "release": "cpu 0.3.13",
        **changes,
    }


VARIANTS = [
    {"name": "none", "instance": {"pool": False}},
    {"name": "small", "instance": {"segment_size": "16MiB", "options": {"block-size": 64}}},
]


def test_what_is_right_has_no_problem() -> None:
    assert evaluate_input.problems(asked(variants=VARIANTS)) == []


def test_an_option_is_the_same_however_it_is_spelled() -> None:
    on = {"name": "on", "instance": {"options": {"enable-prefix-caching": True}}}
    found = evaluate_input.problems(
        asked(options={"--enable_prefix_caching": False}, variants=[on])
    )
    assert found == []


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"rounds": 1}, "evaluate_rounds is 1. Fix: give a whole number of at least 2."),
        ({"document_tokens": "many"}, "evaluate_document_tokens is 'many'"),
        ({"documents": []}, "evaluate_documents is []. Fix: give a list of growing numbers"),
        ({"documents": "10,20"}, "evaluate_documents is '10,20'"),
        ({"documents": [10, 10]}, "does not grow"),
        ({"documents": [10, "x"]}, "holds what is no number"),
        ({"start": "cold"}, "evaluate_start is 'cold'. Fix: give one of auto, reset, warmup."),
        (
            {"instances": "a"},
            "vllm_instances is 'a', expected a list of instances. Fix: correct it.",
        ),
        (
            {"instances": [*INSTANCES, {"name": "c", "model": "/m", "port": "x"}]},
            "vllm_instances[2] (c): port is 'x'",
        ),
        (
            {"options": {"enable-prefix-caching": False}},
            "instance a: enable-prefix-caching is False: prefix caching is off",
        ),
        (
            {
                "variants": [
                    {"name": "x", "instance": {"options": {"no-enable-prefix-caching": "true"}}}
                ]
            },
            "x: no-enable-prefix-caching is 'true': prefix caching is off",
        ),
        (
            {"options": {"--no-enable-prefix-caching": True}},
            "instance a: no-enable-prefix-caching is True: prefix caching is off",
        ),
        ({"instances": []}, "npu-1 has no instance. Fix: describe one in vllm_instances."),
        ({"instance": "c"}, "evaluate_instance is 'c', and npu-1 has a, b. Fix: name one"),
        ({"variants": {}}, "evaluate_variants is no list"),
        ({"variants": [{}]}, "evaluate_variants[0] has no name"),
        ({"variants": [{"name": "x", "segment_size": 1}]}, "unknown key segment_size"),
        ({"variants": [{"name": "x", "instance": []}, {"name": "x"}]}, "two variants are named x"),
        (
            {"variants": [{"name": "x", "instance": {"port": 1, "model": "/n", "pool": False}}]},
            "evaluate_variants[0] (x): port, model: a variant can't change that. Fix: remove it.",
        ),
    ],
)
def test_each_bad_input_is_told_once(changes: dict[str, Any], told: str) -> None:
    found = evaluate_input.problems(asked(**changes))
    assert len([text for text in found if told in text]) == 1, found
    assert all("Fix: " in text for text in found)


def test_an_instance_as_it_is_is_not_changed() -> None:
    plan = evaluate_input.make(asked(), "")
    assert [each["name"] for each in plan["variants"]] == ["as it is"]
    assert plan["variants"][0]["instances"] == INSTANCES
    assert plan["starts_left"] == 0


def test_a_variant_changes_only_what_it_names() -> None:
    first, second = evaluate_input.make(asked(variants=VARIANTS), "")["variants"]
    assert (first["pool"], second["pool"]) == (False, True)
    assert second["instance"]["options"] == {"dtype": "bfloat16", "block-size": 64}
    assert second["instance"]["env"] == {"VLLM_SERVER_DEV_MODE": "1"}
    assert second["instances"] == [second["instance"], INSTANCES[1]]
    assert evaluate_input.segment_bytes(first, "4GiB") == 0
    assert evaluate_input.segment_bytes(second, "4GiB") == 16 << 20


def test_an_interrupted_run_goes_on_where_it_stopped() -> None:
    plan = evaluate_input.make(asked(variants=VARIANTS), "")
    assert (plan["steps"], plan["steps_left"], plan["requests_left"]) == (4, 4, 48)
    results = step(plan["variants"][0], 4, "local") + '\n{"key": "half a li'
    again = evaluate_input.make(asked(variants=VARIANTS), results)
    assert [each["left"] for each in again["variants"]] == [[8], [4, 8]]
    assert again["starts_left"] == 2


@pytest.mark.parametrize(
    "changes", [{"document_tokens": 2000}, {"release": "other"}, {"options": {"dtype": "float16"}}]
)
def test_results_of_something_else_do_not_count(changes: dict[str, Any]) -> None:
    results = step(evaluate_input.make(asked(), "")["variants"][0], 4, "local")
    assert evaluate_input.make(asked(), results)["steps_left"] == 1
    assert evaluate_input.make(asked(**changes), results)["steps_left"] == 2


def test_more_documents_keep_what_was_measured() -> None:
    results = step(evaluate_input.make(asked(), "")["variants"][0], 4, "local")
    plan = evaluate_input.make(asked(documents=[4, 6, 8]), results)
    assert plan["variants"][0]["left"] == [6, 8]


@pytest.mark.parametrize(
    ("changes", "passes"),
    [({"start": "warmup"}, 4), ({"start": "auto"}, 4), ({"start": "reset"}, 2)],
)
def test_passes_that_are_discarded_count_as_requests(changes: dict[str, Any], passes: int) -> None:
    assert evaluate_input.make(asked(**changes), "")["requests_left"] == 12 * passes


def test_the_time_is_estimated() -> None:
    plan = evaluate_input.make(asked(variants=VARIANTS), "")
    told = evaluate_input.estimate(plan, 150.0)
    assert told["hours"] == 2.0
    assert told["text"] == (
        "4 of 4 steps left: 48 requests of at most 150.0 s, 2 h 0 min in all, and 3 restarts of the instance"
    )


@pytest.mark.parametrize(
    ("seconds", "text"), [(20, "20 s"), (100, "2 min"), (3600, "1 h 0 min"), (5400, "1 h 30 min")]
)
def test_durations_are_written_as_people_say_them(seconds: float, text: str) -> None:
    assert evaluate_input.duration(seconds) == text


@pytest.mark.parametrize(
    ("probe", "told"),
    [
        ({"document_tokens": 1200}, "a document has 1200 tokens, and 1031 were asked for"),
        ({"request_seconds": 1000.0}, "more than the 4 hours of evaluate_max_hours"),
    ],
)
def test_a_measurement_that_means_nothing_is_refused(probe: dict[str, Any], told: str) -> None:
    good = {"document_tokens": 1033, "request_seconds": 1.0}
    plan = evaluate_input.make(asked(), "")
    assert evaluate_input.probe_problems(plan, good, 1031, 4) == []
    assert told in evaluate_input.probe_problems(plan, {**good, **probe}, 1031, 4)[0]
