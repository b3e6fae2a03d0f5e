# SPDX-License-Identifier: Apache-2.0
"""The samples of npu-smi, hccn_tool and version files, each with its right answer.

The texts have the shape of recorded outputs; readings, ids, serials and addresses are made up.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).parent / "samples" / "npu"
# Where an answer says what its text does not: what the text says, and why the two differ.
NOT_IN_THE_TEXT: dict[str, dict[str, Any]] = {
    # Excerpts of bigger hosts, cut between two cards and closed properly: nothing shows it.
    "12-910C-A3-25.2.0-process-on-chip1": {"complete": True},
    "31-910B2C-25.0.rc1.2-vf-two-procs": {"complete": True},
    # The answer holds a remark to the reader there.
    "41-310P3-duo-24.1.rc3-half-row": {
        "truncated_row": "| 1       1                     | 0000:76:00.0    | 0            "
        "1391 / 43693"
    },
    # The figures were replaced in the text and in the answer by different ones.
    "86-hccn-optical": {"vcc_mv": 3262.9, "tx_power_mw": [3.9642, 1.8469, 1.414, 1.5312]},
}


class Sample(NamedTuple):
    name: str
    command: str
    text: str
    answer: dict[str, Any]


def _load(path: Path) -> Sample:
    answer = json.loads(path.read_text(encoding="utf-8"))
    answer.pop("file")
    command = answer.pop("command")
    text = path.with_suffix(".txt").read_bytes().decode("utf-8", errors="replace")
    return Sample(path.stem, command, text, {**answer, **NOT_IN_THE_TEXT.get(path.stem, {})})


SAMPLES = [_load(path) for path in sorted(FOLDER.glob("*.json"))]
TABLES = [
    sample for sample in SAMPLES if sample.command == "npu-smi info" and "layout" in sample.answer
]
MAPPINGS = [sample for sample in SAMPLES if sample.command == "npu-smi info -m"]


def by_name(start: str) -> Sample:
    """The one sample whose name starts so."""
    (found,) = [sample for sample in SAMPLES if sample.name.startswith(start)]
    return found
