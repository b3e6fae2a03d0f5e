# Copyright The kvcache.ascend authors
# SPDX-License-Identifier: Apache-2.0
"""Reads what npu-smi, hccn_tool and Ascend's version files print: text in, dict out.

One entry, parse(), for every command. Formats: output of npu-smi 20.x to 26.x and of the
hccn_tool that comes with the driver; files of the driver, the firmware and CANN 8.0 to 9.1.
"""

from __future__ import annotations

import re
from typing import Any, Callable, Sequence

from ansible_collections.kvcache.ascend.plugins.module_utils import (
    ascend_versions,
    hccn_tool,
    npu_smi_errors,
    npu_smi_keyvalue,
    npu_smi_lists,
    npu_smi_table,
    npu_smi_text,
)

Parser = Callable[[str], "dict[str, Any]"]

_TYPES: dict[str, Parser] = {
    "board": npu_smi_keyvalue.parse_board,
    "health": npu_smi_keyvalue.parse_health,
    "common": npu_smi_keyvalue.parse_common,
    "usages": npu_smi_keyvalue.parse_usages,
    "memory": npu_smi_keyvalue.parse_usages,
    "proc-mem": npu_smi_keyvalue.parse_process_memory,
    "topo": npu_smi_lists.parse_topology,
}
# The list that a caller loops over is there, and empty, when the tool failed.
_LISTS: dict[Parser, str] = {
    npu_smi_table.parse: "chips",
    npu_smi_lists.parse_mapping: "chips",
    npu_smi_lists.parse_cards: "cards",
}
# Keys that say something about the reading, not about the hardware.
_ABOUT_READING = frozenset(
    ["complete", "layout", "process_table", "process_table_header", "unparsed", "truncated_row"]
)


def parse(command: str, text: str) -> dict[str, Any]:
    """The answer to a command as a dict. Pure; never raises, whatever the text is.

    command: as run, or a file's path after `cat`; options in any order:
      `npu-smi info`, `npu-smi info -l`, `-m`, `-t board|health|common|usages|memory|proc-mem|topo`;
      `hccn_tool -i N -ip|-link|-net_health|-gateway|-lldp|-link_stat|-optical|-fec -g`;
      version.info, version.cfg, *_install.info, hccn.conf.
    text: standard output, and standard error with it if errors are to be recognised.

    `npu-smi info` gives:
      versions: npu_smi (the tool) and driver (the running one), text or None;
      layout: A0, A1, B0, B1, B2, C1 or None for columns never seen together;
      chips: npu_id, chip_id, device_id, phy_id, name, health, bus_id, power_w (W; of the whole
        card on A3), temp_c, hugepages (used, total: pages), aicore_pct, memory_used_mb,
        memory_total_mb, hbm_used_mb, hbm_total_mb. (npu_id, chip_id) is the key: npu_id is no
        index, phy_id may repeat. None is "not printed" or "NA";
      processes: npu_id, chip_id, pid (of the host), name (at most 15 characters; "" where
        hidden), memory_mb, and container_pid if the table has that column;
      idle_npus: cards that the tool says to have no process;
      complete: whether all that such a table prints was there. A text cut between two cards
        cannot be told from a shorter one;
      and only where it applies: process_table false (processes are not known, rather than
        none), process_table_header false, process_columns and util_column (names other than
        the usual), truncated_row (a last row without its end: its last figure may be cut).

    Every answer may have unparsed (lines kept as they are) and error (kind, dcmi_code). What the
    other commands give is told by the function that reads them. A command that is not known
    gives {"unparsed": lines}.
    """
    parser = _parser_for(command)
    result = parser(text)
    error = npu_smi_errors.find(text) if _may_fail(command) else None
    if error is None:
        return result
    if _has_data(result):
        return {**result, "error": error}
    failed: dict[str, Any] = {"error": error}
    if parser in _LISTS:
        failed[_LISTS[parser]] = []
    return failed


def _may_fail(command: str) -> bool:
    """Whether the text comes from a tool; a file's text is what it is."""
    return bool(re.search(r"(?:\A|[\s/])(?:npu-smi|hccn_tool)(?:\s|\Z)", command))


def _parser_for(command: str) -> Parser:
    words = command.split()
    names = [word.rsplit("/", 1)[-1] for word in words]
    if "npu-smi" in names:
        return _npu_smi_parser(words[names.index("npu-smi") + 1 :])
    if "hccn_tool" in names:
        options = words[names.index("hccn_tool") + 1 :]
        known = [hccn_tool.PARSERS[word] for word in options if word in hccn_tool.PARSERS]
        return known[0] if known else _unknown
    return _file_parser(words[-1] if words else "")


def _npu_smi_parser(options: Sequence[str]) -> Parser:
    if options[:1] != ["info"]:
        return _unknown
    if "-t" in options:
        kinds = options[options.index("-t") + 1 :]
        return _TYPES.get(kinds[0] if kinds else "", _unknown)
    if "-m" in options:
        return npu_smi_lists.parse_mapping
    if "-l" in options:
        return npu_smi_lists.parse_cards
    return npu_smi_table.parse


def _file_parser(path: str) -> Parser:
    name = path.rsplit("/", 1)[-1]
    if name == "version.info":
        return lambda content: ascend_versions.parse_version_info(content, path)
    if name == "version.cfg":
        return ascend_versions.parse_version_cfg
    if name == "hccn.conf":
        return hccn_tool.parse_conf
    if name == "ascend_install.info":
        return ascend_versions.parse_ascend_install_info
    if name.endswith("_install.info"):
        return ascend_versions.parse_cann_install_info
    return _unknown


def _unknown(text: str) -> dict[str, Any]:
    return {"unparsed": [line.strip() for line in npu_smi_text.lines(text) if line.strip()]}


def _has_data(value: Any) -> bool:
    """Whether anything in a result was read from the text."""
    if isinstance(value, dict):
        return any(_has_data(part) for key, part in value.items() if key not in _ABOUT_READING)
    if isinstance(value, list):
        return any(_has_data(part) for part in value)
    return value is not None
