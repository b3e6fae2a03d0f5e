# SPDX-License-Identifier: Apache-2.0
"""NPUs as PCI and /dev show them: evidence that needs neither a tool nor, for PCI, a driver."""

from __future__ import annotations

import re
from typing import Any

from ansible_collections.kvcache.ascend.plugins.module_utils.npu_files import Files

HUAWEI = "19e5"
# PCI device ids of the NPUs (pci.ids and mind-cluster). Other devices of this vendor are no NPUs, such as the graphics
# of a management controller (1711).
SERIES = {
    "d100": "310",
    "d105": "310B",
    "d107": "310B",
    "d500": "310P",
    "d801": "910",
    "d802": "A2",
    "d803": "A3",
    "d806": "950",
}
# Class of a processing accelerator, for a device id that is younger than this table.
ACCELERATOR_CLASS = "12"
# Needed beside the node of each chip. davinci_manager shows that the driver has come up.
MANAGER_NODES = ("davinci_manager", "devmm_svm", "hisi_hdc")
FIRST_VIRTUAL = 100
_CHIP_NODE = re.compile(r"(?P<virtual>v?)davinci(?P<number>[0-9]{1,4})\Z")


def _hexadecimal(raw: str | None) -> str | None:
    """0xD802 as d802."""
    digits = (raw or "").strip().lower()
    return digits[2:] if digits.startswith("0x") else digits or None


def pci_devices(files: Files) -> list[dict[str, Any]]:
    """NPUs on PCI: bus_id, device_id, subsystem_device_id, series (None for an id that is not known)."""
    found = []
    for bus_id in files.names("/sys/bus/pci/devices"):
        folder = f"/sys/bus/pci/devices/{bus_id}"
        if _hexadecimal(files.read(f"{folder}/vendor")) != HUAWEI:
            continue
        device_id = _hexadecimal(files.read(f"{folder}/device"))
        device_class = _hexadecimal(files.read(f"{folder}/class")) or ""
        if device_id in SERIES or device_class.startswith(ACCELERATOR_CLASS):
            found.append(
                {
                    "bus_id": bus_id.upper(),
                    "device_id": device_id,
                    "subsystem_device_id": _hexadecimal(files.read(f"{folder}/subsystem_device")),
                    "series": SERIES.get(device_id or ""),
                }
            )
    return found


def device_nodes(files: Files) -> list[dict[str, Any]]:
    """Nodes of the NPU driver: path, kind (chip, virtual, manager), number (None for a manager), owner and mode.

    The number of a chip's node is its physical id.
    """
    found: list[tuple[tuple[int, int], dict[str, Any]]] = []
    for name in [*files.names("/dev", "*davinci*"), *MANAGER_NODES[1:]]:
        match = _CHIP_NODE.match(name)
        node = files.node(f"/dev/{name}") if match or name in MANAGER_NODES else None
        if node is None:
            continue
        number = int(match.group("number")) if match else None
        kind = "manager"
        if match:
            is_virtual = bool(match.group("virtual")) or int(match.group("number")) >= FIRST_VIRTUAL
            kind = "virtual" if is_virtual else "chip"
        rank = {"chip": 0, "virtual": 1, "manager": 2}[kind]
        found.append(
            ((rank, number or 0), {"path": f"/dev/{name}", "kind": kind, "number": number, **node})
        )
    return [node for _key, node in sorted(found, key=lambda pair: pair[0])]
