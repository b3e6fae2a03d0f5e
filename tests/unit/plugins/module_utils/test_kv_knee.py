# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from ansible_collections.kvcache.ascend.plugins.module_utils.kv_knee import Knee, find


def test_the_jump_is_found_between_its_neighbours() -> None:
    assert find([10, 20, 30], [0.4, 0.5, 3.0]) == Knee(20, 30)


def test_noise_between_hits_is_no_jump() -> None:
    assert find([10, 20, 30, 40], [0.25, 0.42, 0.28, 0.47]) == Knee(40, None)


def test_a_measurement_that_begins_beyond_its_knee_is_seen_from_the_recompute() -> None:
    assert find([50, 60], [2.9, 3.0]) == Knee(60, None)
    assert find([50, 60], [2.9, 3.0], recompute_seconds=3.1) == Knee(None, 50)


@pytest.mark.parametrize(
    ("knee", "predicted", "agrees"),
    [
        (Knee(30, 40), 30, True),
        (Knee(30, 40), 39, True),
        (Knee(30, 40), 40, False),
        (Knee(30, 40), 29, False),
        (Knee(None, 10), 9, True),
        (Knee(100, None), 400, True),
        (Knee(100, None), 99, False),
    ],
)
def test_a_prediction_agrees_when_it_lies_in_the_step(
    knee: Knee, predicted: int, agrees: bool
) -> None:
    assert knee.agrees_with(predicted) is agrees


@pytest.mark.parametrize(("documents", "ttft"), [([], []), ([1, 2], [0.1])])
def test_a_measurement_with_holes_is_refused(documents: list[int], ttft: list[float]) -> None:
    with pytest.raises(ValueError, match="each number of documents needs one TTFT"):
        find(documents, ttft)
