# SPDX-License-Identifier: Apache-2.0
"""Whatever happens to the output of npu-smi on its way: nothing is raised, nothing is invented.

NPU_FUZZ_EXAMPLES sets the number of cases of each property (see tests/tools/npu_fuzz).
"""

from __future__ import annotations

import json
import os
import random
import re
from typing import Any

import pytest
from ansible_collections.kvcache.ascend.plugins.module_utils import npu_smi
from ansible_collections.kvcache.ascend.tests.unit.npu_samples import (
    MAPPINGS,
    SAMPLES,
    TABLES,
    Sample,
    by_name,
)
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

SETTINGS = settings(
    max_examples=int(os.environ.get("NPU_FUZZ_EXAMPLES", "200")),
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
COMMANDS = sorted({sample.command for sample in SAMPLES})
# Not hypothesis' own generator of edits: a seed is cheap, and shrinks to the sample itself.
SEEDS = st.integers(min_value=0, max_value=2**32)
BLANKS = [" ", "  ", "   ", "\t", " \t ", "      ", "\u00a0", " " * 40]
COLOURS = ["\x1b[0m", "\x1b[1;31m", "\x1b[K", "\x1b[32m", "\x1b]0;title\x07"]
NOISE = [
    "[root@host ~]# npu-smi info",
    "LANG=zh_CN.UTF-8 \u6b22\u8fce\u4f7f\u7528",
    "DrvMngGetConsoleLogLevel failed. (g_conLogLevel=3)",
    "",
    "(base) user@host:/tmp$",
    "\u8b66\u544a: \u78c1\u76d8\u7a7a\u95f4\u4e0d\u8db3",
]
CHIP_KEYS = set(by_name("44").answer["chips"][0])


def _keep(text: str, _dice: random.Random) -> str:
    return text


def _cut(text: str, dice: random.Random) -> str:
    start, end = sorted(dice.choices(range(len(text) + 1), k=2))
    return text[start:end] if dice.random() < 0.5 else text[:end]


def _shuffle(text: str, dice: random.Random) -> str:
    lines = text.split("\n")
    dice.shuffle(lines)
    return "\n".join(lines)


def _repeat_and_drop_lines(text: str, dice: random.Random) -> str:
    return "\n".join(
        line for line in text.split("\n") for _copy in range(dice.choice([0, 1, 1, 1, 1, 2]))
    )


def _delete_characters(text: str, dice: random.Random) -> str:
    share = dice.choice([0.001, 0.01, 0.1, 0.5])
    return "".join(char for char in text if dice.random() > share)


def _garble(text: str, dice: random.Random) -> str:
    share = dice.choice([0.001, 0.01, 0.1, 0.5])
    alphabet = (
        "|+-=:/()[]{}.,#%0123456789NAnpuChip \t\r\n\x00\x1b\u0663\u00b2\ud800\U0001f600\u2028\x85"
    )
    return "".join(dice.choice(alphabet) if dice.random() < share else char for char in text)


def _long_numbers(text: str, dice: random.Random) -> str:
    # int() refuses 4300 digits and more. One number only, or repeated damage fills the memory.
    numbers = list(re.finditer(r"[0-9]+", text))
    if not numbers:
        return text
    chosen = dice.choice(numbers)
    return text[: chosen.end()] + "7" * 5000 + text[chosen.end() :]


def _another(text: str, dice: random.Random) -> str:
    return text + dice.choice(SAMPLES).text


DAMAGES = [
    _keep,
    _cut,
    _shuffle,
    _repeat_and_drop_lines,
    _delete_characters,
    _garble,
    _long_numbers,
    _another,
]


def _damage(text: str, dice: random.Random) -> str:
    for damage in dice.choices(DAMAGES, k=dice.randint(1, 3)):
        text = damage(text, dice)
    return text


def _check_shape(result: dict[str, Any]) -> None:
    json.dumps(result)
    chips = result.get("chips", [])
    if "layout" not in result:
        return
    keys = [(chip["npu_id"], chip["chip_id"]) for chip in chips]
    assert len(keys) == len(set(keys))
    for chip in chips:
        assert set(chip) - {"unparsed"} == CHIP_KEYS
        assert isinstance(chip["npu_id"], int)
    for process in result["processes"]:
        assert isinstance(process["pid"], int)
        assert isinstance(process["npu_id"], int)
    if result.get("unparsed") or not chips:
        assert result["complete"] is False


@SETTINGS
@given(st.sampled_from(SAMPLES), st.sampled_from(COMMANDS), st.booleans(), SEEDS)
def test_damaged_output_never_raises(sample: Sample, command: str, own: bool, seed: int) -> None:
    text = _damage(sample.text, random.Random(seed))
    _check_shape(npu_smi.parse(sample.command if own else command, text))


@SETTINGS
@given(st.sampled_from(COMMANDS), st.text())
@example("npu-smi info", "")
@example("npu-smi info -m", "NPU")
def test_any_text_never_raises(command: str, text: str) -> None:
    _check_shape(npu_smi.parse(command, text))


@SETTINGS
@given(st.text(), st.text())
@example("npu-smi info -t", "")
@example("npu-smi", "x")
def test_any_command_never_raises(command: str, text: str) -> None:
    json.dumps(npu_smi.parse(command, text))


def _respace_row(line: str, dice: random.Random) -> str:
    if not line.lstrip().startswith("|"):
        return line
    spaced = re.sub(r"[ \t]+", lambda _m: dice.choice(BLANKS), line.strip())
    return re.sub(r"\|", lambda _m: "|" + dice.choice(["", *BLANKS]), spaced)


def _respace(sample: Sample, dice: random.Random) -> str:
    """Other blanks where blanks only separate; in `key : value`, those around key and value."""
    lines = sample.text.split("\n")
    if sample in TABLES:
        lines = [_respace_row(line, dice) for line in lines]
    elif sample in MAPPINGS:
        lines = [re.sub(r"[ \t]+", lambda _m: dice.choice(BLANKS), line) for line in lines]
    elif "version" not in sample.command and "info" in sample.command:
        lines = [
            re.sub(
                r"\s*:\s*", lambda _m: f"{dice.choice(BLANKS)}:{dice.choice(BLANKS)}", line, count=1
            )
            for line in lines
        ]
    return "\n".join(lines)


def _widen_borders(text: str, dice: random.Random) -> str:
    if dice.random() < 0.2:
        return "\n".join(line for line in text.split("\n") if not line.lstrip().startswith("+"))
    return re.sub(r"(?<=\+)[-=]+", lambda m: m.group()[:1] * dice.randint(1, 130), text)


def _colour(text: str, dice: random.Random) -> str:
    return "".join(char + (dice.choice(COLOURS) if dice.random() < 0.02 else "") for char in text)


def _frame(sample: Sample, text: str, dice: random.Random) -> str:
    """Indents, adds blanks at the ends of lines, CRLF, and, around a table, other lines."""
    lines = text.split("\n")
    if sample in TABLES:
        lines = dice.choices(NOISE, k=2) + lines + dice.choices(NOISE, k=2)
    indent = dice.choice(["", "    ", "\t"])
    tail = dice.choice(["", "  ", "\t"])
    end = dice.choice(["\n", "\r\n", "\r"])
    return end.join(f"{indent}{line}{tail}" for line in lines)


def _without_raw(result: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in result.items() if key != "truncated_row"}


@SETTINGS
@given(st.sampled_from(SAMPLES), SEEDS)
def test_looks_do_not_change_the_answer(sample: Sample, seed: int) -> None:
    dice = random.Random(seed)
    text = _frame(sample, _widen_borders(_respace(sample, dice), dice), dice)
    result = npu_smi.parse(sample.command, _colour(text, dice))
    assert _without_raw(result) == _without_raw(sample.answer)


@SETTINGS
@given(st.sampled_from(TABLES), SEEDS)
def test_a_cut_never_invents_a_chip_or_a_process(sample: Sample, seed: int) -> None:
    end = random.Random(seed).randint(0, len(sample.text))
    result = npu_smi.parse(sample.command, sample.text[:end])
    for name in ("chips", "processes"):
        found = result[name]
        whole = sample.answer[name]
        # The last figure may have lost its end: the rows before are exact.
        assert found[:-1] == whole[: max(0, len(found) - 1)]
        assert [each["npu_id"] for each in found] == [
            each["npu_id"] for each in whole[: len(found)]
        ]


@SETTINGS
@given(st.sampled_from([by_name(start) for start in ("09", "29", "32", "44")]), SEEDS)
def test_a_cut_table_is_not_called_complete(sample: Sample, seed: int) -> None:
    last_bar = sample.text.rindex("|")
    end = random.Random(seed).randint(0, last_bar)
    assert npu_smi.parse(sample.command, sample.text[:end])["complete"] is False
    assert npu_smi.parse(sample.command, sample.text[: last_bar + 1])["complete"] is True


@SETTINGS
@given(st.sampled_from(TABLES), SEEDS)
def test_a_lost_row_costs_one_chip_only(sample: Sample, seed: int) -> None:
    lines = sample.text.split("\n")
    header = next(i for i, line in enumerate(lines) if "Bus-Id" in line)
    ends = [i for i, line in enumerate(lines) if "Process" in line or "No running" in line]
    rows = [
        i
        for i, line in enumerate(lines[: ends[0] if ends else len(lines)])
        if i > header and line.lstrip().startswith("|")
    ]
    index = random.Random(seed).randrange(len(rows))
    del lines[rows[index]]
    result = npu_smi.parse(sample.command, "\n".join(lines))
    whole = sample.answer["chips"]
    assert result["chips"] == whole[: index // 2] + whole[index // 2 + 1 :]
    assert result["complete"] is False


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_every_sample_survives_every_kind_of_damage(sample: Sample) -> None:
    for seed in range(5):
        for damage in DAMAGES:
            _check_shape(npu_smi.parse(sample.command, damage(sample.text, random.Random(seed))))
