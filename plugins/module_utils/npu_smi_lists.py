# Copyright The kvcache.ascend authors
# SPDX-License-Identifier: Apache-2.0
"""`npu-smi info -l` (cards), `-m` (ids of chips) and `-t topo` (who is near whom) as dicts.

Shapes: output of npu-smi 20.x to 26.x. `-l` is made of `key : value` lines, `-m` and topo are
tables without borders whose columns are found by their names.
"""

from __future__ import annotations

import re
from typing import Any, Sequence

from ansible_collections.kvcache.ascend.plugins.module_utils import npu_smi_columns as columns
from ansible_collections.kvcache.ascend.plugins.module_utils import npu_smi_text as text
from ansible_collections.kvcache.ascend.plugins.module_utils.npu_smi_columns import Column, Known

_CARD_FIELDS = {"product name": "product_name", "serial number": "serial"}
_MAPPING_NAMES = [
    Known("NPU ID", "npu_id", "integer"),
    Known("Slot ID", "slot_id", "integer"),
    Known("Chip ID", "chip_id", "integer"),
    Known("Chip Logic ID", "logic_id", "integer"),
    Known("Chip Phy-ID", "phy_id", "integer"),
    Known("Chip Name", "name", "text"),
]
_CONTROLLER = "mcu"  # the management controller of a card is listed as if it were a chip
_TOPO_DEVICE = re.compile(r"(?:NPU|Phy-?ID)[0-9]+\Z", re.IGNORECASE)
_TOPO_WORD = re.compile(r"[A-Z][A-Z0-9/_]*\Z")


def parse_cards(output: str) -> dict[str, Any]:
    """`npu-smi info -l`: total_count and cards (npu_id, chip_count, product_name, serial).

    A key that was not printed is absent; `complete` is there, and false, if cards are missing.
    """
    total: int | None = None
    cards: list[dict[str, Any]] = []
    for pair in text.pairs(output):
        if pair.name == "total count":
            total = text.integer(pair.value)
        elif pair.name == "npu id":
            cards.append({"npu_id": text.integer(pair.value)})
        elif cards and pair.name == "chip count":
            cards[-1]["chip_count"] = text.integer(pair.value)
        elif cards and pair.name in _CARD_FIELDS:
            cards[-1][_CARD_FIELDS[pair.name]] = text.text_or_none(pair.value)
    result: dict[str, Any] = {"total_count": total, "cards": cards}
    if total != len(cards) or any(card.get("chip_count") is None for card in cards):
        result["complete"] = False
    return result


def parse_mapping(output: str) -> dict[str, Any]:
    """`npu-smi info -m`: the columns as printed, and one dict per row.

    npu_id, slot_id, chip_id, logic_id, phy_id (int, None where not printed), name, and is_npu,
    which is false for the management controller. `complete` is there, and false, if rows are cut.
    """
    header: list[Column] = []
    chips: list[dict[str, Any]] = []
    unparsed: list[str] = []
    for line in text.lines(output):
        if not header:
            header = _mapping_header(line)
            continue
        chip = _mapping_row(header, line.split())
        if chip:
            chips.append(chip)
        elif _looks_like_ids(line.split()):
            unparsed.append(line.strip())
    result: dict[str, Any] = {"columns": [column.name for column in header], "chips": chips}
    if unparsed:
        result["unparsed"] = unparsed
    if unparsed or not chips or _lacks_controller(chips):
        result["complete"] = False
    return result


def _mapping_header(line: str) -> list[Column]:
    """The columns of the line if it is the header, else nothing. Names hold single blanks."""
    words = line.split()
    if not words or words[0].upper() != "NPU":
        return []
    header = columns.split_names(line, _MAPPING_NAMES)
    fields = {column.field for column in header}
    return _merged(header) if "npu_id" in fields and len(fields - {None}) > 1 else []


def _merged(header: Sequence[Column]) -> list[Column]:
    """Unknown words up to the next ID or Name are one column."""
    merged: list[Column] = []
    is_open = False
    for column in header:
        if is_open and column.field is None:
            merged.append(Column(None, f"{merged.pop().name} {column.name}", "any"))
        else:
            merged.append(column)
        last_word = column.name.split()[-1].lower()
        is_open = column.field is None and last_word not in ("id", "name")
    return merged


def _mapping_row(header: Sequence[Column], words: list[str]) -> dict[str, Any] | None:
    """A chip, or None if the words are not a row. Only the name may be of several words."""
    extra = len(words) - len(header)
    where = [index for index, column in enumerate(header) if column.field == "name"]
    if extra < 0 or (extra and not where):
        return None
    if extra:
        first, last = where[0], where[0] + extra + 1
        words = [*words[:first], " ".join(words[first:last]), *words[last:]]
    values: dict[str, Any] = {}
    for column, word in zip(header, words):
        if column.kind == "integer":
            if not text.is_null(word) and text.integer(word) is None:
                return None
            values[str(column.field)] = text.integer(word)
        elif column.field:
            values[column.field] = text.text_or_none(word)
    if values.get("npu_id") is None:
        return None
    chip = {
        name: values.get(name) for name in ("npu_id", "slot_id", "chip_id", "logic_id", "phy_id")
    }
    name = values.get("name")
    return {**chip, "name": name, "is_npu": (name or "").lower() != _CONTROLLER}


def _looks_like_ids(words: Sequence[str]) -> bool:
    return len([word for word in words if word == "-" or text.integer(word) is not None]) > 1


def _lacks_controller(chips: Sequence[dict[str, Any]]) -> bool:
    """A card ends with its controller; where others have one and the last has not, it was cut."""
    with_controller = {chip["npu_id"] for chip in chips if not chip["is_npu"]}
    return bool(with_controller) and chips[-1]["npu_id"] not in with_controller


def parse_topology(output: str) -> dict[str, Any]:
    """`npu-smi info -t topo`: how each NPU reaches each other (HCCS, PIX, ...), and its CPUs.

    devices: names as printed (NPU0, ...); links: device to device to word; cpu_affinity: device
    to a list of cores as printed ("0-23"); legend: word to meaning.
    """
    devices: list[str] = []
    links: dict[str, dict[str, str | None]] = {}
    affinity: dict[str, str | None] = {}
    legend: dict[str, str] = {}
    for line in text.lines(output):
        words = line.split()
        names = [word for word in words if _TOPO_DEVICE.match(word)]
        word, equals, meaning = line.partition("=")
        if not devices:
            devices = names
        elif devices and len(names) == 1 and words[0] == names[0]:
            links[names[0]] = dict(zip(devices, map(text.text_or_none, words[1:])))
            rest = " ".join(words[1 + len(devices) :])
            affinity[names[0]] = text.text_or_none(rest)
        elif equals and _TOPO_WORD.match(word.strip()):
            legend[word.strip()] = meaning.strip()
    result: dict[str, Any] = {
        "devices": devices,
        "links": links,
        "cpu_affinity": affinity,
        "legend": legend,
    }
    if not devices or any(len(links.get(name, {})) < len(devices) for name in devices):
        result["complete"] = False
    return result
