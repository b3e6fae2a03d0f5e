# Copyright The kvcache.ascend authors
# SPDX-License-Identifier: Apache-2.0
"""Find the knee in a measurement: the step at which the TTFT of the second round jumps."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import Sequence

# A hit and a recompute lie apart by more than this; noise between two hits does not.
JUMP_FACTOR = 2.0


@dataclass(frozen=True)
class Knee:
    """The numbers of documents beside the jump; None where the measurement does not reach it."""

    last_held: int | None
    first_lost: int | None

    def agrees_with(self, predicted: int) -> bool:
        """Whether a plan's number of documents lies in the step of the jump."""
        return (self.last_held is None or self.last_held <= predicted) and (
            self.first_lost is None or predicted < self.first_lost
        )


def find(
    documents: Sequence[int],
    ttft_seconds: Sequence[float],
    recompute_seconds: float | None = None,
) -> Knee:
    """The first jump above the median of what came before it.

    With the TTFT of a recompute (first round), a measurement that begins beyond its knee is seen too.
    """
    if len(documents) != len(ttft_seconds) or not documents:
        raise ValueError("each number of documents needs one TTFT, and there is at least one")
    if recompute_seconds is not None and ttft_seconds[0] * JUMP_FACTOR > recompute_seconds:
        return Knee(None, documents[0])
    for index in range(1, len(documents)):
        if ttft_seconds[index] > JUMP_FACTOR * statistics.median(ttft_seconds[:index]):
            return Knee(documents[index - 1], documents[index])
    return Knee(documents[-1], None)
