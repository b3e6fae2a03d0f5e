# Copyright The kvcache.ascend authors
# SPDX-License-Identifier: Apache-2.0
"""`npu-smi info -t board|health|common|usages|memory|proc-mem` as dicts.

Shapes: output of npu-smi 20.x to 26.x; lines `key : value`, indented or not. In `common` the line
`Chip ID` opens the block of a chip; in usages, memory and proc-mem it closes it. A parser that
does not tell the two apart gives every chip the readings of its neighbour.
"""

from __future__ import annotations

import re
from typing import Any, Sequence

from ansible_collections.kvcache.ascend.plugins.module_utils import npu_smi_text as text
from ansible_collections.kvcache.ascend.plugins.module_utils.npu_smi_text import Pair

_BOARD_FIELDS = {
    "npu id": "npu_id",
    "product name": "product_name",
    "npu name": "npu_name",
    "model": "model",
    "manufacturer": "manufacturer",
    "serial number": "serial",
    "software version": "driver",
    "firmware version": "firmware",
    "compatibility": "compatibility",
    "board id": "board_id",
    "main board id": "main_board_id",
    "pcb id": "pcb_id",
    "bom id": "bom_id",
    "pcie bus info": "bus_id",
    "slot id": "slot_id",
    "pci vendor id": "pci_vendor_id",
    "pci device id": "pci_device_id",
    "subsystem vendor id": "subsystem_vendor_id",
    "subsystem device id": "subsystem_device_id",
    "chip count": "chip_count",
    "chip id": "chip_id",
    "chip type": "chip_type",
    "chip name": "chip_name",
    "chip version": "chip_version",
    "vdie id": "vdie_id",
    "ndie id": "ndie_id",
    "chip position id": "chip_position_id",
}
_BOARD_INTEGERS = frozenset(["npu_id", "chip_id", "chip_count", "slot_id", "chip_position_id"])
# Rates of these are "how full"; the rates of all others are "how busy" and named without _usage.
_SPACES = ("memory", "hbm", "ddr", "ddr hugepages")
_NOT_KEPT = ("dvpp ",)  # media engines
_UNIT_SUFFIX = {"%": "_pct", "c": "_c", "w": "_w", "mb": "_mb", "mhz": "_mhz", "mv": "_mv"}
_KEY_UNIT = re.compile(r"\s*\((?P<unit>[^()]*)\)\s*\Z")
_READING_NAMES = {
    "temperature_c": "temp_c",
    "npu_real_time_power_w": "power_w",
    "hbm_temperature_c": "hbm_temp_c",
    "ddr_clock_speed_mhz": "ddr_clock_mhz",
    "hbm_clock_speed_mhz": "hbm_clock_mhz",
    "aicore_curfreq_mhz": "aicore_cur_freq_mhz",
}
_ID_NAMES = ("npu id", "chip id", "chip count")
_PROCESS = re.compile(
    r"Process id\s*:\s*(?P<pid>[0-9]{1,18})\s*"
    r"Process name\s*:(?P<name>.{0,200}?)"
    r"Process memory\s*\((?P<unit>[^()]*)\)\s*:\s*(?P<memory>[0-9]{1,18}|N/?A|-)",
    re.IGNORECASE,
)


def parse_board(output: str) -> dict[str, Any]:
    """`-t board`: the card view, or with -c the chip view. Only what was printed is there.

    driver is the running driver's version. Ids that npu-smi prints in hexadecimal stay text.
    """
    result: dict[str, Any] = {}
    unparsed: list[str] = []
    for pair in text.pairs(output):
        field = _BOARD_FIELDS.get(pair.name)
        if field is None:
            if not text.is_null(pair.value):
                unparsed.append(pair.line)
        elif field in result:
            unparsed.append(pair.line)
        elif field in _BOARD_INTEGERS:
            result[field] = text.integer(pair.value)
            if result[field] is None and not text.is_null(pair.value):
                unparsed.append(pair.line)
        else:
            result[field] = text.text_or_none(pair.value)
    if unparsed:
        result["unparsed"] = unparsed
    return result


def _snake(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


def parse_health(output: str) -> dict[str, Any]:
    """`-t health`: health (OK, Warning, Alarm, Critical, UNKNOWN), error_codes, error_information.

    Both lists are empty for NA. If the output holds several states, they are under `outputs`.
    """
    states: list[dict[str, Any]] = []
    goes_on: str | None = None  # the list that a line without a key belongs to
    for line in text.lines(output):
        pair = text.pair(line)
        name = pair.name if pair else ""
        if pair and name in ("health status", "health"):
            states.append(_health_state(text.text_or_none(pair.value)))
            goes_on = None
            continue
        field = {"error code": "error_codes", "error information": "error_information"}.get(name)
        if pair and (field or (not name and goes_on)):
            goes_on = field or goes_on
            states = states or [_health_state(None)]
            _add_error(states[-1][str(goes_on)], str(goes_on), pair.value)
        elif name in _ID_NAMES:
            goes_on = None
        elif pair is None or goes_on == "error_information":
            _continue_line(line, states, goes_on)
    if len(states) > 1:
        return {"outputs": states}
    return states[0] if states else _health_state(None)


def _health_state(health: str | None) -> dict[str, Any]:
    return {"health": health, "error_codes": [], "error_information": []}


def _add_error(found: list[str], field: str, value: str) -> None:
    if field == "error_codes":
        found += [code for code in re.split(r"[\s,]+", value) if not text.is_null(code)]
    elif not text.is_null(value):
        found.append(text.collapsed(value))


def _continue_line(line: str, states: list[dict[str, Any]], goes_on: str | None) -> None:
    """Long information is wrapped after a comma, or indented under its beginning."""
    if goes_on != "error_information" or not line.strip() or not states:
        return
    found = states[-1]["error_information"]
    if found and (found[-1].endswith(",") or line[:1].isspace()):
        found[-1] = f"{found[-1]} {text.collapsed(line)}"


def parse_common(output: str) -> dict[str, Any]:
    """`-t common`: npu_id, chip_count, chips (readings with the unit in the name), mcu.

    mcu holds the readings of the management controller, None if it prints none. Ascend950 prints
    no `Chip ID`: then there is one chip, with chip_id None.
    """
    head, body = _split_head(text.pairs(output))
    mcu: dict[str, Any] | None = None
    chips: list[dict[str, Any]] = []
    current: dict[str, Any] | None = None
    for pair in body:
        if pair.name == "chip id":
            current = {"chip_id": text.integer(pair.value)}
            chips.append(current)
        elif pair.name == "chip name" and pair.value.lower() == "mcu":
            mcu = current = {}
        else:
            if current is None:
                current = {"chip_id": None}
                chips.append(current)
            _add_reading(current, pair)
    chips = [chip for chip in chips if len(chip) > 1 or chip["chip_id"] is not None]
    return _with_completeness({**head, "chips": chips, "mcu": mcu})


def parse_usages(output: str) -> dict[str, Any]:
    """`-t usages` and `-t memory`: npu_id, chip_count, chips (readings with their unit).

    Rates are whole per cent, so a used size computed from them is rough.
    """
    head, body = _split_head(text.pairs(output))
    chips: list[dict[str, Any]] = []
    readings: dict[str, Any] = {}
    for pair in body:
        if pair.name == "chip id":
            chips.append({"chip_id": text.integer(pair.value), **readings})
            readings = {}
        else:
            _add_reading(readings, pair)
    result: dict[str, Any] = {**head, "chips": chips}
    return _with_completeness(_with_open_block(result, readings))


def parse_process_memory(output: str) -> dict[str, Any]:
    """`-t proc-mem`: per chip its processes (pid, name, memory_mb); name is "" where hidden."""
    chips: list[dict[str, Any]] = []
    processes: list[dict[str, Any]] = []
    result: dict[str, Any] = {}
    is_open = False
    for line in text.lines(output):
        found = [_process(match) for match in _PROCESS.finditer(line)]
        pair = text.pair(line)
        if found:
            processes += found
            is_open = True
        elif "no process in device" in line.lower():
            is_open = True
        elif pair and pair.name == "chip id":
            chips.append({"chip_id": text.integer(pair.value), "processes": processes})
            processes, is_open = [], False
        elif pair and pair.name in ("npu id", "chip count"):
            result[_snake(pair.name)] = text.integer(pair.value)
        elif line.strip().lower().startswith("process id"):
            result.setdefault("unparsed", []).append(line.strip())
    result["chips"] = chips
    return _with_completeness(_with_open_block(result, {"processes": processes} if is_open else {}))


def _process(match: re.Match[str]) -> dict[str, Any]:
    is_mb = match.group("unit").strip().lower() in ("mb", "mib")
    return {
        "pid": int(match.group("pid")),
        "name": match.group("name").strip(),
        "memory_mb": text.integer(match.group("memory")) if is_mb else None,
    }


def _split_head(found: Sequence[Pair]) -> tuple[dict[str, Any], list[Pair]]:
    """The lines about the card (npu_id, chip_count; None where not printed), and the others."""
    head: dict[str, Any] = {"npu_id": None, "chip_count": None}
    body = []
    for pair in found:
        if pair.name in ("npu id", "chip count"):
            head[_snake(pair.name)] = text.integer(pair.value)
        else:
            body.append(pair)
    return head, body


def _add_reading(readings: dict[str, Any], pair: Pair) -> None:
    """A number (None for NA) under a name that ends with its unit; ids stay text."""
    name = reading_name(pair.key)
    if pair.name.startswith(_NOT_KEPT):
        return
    value: Any = text.number(pair.value)
    if name.endswith("_id"):
        value = text.text_or_none(pair.value)
    if not name or name in readings or (value is None and not text.is_null(pair.value)):
        readings.setdefault("unparsed", []).append(pair.line)
    else:
        readings[name] = value


def reading_name(key: str) -> str:
    """The field of a printed key: "HBM Usage Rate(%)" is hbm_usage_pct; "" if it is no key."""
    unit = _KEY_UNIT.search(key)
    bare = _KEY_UNIT.sub("", key).lower()
    if not re.match(r"[a-z][a-z0-9 /_-]*\Z", bare):
        return ""
    if bare.endswith(" usage rate"):
        what = bare[: -len(" usage rate")]
        return _snake(what) + ("_usage_pct" if what in _SPACES else "_pct")
    suffix = _UNIT_SUFFIX.get(unit.group("unit").strip().lower(), "") if unit else ""
    name = _snake(bare) + suffix
    return _READING_NAMES.get(name, name)


def _with_open_block(result: dict[str, Any], readings: dict[str, Any]) -> dict[str, Any]:
    """Readings whose `Chip ID` did not come: kept, for a chip that is not known."""
    if not readings:
        return result
    is_cut = bool(result["chips"]) or result.get("chip_count") is not None
    chips = [*result["chips"], {"chip_id": None, **readings}]
    return {**result, "chips": chips, **({"complete": False} if is_cut else {})}


def _with_completeness(result: dict[str, Any]) -> dict[str, Any]:
    count = result.get("chip_count")
    if count is not None and count > len(result["chips"]):
        return {**result, "complete": False}
    return result
