# Copyright The kvcache.ascend authors
# SPDX-License-Identifier: Apache-2.0
"""Columns of npu-smi tables: found by their names, read by their types.

Widths, borders and offsets are no contract (eleven widths were seen, and ragged rows in the
vendor's own manuals), so a header cell gives an ordered list of columns, and a row's cell gives
an ordered list of values; the two are paired by order, and by type where their numbers differ.
"""

from __future__ import annotations

import functools
import itertools
import re
from dataclasses import dataclass, field
from typing import Any, Iterable, NamedTuple, Sequence

from ansible_collections.kvcache.ascend.plugins.module_utils import npu_smi_text as text

_MAX_COLUMNS = 10  # in one cell; three were seen. A bound for the search in _only_pairing.
_MAX_HEADER_WORDS = 60  # the longest header row that was seen has eleven
_SHORTEST_CLIPPED = 3  # letters that a clipped name must still have
_MB_PER_UNIT = {
    "b": 1 / 1048576,
    "kb": 1 / 1024,
    "kib": 1 / 1024,
    "mb": 1,
    "mib": 1,
    "m": 1,  # "(MB)" with its end clipped
    "gb": 1024,
    "gib": 1024,
}
_AMOUNT = r"(?:[0-9]{1,18}(?:\.[0-9]{1,6})?|N/?A|-+)"
_RATIO = re.compile(rf"({_AMOUNT})\s*/\s*({_AMOUNT})\Z", re.IGNORECASE)
_VALUE = re.compile(rf"{_AMOUNT}\s*/\s*{_AMOUNT}(?=\s|\Z)|\S+", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_][\w -]*\Z")
_UNIT = re.compile(r"\(([^()]*)\)?\Z")


@dataclass(frozen=True)
class Column:
    """A column: the field that it fills (None: a name never seen), its name as printed, its kind.

    Kinds: integer, number, ratio ("used / total"), amount and amounts (a number and a ratio, of
    memory, in the unit that the name tells), text, word (no digit in front: OK, Warning), any.
    """

    field: str | None
    name: str
    kind: str

    @property
    def mb_per_unit(self) -> float | None:
        """MB in one unit of the column, by the unit in its name; None if the unit is unknown."""
        unit = _UNIT.search(self.name)
        return _MB_PER_UNIT.get(unit.group(1).strip().lower()) if unit else None


class Known(NamedTuple):
    """A column name that npu-smi prints, without its unit, and what it fills."""

    name: str
    field: str
    kind: str


HeaderRow = Sequence[Sequence[Column]]  # cells, each with its columns


@dataclass
class Reading:
    """One row as read with one header row.

    `misfits` counts values that their column cannot have, or that have no column; `missing`
    counts columns without a value. `others` holds the values of columns never seen before.
    """

    values: dict[str, Any] = field(default_factory=dict)
    others: dict[str, str] = field(default_factory=dict)
    misfits: int = 0
    missing: int = 0

    def get(self, name: str) -> Any:
        return self.values.get(name)


def split_names(header: str, known: Iterable[Known]) -> list[Column]:
    """The columns of a header text, in order, by their known names; the rest word by word."""
    if len(header.split()) > _MAX_HEADER_WORDS:
        return [Column(None, header, "any")]
    known = sorted(known, key=lambda each: -len(each.name))
    columns: list[Column] = []
    rest = header.strip()
    while rest:
        column, rest = _first_name(rest, known)
        columns.append(column)
    return columns


def _first_name(rest: str, known: Sequence[Known]) -> tuple[Column, str]:
    for each in known:
        match = _name_pattern(each.name).match(rest)
        if match:
            column = Column(each.field, text.collapsed(match.group()), each.kind)
            return column, rest[match.end() :].strip()
    word, _blank, rest = text.collapsed(rest).partition(" ")
    clipped = [each for each in known if _is_clipped(word, each.name)]
    if len(clipped) == 1:
        return Column(clipped[0].field, word, clipped[0].kind), rest
    return Column(None, word, "any"), rest


@functools.lru_cache(maxsize=None)
def _name_pattern(name: str) -> re.Pattern[str]:
    """The name in any case, with any blanks, and a unit that may be clipped."""
    words = r"\s+".join(re.escape(word).replace(r"\-", r"[-_ ]?") for word in name.split())
    return re.compile(words + r"(?:\s*\([^()\s]*\)?)?(?=\s|\Z)", re.IGNORECASE)


def _is_clipped(word: str, name: str) -> bool:
    return len(word) >= _SHORTEST_CLIPPED and name.lower().startswith(word.lower())


def whole_name(cell: str, known: Iterable[Known]) -> Column:
    """The column of a header cell that holds one name, whole or clipped at its end."""
    name = text.collapsed(cell)
    bare = _UNIT.sub("", name).strip().lower()
    known = list(known)
    same = [each for each in known if each.name.lower() == bare]
    found = same or [each for each in known if _is_clipped(bare, each.name)]
    if len(found) == 1:
        return Column(found[0].field, name, found[0].kind)
    return Column(None, name, "any")


def read_row(header: HeaderRow, cells: Sequence[str]) -> Reading:
    """A row's values by field. Cells and columns are matched by order, never by offset."""
    reading = Reading()
    for index, columns in enumerate(header):
        cell = cells[index] if index < len(cells) else ""
        _read_cell(columns, cell, reading, holds_key=index == 0)
    reading.misfits += sum(1 for cell in cells[len(header) :] if cell.strip())
    return reading


def _read_cell(columns: Sequence[Column], cell: str, reading: Reading, holds_key: bool) -> None:
    values = _join_tail(columns, _VALUE.findall(cell))
    paired = _pair(columns, values, holds_key)
    for column, raw in paired:
        _store(column, raw, reading)
    reading.missing += max(0, len(columns) - len(values))
    reading.misfits += len(values) - len(paired)


def _join_tail(columns: Sequence[Column], values: list[str]) -> list[str]:
    """A text at the end of a cell may have blanks: it takes all that is left."""
    last = len(columns) - 1
    if columns and len(values) > len(columns) and columns[last].kind in ("text", "word", "any"):
        return [*values[:last], " ".join(values[last:])]
    return values


def _pair(
    columns: Sequence[Column], values: list[str], holds_key: bool
) -> list[tuple[Column, str]]:
    """Columns with their values; what cannot be decided is left out."""
    if not columns or not values:
        return []
    if len(values) < len(columns):
        columns = _merge_unknown(columns, len(values))
    if len(values) == len(columns):
        return list(zip(columns, values))
    if holds_key and len(values) < len(columns):
        return list(zip(columns, values))  # the id stands first and is always printed
    return _only_pairing(columns, values)


def _merge_unknown(columns: Sequence[Column], wanted: int) -> Sequence[Column]:
    """Unknown words side by side may be one name of several words: if so, the numbers agree."""
    merged: list[Column] = []
    for is_known, group in itertools.groupby(columns, key=lambda each: each.field is not None):
        run = list(group)
        name = " ".join(each.name for each in run)
        merged += run if is_known else [Column(None, name, "any")]
    return merged if len(merged) == wanted else columns


def _only_pairing(columns: Sequence[Column], values: Sequence[str]) -> list[tuple[Column, str]]:
    """What all pairings that keep order and types have in common; a guess is never made."""
    if max(len(columns), len(values)) > _MAX_COLUMNS:
        return []
    size = min(len(columns), len(values))
    pairings = [
        set(zip(chosen, taken))
        for chosen in itertools.combinations(range(len(columns)), size)
        for taken in itertools.combinations(range(len(values)), size)
        if all(_fits(columns[c].kind, values[v]) for c, v in zip(chosen, taken))
    ]
    common = sorted(set.intersection(*pairings)) if pairings else []
    return [(columns[c], values[v]) for c, v in common]


def _fits(kind: str, raw: str) -> bool:
    if text.is_null(raw):
        return True
    if kind == "integer":
        return text.integer(raw) is not None
    if kind in ("number", "amount"):
        return text.number(raw) is not None
    if kind in ("ratio", "amounts"):
        return _RATIO.match(raw) is not None
    if kind == "word":
        return _WORD.match(raw) is not None
    return True


def _store(column: Column, raw: str, reading: Reading) -> None:
    if column.field is None:
        reading.others[column.name] = raw
    elif not _fits(column.kind, raw):
        reading.misfits += 1
    elif column.kind == "ratio":
        reading.values[column.field] = _ratio(raw)
    elif column.kind in ("amount", "amounts"):
        _store_memory(column, raw, reading)
    elif column.kind == "integer":
        reading.values[column.field] = text.integer(raw)
    elif column.kind == "number":
        reading.values[column.field] = text.number(raw)
    else:
        reading.values[column.field] = text.text_or_none(raw)


def _ratio(raw: str) -> tuple[float | None, float | None]:
    match = _RATIO.match(raw)
    return (text.number(match.group(1)), text.number(match.group(2))) if match else (None, None)


def _store_memory(column: Column, raw: str, reading: Reading) -> None:
    per_unit = column.mb_per_unit
    if column.kind == "amount":
        reading.values[str(column.field)] = in_mb(text.number(raw), per_unit)
    else:
        used, total = _ratio(raw)
        reading.values[str(column.field)] = (in_mb(used, per_unit), in_mb(total, per_unit))
    if per_unit is None and not text.is_null(raw):
        reading.others[column.name] = raw


def in_mb(amount: float | None, mb_per_unit: float | None) -> int | None:
    """Whole MB (of 1048576 bytes), rounded down; None when the amount or its unit is unknown."""
    if amount is None or mb_per_unit is None:
        return None
    return int(amount * mb_per_unit)
