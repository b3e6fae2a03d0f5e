# SPDX-License-Identifier: Apache-2.0
"""Verdicts on the NPUs of a host, each on its own: a card may be there and healthy while a process can't open it.

A verdict is a dict: ok (None when it can't be told), reason and, unless ok, fix.
"""

from __future__ import annotations

from typing import Any, Sequence

from ansible_collections.kvcache.ascend.plugins.module_utils.limited_command import Answer

HEALTH = ("OK", "Warning", "Alarm", "Critical")
"""From good to bad; whatever else is printed (UNKNOWN) is worse than all."""

_DCMI_FIX = (
    "run it as root or as a member of the group of /dev/davinci_manager; in a container, give it the devices and the "
    "driver's folder; after an upgrade of driver or firmware, reboot"
)
_ERRORS = {
    "missing_library": (
        "it does not find {library}",
        "mount or install the driver whole (<driver>/lib64 must hold it), or repair LD_LIBRARY_PATH",
    ),
    "device_occupied": (
        "another container owns a device (DCMI {code})",
        "stop the container that holds it, or share the device without exclusive mode",
    ),
    "dcmi_init_failed": ("the driver's management interface refused (DCMI {code})", _DCMI_FIX),
    "permission_denied": ("it may not be run by this user", "run it as root"),
}


def verdict(ok: bool | None, reason: str, fix: str | None = None) -> dict[str, Any]:
    return {"ok": ok, "reason": reason, "fix": None if ok else fix}


def hardware_present(
    pci: Sequence[dict[str, Any]], nodes: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """A container or a virtual machine may have nodes and see no PCI."""
    if pci:
        series = sorted({str(device["series"] or device["device_id"]) for device in pci})
        return verdict(True, f"{len(pci)} NPUs of series {', '.join(series)} on PCI")
    if nodes:
        return verdict(None, "no NPU on PCI, but device nodes: look at PCI on the host itself")
    return verdict(
        False,
        "no NPU on PCI",
        "check in the BIOS and with lspci -d 19e5: that the cards are seated and powered",
    )


def driver_loaded(nodes: Sequence[dict[str, Any]], installed: str | None) -> dict[str, Any]:
    kinds = [node["kind"] for node in nodes]
    chips = kinds.count("chip") + kinds.count("virtual")
    has_manager = any(node["path"] == "/dev/davinci_manager" for node in nodes)
    if chips and has_manager:
        return verdict(True, f"{chips} device nodes and /dev/davinci_manager are there")
    missing = "/dev/davinci_manager is" if chips else "/dev/davinci0, /dev/davinci1, ... are"
    fix = (
        f"load it or reboot (dmesg | grep -i davinci tells why it failed); {installed} is installed"
        if installed
        else "install the NPU driver (HDK) of the hardware, then reboot"
    )
    return verdict(False, f"{missing} missing: the NPU driver is not loaded", fix)


def tool_usable(
    path: str | None, is_folder: bool, answer: Answer | None, table: dict[str, Any]
) -> dict[str, Any]:
    """Whether npu-smi can be believed; answer is that to `npu-smi info`."""
    if path is None or answer is None:
        return _tool_missing(is_folder)
    if table.get("error") or answer.status != 0:
        return _tool_failed(answer, table.get("error"))
    if not table.get("chips"):
        return verdict(
            False,
            "npu-smi info printed no chip that can be read",
            "run npu-smi info by hand; if its table is fine, report it as a bug of this collection",
        )
    version = table["versions"]["npu_smi"] or "of unknown version"
    if not table.get("complete"):
        return verdict(True, f"npu-smi {version} answers, but its table was not whole")
    return verdict(True, f"npu-smi {version} answers")


def _tool_missing(is_folder: bool) -> dict[str, Any]:
    if is_folder:
        return verdict(
            False,
            "npu-smi is a folder: a bind mount of a file that the host does not have",
            "mount the npu-smi of the host, or install the driver on it",
        )
    return verdict(
        False,
        "npu-smi is not there",
        "install the NPU driver, or add the folder of npu-smi to PATH",
    )


def _tool_failed(answer: Answer, error: dict[str, Any] | None) -> dict[str, Any]:
    if answer.timed_out:
        return verdict(
            False,
            f"npu-smi info did not answer: {answer.problem}",
            "a card or the driver hangs: look at dmesg, then reboot the host or power it off and on",
        )
    if error is None:
        reason = answer.problem or f"it ended with status {answer.status}"
        return verdict(False, f"npu-smi info failed: {reason}", "run npu-smi info by hand as root")
    reason, fix = _ERRORS.get(error["kind"], (error["kind"].replace("_", " "), _DCMI_FIX))
    text = reason.format(code=error["dcmi_code"], library=error.get("library"))
    return verdict(False, f"npu-smi info failed: {text}", fix)


def worst_health(chips: Sequence[dict[str, Any]]) -> str | None:
    """The worst state of all chips, as printed; None without a chip."""

    def rank(chip: dict[str, Any]) -> int:
        return HEALTH.index(chip["health"]) if chip["health"] in HEALTH else len(HEALTH)

    return str(max(chips, key=rank)["health"]) if chips else None


def healthy(chips: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """A warning is healthy: work goes on. Whether it is good enough is the caller's policy."""
    worst = worst_health(chips)
    if worst is None:
        return {**verdict(None, "no chip was read", "make npu-smi usable first"), "worst": None}
    unwell = [chip for chip in chips if chip["health"] != "OK"]
    names = ", ".join(f"{chip_name(chip)}: {chip['health']}" for chip in unwell)
    fix = "npu-smi info -t health -i <NPU> -c <chip> names the codes; reset or replace the card"
    return {
        **verdict(worst in HEALTH[:2], names or f"all {len(chips)} chips are OK", fix),
        "worst": worst,
    }


def chip_name(chip: dict[str, Any]) -> str:
    """A chip as an operator looks for it: card and chip of npu-smi, and the node."""
    name = f"NPU {chip['npu_id']}"
    if chip["chip_id"] is not None:
        name += f" chip {chip['chip_id']}"
    return f"{name} ({chip['node']})" if chip.get("node") else name


def visible(
    nodes: Sequence[dict[str, Any]], devices: dict[str, Any], user: str, has_group: str | None
) -> dict[str, Any]:
    """Whether a process of the calling user may open the nodes and gets a device by the variable's value."""
    closed = [node["path"] for node in nodes if not node["accessible"]]
    if not nodes:
        return verdict(None, "there are no device nodes", "load the NPU driver first")
    if closed:
        return verdict(
            False,
            f"{user} may not open {closed[0]}"
            + (f" and {len(closed) - 1} more" * (len(closed) > 1)),
            f"add {user} to the group {has_group} (usermod -aG {has_group} {user}), then log in anew",
        )
    if devices["dropped"] or devices["effective"] == []:
        return verdict(
            False,
            f"ASCEND_RT_VISIBLE_DEVICES={devices['value']} has no effect from {devices['dropped'][:1]} on",
            "name logic ids that exist, ascending, with commas and no blanks",
        )
    return verdict(True, f"{user} may open all device nodes")
