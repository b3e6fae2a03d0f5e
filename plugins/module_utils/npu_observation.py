# SPDX-License-Identifier: Apache-2.0
"""All that can be seen of a host's NPUs, in one dict: PCI, nodes, versions, chips with every id, links, verdicts.

Input and output are passed in. Unknown is None, never a guess; what could not be read is told.
"""

from __future__ import annotations

import getpass
from dataclasses import dataclass
from typing import Any, Callable, Mapping, Sequence

from ansible_collections.kvcache.ascend.plugins.module_utils import (
    hccn_tool,
    npu_hardware,
    npu_software,
    npu_torch,
    npu_verdicts,
    npu_visible,
)
from ansible_collections.kvcache.ascend.plugins.module_utils.limited_command import Runner
from ansible_collections.kvcache.ascend.plugins.module_utils.npu_files import Files
from ansible_collections.kvcache.ascend.plugins.module_utils.npu_tools import (
    Tools,
    has_roce,
    link,
    no_link,
    tool_environment,
)

UnitOf = Callable[[int], "str | None"]
VISIBLE_VARIABLE = "ASCEND_RT_VISIBLE_DEVICES"


@dataclass(frozen=True)
class Options:
    seconds: float = 20.0  # of each call of a tool
    links: bool = True
    processes: bool = True
    visible_devices: str | None = None  # None: the variable in the environment, if it is set
    cann_roots: Sequence[str] = (npu_software.DEFAULT_ROOT,)
    python: str | None = None
    python_set_env: str | None = None
    python_seconds: float = 120.0


def observe(
    options: Options,
    files: Files,
    run: Runner,
    environment: Mapping[str, str],
    *,
    is_root: bool,
    unit_of: UnitOf,
) -> dict[str, Any]:
    """All of it. unit_of tells the systemd service of a process."""
    root = npu_software.install_root(files)
    tools = Tools(
        files=files,
        run=run,
        environment=tool_environment(environment, npu_software.library_path(root)),
        root=root,
        seconds=options.seconds,
    )
    pci = npu_hardware.pci_devices(files)
    nodes = npu_hardware.device_nodes(files)
    smi = tools.find("npu-smi")
    answer, table = tools.ask(smi, "info") if smi else (None, {})
    usable = npu_verdicts.tool_usable(smi, tools.is_folder("npu-smi"), answer, table)
    chips = _chips(tools, smi, table, nodes) if table.get("chips") else []
    links = _links(tools, chips, files, options.links, is_root)
    driver = npu_software.driver(files, root)
    running = (table.get("versions") or {}).get("driver")
    devices = npu_visible.visible_devices(_value(options, environment), len(chips) or None)
    groups = [node["group"] for node in nodes]
    return {
        "hardware": pci,
        "device_nodes": nodes,
        "driver": {"running": running, **driver},
        "firmware": npu_software.firmware(files, root),
        "cann": npu_software.cann(files, _roots(options, root), environment),
        "chips": chips,
        "processes": _processes(table, options.processes, unit_of),
        "links": links,
        "visible_devices": devices,
        "torch": _torch(options, run, tools.environment),
        "verdicts": {
            "hardware_present": npu_verdicts.hardware_present(pci, nodes),
            "driver_loaded": npu_verdicts.driver_loaded(nodes, driver["installed"]),
            "tool_usable": usable,
            "healthy": npu_verdicts.healthy(chips),
            "visible": npu_verdicts.visible(
                nodes, devices, _user(is_root), groups[0] if groups else None
            ),
        },
        "commands": tools.runs,
        "unparsed": table.get("unparsed", []),
    }


def _user(is_root: bool) -> str:
    try:
        return "root" if is_root else getpass.getuser()
    except (KeyError, OSError):
        return "the calling user"


def _value(options: Options, environment: Mapping[str, str]) -> str | None:
    if options.visible_devices is not None:
        return options.visible_devices
    return environment.get(VISIBLE_VARIABLE)


def _roots(options: Options, root: str) -> list[str]:
    return list(dict.fromkeys([*options.cann_roots, root]))


# --- chips -------------------------------------------------------------------------------------------


def _chips(
    tools: Tools, smi: str | None, table: dict[str, Any], nodes: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """The chips of the table with the ids that `-m` adds, their nodes, and the codes of those that are not well."""
    mapping = tools.ask(smi, "info", "-m")[1] if smi else {}
    by_key = {
        (row["npu_id"], row["chip_id"]): row for row in mapping.get("chips", []) if row["is_npu"]
    }
    numbers = {node["number"]: node["path"] for node in nodes if node["kind"] == "chip"}
    chips = [_with_ids(chip, by_key) for chip in table["chips"]]
    _add_physical_ids(chips, set(numbers))
    for chip in chips:
        chip["node"] = numbers.get(chip["phy_id"])
        codes = _codes(tools, smi, chip) if smi and chip["health"] != "OK" else None
        chip["error_codes"] = codes["error_codes"] if codes else []
        chip["error_information"] = codes["error_information"] if codes else []
    return chips


def _with_ids(
    chip: dict[str, Any], by_key: Mapping[tuple[int, int | None], dict[str, Any]]
) -> dict[str, Any]:
    """A chip of the table in this module's words. A table without chip numbers (950) is one of one chip per card."""
    row = by_key.get((chip["npu_id"], chip["chip_id"])) or (
        by_key.get((chip["npu_id"], 0)) if chip["chip_id"] is None else None
    )
    uses_hbm = bool(chip["hbm_total_mb"])
    used, total = (
        chip[f"{'hbm' if uses_hbm else 'memory'}_{what}_mb"] for what in ("used", "total")
    )
    phy_id = chip["phy_id"] if chip["phy_id"] is not None else row and row["phy_id"]
    return {
        "npu_id": chip["npu_id"],
        "chip_id": chip["chip_id"],
        "logic_id": row["logic_id"] if row else None,
        "phy_id": phy_id,
        "phy_id_from": None if phy_id is None else "npu-smi",
        "name": chip["name"],
        "health": chip["health"],
        "bus_id": chip["bus_id"],
        "power_w": chip["power_w"],
        "temp_c": chip["temp_c"],
        "aicore_pct": chip["aicore_pct"],
        "hugepages": chip["hugepages"],
        "memory_kind": "hbm" if uses_hbm else "ddr",
        "memory_used_mb": used,
        "memory_total_mb": total,
        "memory_free_mb": None if used is None or total is None else total - used,
        "device_id": chip["device_id"],
    }


def _add_physical_ids(chips: list[dict[str, Any]], numbers: set[int]) -> None:
    """Physical ids where npu-smi prints none: another id counts as one if it numbers just the nodes that are there.

    Never otherwise: in a container logic ids start at 0 while nodes keep the host's numbers, and a dead card shifts them.
    """
    if any(chip["phy_id"] is not None for chip in chips):
        return
    keys = ["logic_id", "npu_id", "device_id"]
    if len({chip["npu_id"] for chip in chips}) < len(chips):
        keys.remove("npu_id")  # cards of several chips: the card's id is no chip's
    for key in keys:
        values = [chip[key] for chip in chips]
        if None not in values and len(set(values)) == len(values) and set(values) == numbers:
            for chip in chips:
                chip["phy_id"], chip["phy_id_from"] = chip[key], key
            return


def _codes(tools: Tools, smi: str, chip: dict[str, Any]) -> dict[str, Any] | None:
    """Error codes of a chip. A 950 knows no -c."""
    which = ["-i", str(chip["npu_id"])]
    if chip["chip_id"] is not None:
        which += ["-c", str(chip["chip_id"])]
    parsed = tools.ask(smi, "info", "-t", "health", *which)[1]
    return parsed if "error_codes" in parsed else None


def _processes(table: dict[str, Any], wanted: bool, unit_of: UnitOf) -> list[dict[str, Any]] | None:
    """None when they are not known: a table without a list of processes does not say that there are none."""
    if not wanted or not table.get("chips") or table.get("process_table") is False:
        return None
    return [
        {
            **{key: process[key] for key in ("npu_id", "chip_id", "pid", "name", "memory_mb")},
            "unit": unit_of(process["pid"]),
        }
        for process in table["processes"]
    ]


# --- links -------------------------------------------------------------------------------------------


def _links(
    tools: Tools, chips: Sequence[dict[str, Any]], files: Files, wanted: bool, is_root: bool
) -> list[dict[str, Any]] | None:
    if not wanted or not chips:
        return None
    text = files.read("/etc/hccn.conf")
    conf = hccn_tool.parse_conf(text or "")["devices"]
    addresses = {entry["device"]: entry.get("address") for entry in conf}
    path = tools.find("hccn_tool")
    found = []
    for chip in chips:
        applies = has_roce(chip["name"])
        reason = _why_not_asked(path, chip, applies, is_root)
        if reason or path is None or not applies:
            found.append(no_link(chip["phy_id"], applies, reason))
        else:
            found.append(link(tools, path, chip["phy_id"], addresses.get(chip["phy_id"])))
    return found


def _why_not_asked(
    path: str | None, chip: Mapping[str, Any], applies: bool | None, is_root: bool
) -> str | None:
    if applies is False:
        return None  # there is no port, so nothing is missing
    if applies is None:
        return f"how to ask about the port of a {chip['name']} is not known"
    if path is None:
        return "hccn_tool is not there"
    if not is_root:
        return "hccn_tool needs root"
    return "the physical id is not known" if chip["phy_id"] is None else None


def _torch(options: Options, run: Runner, environment: Mapping[str, str]) -> dict[str, Any] | None:
    if options.python is None:
        return None
    variables = dict(environment)
    if options.visible_devices is not None:
        variables[VISIBLE_VARIABLE] = options.visible_devices
    return npu_torch.ask(
        options.python, options.python_set_env, variables, options.python_seconds, run
    )
