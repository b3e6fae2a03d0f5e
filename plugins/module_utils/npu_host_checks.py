# SPDX-License-Identifier: Apache-2.0
"""Checks of a host's NPUs as a whole: hardware, driver, tool, nodes and versions."""

from __future__ import annotations

from typing import Any, Sequence

from ansible_collections.kvcache.ascend.plugins.module_utils import ascend_versions
from ansible_collections.kvcache.ascend.plugins.module_utils.npu_wanted import (
    Seen,
    Wanted,
    error,
    from_verdict,
    warning,
)


def check_hardware(wanted: Wanted, seen: Seen, host: str) -> list[Any]:
    return from_verdict("hardware_present", "npu_hardware", seen, host, "an NPU on PCI")


def check_driver(wanted: Wanted, seen: Seen, host: str) -> list[Any]:
    """Without hardware no driver can load; that is said once."""
    if seen["verdicts"]["hardware_present"]["ok"] is False:
        return []
    return from_verdict("driver_loaded", "npu_driver", seen, host, "a driver that has come up")


def check_tool(wanted: Wanted, seen: Seen, host: str) -> list[Any]:
    if not seen["device_nodes"]:
        return []
    return from_verdict("tool_usable", "npu_tool", seen, host, "npu-smi info lists the chips")


def check_access(wanted: Wanted, seen: Seen, host: str) -> list[Any]:
    return from_verdict(
        "visible", "npu_access", seen, host, "the calling user can use every device node"
    )


def check_count(wanted: Wanted, seen: Seen, host: str) -> list[Any]:
    """Where npu-smi can't be asked, the nodes tell the number."""
    if wanted.count is None:
        return []
    nodes = [node for node in seen["device_nodes"] if node["kind"] == "chip"]
    count, source = (
        (len(seen["chips"]), "npu-smi lists")
        if seen["chips"]
        else (len(nodes), "/dev has the nodes of")
    )
    if count == wanted.count:
        return []
    return [
        error(
            "npu_count",
            host,
            f"{source} {count} chips",
            f"{wanted.count} chips",
            "find the missing card with lspci -d 19e5: and dmesg, or correct the expected number",
        )
    ]


def check_devices(wanted: Wanted, seen: Seen, host: str) -> list[Any]:
    there = {node["number"] for node in seen["device_nodes"] if node["kind"] == "chip"}
    missing = [device for device in wanted.devices if device not in there]
    if not missing:
        return []
    return [
        error(
            "npu_devices",
            host,
            f"{', '.join(f'/dev/davinci{device}' for device in missing)} "
            + ("is missing" if len(missing) == 1 else "are missing"),
            f"physical ids {_numbers(wanted.devices)}; the host has {_numbers(sorted(there)) or 'none'}",
            "name devices that the host has (npu_info shows phy_id), or find the missing card",
        )
    ]


def _numbers(values: Sequence[int]) -> str:
    """0, 1, 2, 3, 7 as 0-3, 7."""
    parts: list[list[int]] = []
    for value in values:
        if parts and value == parts[-1][-1] + 1:
            parts[-1].append(value)
        else:
            parts.append([value])
    return ", ".join(f"{p[0]}-{p[-1]}" if len(p) > 1 else str(p[0]) for p in parts)


def check_driver_version(wanted: Wanted, seen: Seen, host: str) -> list[Any]:
    running, installed = seen["driver"]["running"], seen["driver"]["installed"]
    found = []
    if running and installed and running.lower() != installed.lower():
        found.append(
            warning(
                "npu_driver_version",
                host,
                f"driver {running} runs while {installed} is on disk",
                "the driver on disk is the one that runs",
                "reboot the host",
            )
        )
    version = running or installed
    if wanted.min_driver is None or version is None:
        return found
    older = ascend_versions.is_older(version, wanted.min_driver)
    if older is None:
        found.append(
            warning(
                "npu_driver_version",
                host,
                f"driver version {version} can't be compared",
                f"driver {wanted.min_driver} or newer",
                "compare it by hand",
            )
        )
    elif older:
        found.append(
            error(
                "npu_driver_version",
                host,
                f"driver {version} is too old",
                f"driver {wanted.min_driver} or newer",
                "upgrade driver and firmware (HDK), then reboot",
            )
        )
    return found


def check_cann(wanted: Wanted, seen: Seen, host: str) -> list[Any]:
    if wanted.cann is None and wanted.min_cann is None:
        return []
    expected = f"CANN {wanted.cann}" if wanted.cann else f"CANN {wanted.min_cann} or newer"
    active = seen["cann"]["active"]
    others = [entry for entry in seen["cann"]["installed"] if entry["package"] == "toolkit"]
    if active is None:
        there = ", ".join(f"{each['version']} in {each['path']}" for each in others)
        return [
            error(
                "npu_cann",
                host,
                f"no CANN toolkit is active ({there})" if there else "there is no CANN toolkit",
                expected,
                "repair the link ascend-toolkit/latest (CANN 8.5 and newer: cann)"
                if there
                else "install the CANN toolkit of this version below /usr/local/Ascend",
            )
        ]
    version = active["version"]
    wrong = wanted.cann is not None and not ascend_versions.belongs_to(version, wanted.cann)
    old = wanted.min_cann is not None and ascend_versions.is_older(version, wanted.min_cann)
    if not wrong and not old:
        return []
    fitting = [each for each in others if _fits(wanted, each["version"])]
    fix = (
        f"make {fitting[0]['path']}, which is there, the active one: by the link cann or ascend-toolkit/latest"
        if fitting
        else "install it beside the present one and make it the active one"
    )
    return [error("npu_cann", host, f"CANN {version} is active ({active['by']})", expected, fix)]


def _fits(wanted: Wanted, version: str | None) -> bool:
    if wanted.cann is not None and not ascend_versions.belongs_to(version, wanted.cann):
        return False
    return wanted.min_cann is None or ascend_versions.is_older(version, wanted.min_cann) is False


def check_compatibility(wanted: Wanted, seen: Seen, host: str) -> list[Any]:
    """The pair of CANN and driver against a table: known not to work is an error, unknown a warning."""
    cann = (seen["cann"]["active"] or {}).get("version")
    driver = seen["driver"]["running"] or seen["driver"]["installed"]
    if not wanted.compatibility or not cann or not driver:
        return []
    rows = [row for row in wanted.compatibility if ascend_versions.belongs_to(cann, row["cann"])]
    # A later row wins over an earlier one, a longer name over a shorter: 8.3.RC1 over 8.3.
    row = max(enumerate(rows), key=lambda pair: (len(pair[1]["cann"]), pair[0]))[1] if rows else {}
    drivers = list(row.get("drivers") or [])
    if any(ascend_versions.belongs_to(driver, each) for each in drivers):
        return []
    expected = f"a driver of {', '.join(drivers)}" if drivers else "a pair that the table knows"
    if any(ascend_versions.belongs_to(driver, each) for each in row.get("fails") or []):
        return [
            error(
                "npu_compatibility",
                host,
                f"CANN {cann} does not work with driver {driver}",
                expected,
                "upgrade driver and firmware (HDK), or use an older release",
            )
        ]
    return [
        warning(
            "npu_compatibility",
            host,
            f"whether CANN {cann} works with driver {driver} is not known",
            expected,
            "look it up in CANN's release notes; if it works, add the pair to the table",
        )
    ]


def check_firmware(wanted: Wanted, seen: Seen, host: str) -> list[Any]:
    """The firmware package against the ranges that the driver on disk names for itself."""
    version = ascend_versions.version_key(seen["firmware"]["installed"])
    ranges = seen["driver"]["compatible_firmware"] or []
    if ranges and isinstance(ranges[0], str):
        ranges = [ranges]
    bounds = [tuple(map(ascend_versions.version_key, each)) for each in ranges if len(each) == 2]
    known = [(low, high) for low, high in bounds if low and high]
    if version is None or not known or any(low <= version <= high for low, high in known):
        return []
    return [
        warning(
            "npu_firmware",
            host,
            f"firmware {seen['firmware']['installed']} is outside what driver "
            f"{seen['driver']['installed']} names",
            " or ".join(f"{each[0]} to {each[-1]}" for each in ranges),
            "install driver and firmware of one HDK",
        )
    ]
