# Copyright The kvcache.ascend authors
# SPDX-License-Identifier: Apache-2.0
"""The table of `npu-smi info` as a dict: chips, processes, versions, and whether all was there."""

from __future__ import annotations

import re
from typing import Any, Iterable, Sequence

from ansible_collections.kvcache.ascend.plugins.module_utils import npu_smi_rows
from ansible_collections.kvcache.ascend.plugins.module_utils.npu_smi_columns import Reading
from ansible_collections.kvcache.ascend.plugins.module_utils.npu_smi_rows import Table

_MAJOR = re.compile(r"([0-9]{2})\.")
_USUAL_PROCESS_COLUMNS = ["Process id", "Process name", "Process memory(MB)"]


def parse(output: str) -> dict[str, Any]:
    """The dict described in npu_smi.parse for `npu-smi info`. Never raises."""
    table = npu_smi_rows.read(output)
    chips = [_chip(reading) for reading in table.chips]
    cards = _unique(chip["npu_id"] for chip in chips)
    idle = _unique([*table.idle, *(cards if table.says_all_idle else [])])
    result = {
        "chips": chips,
        "processes": table.processes,
        "versions": table.versions,
        "complete": _is_complete(table, chips, cards, idle),
        "layout": layout({column.field for column in table.chip_columns}),
        "idle_npus": idle,
    }
    return {**result, **_oddities(table, idle)}


def _unique(values: Iterable[Any]) -> list[Any]:
    return list(dict.fromkeys(values))


def _chip(reading: Reading) -> dict[str, Any]:
    power = reading.get("power_w")
    hugepages = reading.get("hugepages") or (None, None)
    memory = reading.get("memory") or (None, None)
    hbm = reading.get("hbm") or (None, None)
    chip = {
        "npu_id": reading.get("npu_id"),
        "chip_id": reading.get("chip_id"),
        "device_id": reading.get("device_id"),
        "phy_id": reading.get("phy_id"),
        "name": reading.get("name"),
        "health": reading.get("health"),
        "bus_id": reading.get("bus_id"),
        "power_w": None if power is None else float(power),
        "temp_c": reading.get("temp_c"),
        "hugepages": None,
        "aicore_pct": reading.get("aicore_pct"),
        "memory_used_mb": memory[0],
        "memory_total_mb": memory[1],
        "hbm_used_mb": hbm[0],
        "hbm_total_mb": hbm[1],
    }
    if hugepages != (None, None):
        chip["hugepages"] = {"used": hugepages[0], "total": hugepages[1]}
    if reading.others:
        chip["unparsed"] = reading.others
    return chip


def _oddities(table: Table, idle: Sequence[int]) -> dict[str, Any]:
    """The keys that are there only where a table differs from the usual."""
    found: dict[str, Any] = {}
    util = [column.name for column in table.chip_columns if column.field == "aicore_pct"]
    if util and not util[0].lower().startswith("aicore"):
        found["util_column"] = util[0]
    if not table.process_header:
        found["process_table_header" if idle else "process_table"] = False
    names = [" ".join(column.name for column in cell) for cell in table.process_header]
    if names and names[1:] != _USUAL_PROCESS_COLUMNS:
        found["process_columns"] = names
    if table.cut_row is not None:
        found["truncated_row"] = table.cut_row
    if table.unparsed:
        found["unparsed"] = table.unparsed
    return found


def _is_complete(
    table: Table, chips: Sequence[dict[str, Any]], cards: Sequence[int], idle: Sequence[int]
) -> bool:
    """Whether nothing that this kind of table prints is missing."""
    if table.unparsed or table.cut_row is not None or table.is_elided or not chips:
        return False
    if None in table.versions.values():
        return False
    if table.process_header or idle:
        told = {process["npu_id"] for process in table.processes} | set(idle)
        return told == set(cards)
    return not _should_have_processes(table, chips)


def _should_have_processes(table: Table, chips: Sequence[dict[str, Any]]) -> bool:
    """Tools since 24.1 print a process table for all products but 310B and the first 310 layout."""
    major = _MAJOR.match(table.versions["npu_smi"] or "")
    has_hugepages = any(column.field == "hugepages" for column in table.chip_columns)
    is_310b = any((chip["name"] or "").upper().startswith("310B") for chip in chips)
    return bool(major and int(major.group(1)) >= 24 and has_hugepages and not is_310b)


def layout(fields: set[str | None]) -> str | None:
    """The name of the layout by the columns that tell it; None for one never seen.

    A0, A1: `Chip Device`; B0, B1: `Chip` and HBM; B2: `Chip Phy-ID` and HBM; C1: no chip number
    (Ascend950). 1 and 2 have a column for huge pages.
    """
    has_hugepages = "hugepages" in fields
    has_hbm = "hbm" in fields
    if not {"npu_id", "memory"} <= fields:
        return None
    if {"chip_id", "device_id"} <= fields and not has_hbm and "phy_id" not in fields:
        return "A1" if has_hugepages else "A0"
    if {"chip_id", "phy_id"} <= fields and has_hbm and has_hugepages and "device_id" not in fields:
        return "B2"
    if "chip_id" in fields and has_hbm and not {"phy_id", "device_id"} & fields:
        return "B1" if has_hugepages else "B0"
    if has_hbm and has_hugepages and not {"chip_id", "phy_id", "device_id"} & fields:
        return "C1"
    return None
