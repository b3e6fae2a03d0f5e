# Copyright The kvcache.ascend authors
# SPDX-License-Identifier: Apache-2.0
"""Rows of the table of `npu-smi info`: which is a header, a chip, a process, a sentence.

Shapes: output of npu-smi 20.x to 26.x. A chip is printed as one row per header row (two in all
versions seen), a process as one row under a second header. Only lines that begin with a bar
belong to the table; borders, prompts and messages around it are passed over.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Sequence

from ansible_collections.kvcache.ascend.plugins.module_utils import npu_smi_columns as columns
from ansible_collections.kvcache.ascend.plugins.module_utils import npu_smi_text as text
from ansible_collections.kvcache.ascend.plugins.module_utils.npu_smi_columns import (
    Column,
    Known,
    Reading,
)

CHIP_NAMES = [
    Known("NPU ID", "npu_id", "integer"),
    Known("NPU", "npu_id", "integer"),
    Known("Name", "name", "text"),
    Known("Health", "health", "word"),
    Known("Power", "power_w", "number"),
    Known("Temp", "temp_c", "number"),
    Known("Hugepages-Usage", "hugepages", "ratio"),
    Known("Chip", "chip_id", "integer"),
    Known("Device", "device_id", "integer"),
    Known("Phy-ID", "phy_id", "integer"),
    Known("Bus-Id", "bus_id", "text"),
    Known("AICore", "aicore_pct", "number"),
    Known("NPU Util", "aicore_pct", "number"),
    Known("Memory-Usage", "memory", "amounts"),
    Known("HBM-Usage", "hbm", "amounts"),
]
PROCESS_KEY_NAMES = [
    Known("NPU ID", "npu_id", "integer"),
    Known("NPU", "npu_id", "integer"),
    Known("Chip", "chip_id", "integer"),
]
PROCESS_NAMES = [
    Known("Process id", "pid", "integer"),
    Known("Process name", "name", "text"),
    Known("Process memory", "memory_mb", "amount"),
    Known("Process id in container", "container_pid", "integer"),
]
_VERSIONS = re.compile(
    r"npu-smi\s+(?P<npu_smi>(?!Version\b)\S+)(?:\s+Version\s*:\s*(?P<driver>\S+))?", re.IGNORECASE
)
_IDLE = re.compile(r"No running processes found(?:\s+in\s+NPU\s+(?P<npu>\S+))?", re.IGNORECASE)


class Row(NamedTuple):
    cells: list[str]
    is_closed: bool  # ends with a bar
    line: str


@dataclass
class Table:
    """What has been read so far. `half` is the first row (or rows) of a chip under way."""

    versions: dict[str, str | None] = field(
        default_factory=lambda: {"npu_smi": None, "driver": None}
    )
    chip_headers: list[list[list[Column]]] = field(default_factory=list)
    process_header: list[list[Column]] = field(default_factory=list)
    in_processes: bool = False
    chips: list[Reading] = field(default_factory=list)
    processes: list[dict[str, Any]] = field(default_factory=list)
    idle: list[int] = field(default_factory=list)
    says_all_idle: bool = False
    half: list[tuple[Row, Reading]] = field(default_factory=list)
    unparsed: list[str] = field(default_factory=list)
    cut_row: str | None = None
    is_elided: bool = False

    @property
    def chip_columns(self) -> list[Column]:
        """All columns of the chips' header rows, in order."""
        return [column for header in self.chip_headers for cell in header for column in cell]

    @property
    def process_columns(self) -> list[Column]:
        return [column for cell in self.process_header for column in cell]


def read(output: str) -> Table:
    """All that the rows of a text tell. Never raises."""
    all_lines = text.lines(output)
    rows = [_row(line) for line in all_lines if line.strip().startswith("|")]
    table = Table(is_elided=any(_is_elision(line) for line in all_lines))
    closes_rows = any(row.is_closed for row in rows)
    for row in rows:
        _take(table, row, is_cut=closes_rows and not row.is_closed)
    _drop_half(table)
    if not table.chip_headers and not table.process_header:
        table.unparsed = [line.strip() for line in all_lines if line.strip()]
    return table


def _is_elision(line: str) -> bool:
    """Whether somebody left lines out and put dots there."""
    return ("..." in line or "\u2026" in line) and not line.strip(" \t|+.\u2026")


def _row(line: str) -> Row:
    line = line.strip()
    is_closed = len(line) > 1 and line.endswith("|")
    inner = line[1:-1] if is_closed else line[1:]
    return Row([cell.strip() for cell in inner.split("|")], is_closed, line)


def _take(table: Table, row: Row, is_cut: bool) -> None:
    """Puts one row where it belongs; header rows are told by the names in them."""
    if is_cut:
        table.cut_row = row.line
    if _is_elision(row.line) or not any(row.cells):
        return
    if _take_sentence(table, row, is_cut) or _take_header(table, row):
        return
    if table.in_processes:
        _take_process(table, row, is_cut)
    else:
        _take_chip_row(table, row, is_cut)


def _take_sentence(table: Table, row: Row, is_cut: bool) -> bool:
    joined = text.collapsed(" ".join(row.cells))
    versions = _VERSIONS.match(joined)
    if versions:
        table.versions = versions.groupdict()
        return True
    idle = _IDLE.match(joined)
    if not idle:
        return False
    npu_id = text.integer(idle.group("npu") or "")
    if npu_id is not None:
        table.idle.append(npu_id)
    elif idle.group() == joined and not idle.group("npu") and not is_cut:
        table.says_all_idle = True  # an older tool says it once, for all cards
    else:
        table.unparsed.append(row.line)
    return True


def _take_header(table: Table, row: Row) -> bool:
    if row.cells[0][:1].isdigit():
        return False  # an id stands there
    header = [columns.split_names(cell, CHIP_NAMES) for cell in row.cells]
    names = {column.field for cell in header for column in cell} - {None}
    process_header = _process_header(row)
    if not process_header and names == {"npu_id", "chip_id"}:
        process_header = header  # cut: a chip's header has the name or the health, too
    if process_header:
        _drop_half(table)
        table.process_header, table.in_processes = process_header, True
        return True
    if len(names) < 2:
        return False
    if "npu_id" in names:  # a table begins
        _drop_half(table)
        table.chip_headers, table.in_processes = [header], False
    elif table.chip_headers and not table.half and header not in table.chip_headers:
        table.chip_headers.append(header)
    return True


def _process_header(row: Row) -> list[list[Column]]:
    """The cells of a process header, or nothing if the row is none."""
    header = [columns.split_names(row.cells[0], PROCESS_KEY_NAMES)]
    for cell in row.cells[1:]:
        key = columns.split_names(cell, PROCESS_KEY_NAMES)
        is_key = all(column.field for column in key)
        header.append(key if is_key else [columns.whole_name(cell, PROCESS_NAMES)])
    names = {column.field for cell in header for column in cell} - {None}
    return header if "npu_id" in names and names - {"npu_id", "chip_id"} else []


def _take_chip_row(table: Table, row: Row, is_cut: bool) -> None:
    """Pairs rows to chips: each row goes to the header row that it fits best."""
    expected = len(table.half)
    readings = [columns.read_row(header, row.cells) for header in table.chip_headers]
    usable = [
        index
        for index, reading in enumerate(readings)
        if _is_row_of(table.chip_headers[index], reading) and not (is_cut and reading.missing)
    ]
    if not usable or (len(readings) == 1 and readings[0].misfits + readings[0].missing):
        table.unparsed.append(row.line)
        return
    best = min(usable, key=lambda i: (_distance(readings[i]), i != expected, i))
    if best != expected:
        _drop_half(table)
    if best != len(table.half):  # a second row without its first
        table.unparsed.append(row.line)
        return
    table.half.append((row, readings[best]))
    if len(table.half) == len(table.chip_headers):
        _finish_chip(table)


def _distance(reading: Reading) -> int:
    return reading.misfits + reading.missing


def _is_row_of(header: Sequence[Sequence[Column]], reading: Reading) -> bool:
    """Whether the ids of this header row were read, and most of the rest."""
    names = [column.field for cell in header for column in cell if column.field]
    ids = [name for name in names if name in ("npu_id", "chip_id")]
    has_ids = all(reading.get(name) is not None for name in ids)
    return has_ids and 2 * len(reading.values) >= len(names)


def _drop_half(table: Table) -> None:
    table.unparsed += [row.line for row, _reading in table.half]
    table.half = []


def _finish_chip(table: Table) -> None:
    chip = Reading()
    for row, reading in table.half:
        chip.values.update(reading.values)
        chip.others.update(reading.others)
        if reading.misfits:
            table.unparsed.append(row.line)
    if any(_chip_key(each) == _chip_key(chip) for each in table.chips):
        _drop_half(table)  # listed twice: counted once
        return
    table.chips.append(chip)
    table.half = []


def _chip_key(chip: Reading) -> tuple[Any, Any]:
    return chip.get("npu_id"), chip.get("chip_id")


def _take_process(table: Table, row: Row, is_cut: bool) -> None:
    cells = _join_name(row.cells, table.process_header)
    reading = columns.read_row(table.process_header, cells)
    if reading.get("npu_id") is None or reading.get("pid") is None or (is_cut and reading.missing):
        table.unparsed.append(row.line)
        return
    process = {
        "npu_id": reading.get("npu_id"),
        "chip_id": reading.get("chip_id"),
        "pid": reading.get("pid"),
        "name": reading.get("name") or "",
        "memory_mb": reading.get("memory_mb"),
    }
    if any(column.field == "container_pid" for column in table.process_columns):
        process["container_pid"] = reading.get("container_pid")
    if reading.others:
        process["unparsed"] = reading.others
    if reading.misfits:
        table.unparsed.append(row.line)
    table.processes.append(process)


def _join_name(cells: list[str], header: Sequence[Sequence[Column]]) -> list[str]:
    """A process name may hold a bar: the cells too many belong to it."""
    extra = len(cells) - len(header)
    where = [i for i, cell in enumerate(header) if [c.field for c in cell] == ["name"]]
    if extra <= 0 or not where:
        return cells
    first, last = where[0], where[0] + extra + 1
    return [*cells[:first], "|".join(cells[first:last]), *cells[last:]]
