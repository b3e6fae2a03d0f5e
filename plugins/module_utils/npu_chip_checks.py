# SPDX-License-Identifier: Apache-2.0
"""Checks of each chip: state, RoCE port, memory, processes."""

from __future__ import annotations

import fnmatch
from typing import Any, Mapping

from ansible_collections.kvcache.ascend.plugins.module_utils.npu_verdicts import HEALTH, chip_name
from ansible_collections.kvcache.ascend.plugins.module_utils.npu_wanted import (
    Seen,
    Wanted,
    error,
    wanted_chips,
    warning,
)


def check_health(wanted: Wanted, seen: Seen, host: str) -> list[Any]:
    """A chip that nobody asked for may be sick, but not unnoticed."""
    if wanted.health is None:
        return []
    accepted = HEALTH[:1] if wanted.health == "ok" else HEALTH[:2]
    chosen = [(chip["npu_id"], chip["chip_id"]) for chip in wanted_chips(wanted, seen)]
    found = []
    for chip in seen["chips"]:
        is_chosen = (chip["npu_id"], chip["chip_id"]) in chosen
        if chip["health"] == "OK":
            continue
        codes = f", codes {' '.join(chip['error_codes'])}" if chip["error_codes"] else ""
        what = f": {chip['error_information'][0]}" if chip["error_information"] else ""
        make = warning if chip["health"] in accepted or not is_chosen else error
        found.append(
            make(
                "npu_health",
                host,
                f"{chip_name(chip)} is in state {chip['health']}{codes}{what}",
                f"OK{' or Warning' if len(accepted) > 1 else ''}",
                "look the codes up in the manual of black box error codes; reset the card or replace it",
            )
        )
    return found


def check_links(wanted: Wanted, seen: Seen, host: str) -> list[Any]:
    if not wanted.links_up or seen["links"] is None:
        return []
    chosen = {chip["phy_id"] for chip in wanted_chips(wanted, seen)}
    links = [
        link for link in seen["links"] if link["device"] in chosen and link["applies"] is not False
    ]
    unasked = [link for link in links if link["problem"]]
    found = []
    if unasked:
        devices = ", ".join(str(link["device"]) for link in unasked)
        found.append(
            warning(
                "npu_links",
                host,
                f"the RoCE ports of devices {devices} could not be asked: {unasked[0]['problem']}",
                "hccn_tool tells the state of every port",
                "run hccn_tool -i <device> -link -g by hand as root",
            )
        )
    for link in links:
        if not link["problem"]:
            found += _link_findings(link, host)
    return found


def _link_findings(link: Mapping[str, Any], host: str) -> list[Any]:
    port = f"the RoCE port of device {link['device']}"
    if link["state"] != "UP":
        state = link["state"] or "without a state"
        return [
            error(
                "npu_links",
                host,
                f"{port} is {state}",
                "UP",
                f"check cable, module and switch port (hccn_tool -i {link['device']} -optical -g)",
            )
        ]
    if link["address"] is None:
        return [
            error(
                "npu_links",
                host,
                f"{port} has no address",
                "an IP address on every port",
                f"hccn_tool -i {link['device']} -ip -s address <address> netmask <netmask>",
            )
        ]
    found = []
    if link["net_healthy"] is False:
        found.append(
            error(
                "npu_links",
                host,
                f"{port} fails its network check: {link['net_health']}",
                "Success or Init",
                "check gateway and detect address (hccn_tool -gateway -g, -netdetect -g), and the switch",
            )
        )
    if link["agrees_with_conf"] is False:
        conf = link["configured_address"] or "no address"
        found.append(
            warning(
                "npu_links",
                host,
                f"{port} has {link['address']}, /etc/hccn.conf has {conf} for it",
                "the same, or it changes with the next boot",
                "write the address that is right into /etc/hccn.conf",
            )
        )
    return found


def check_memory(wanted: Wanted, seen: Seen, host: str) -> list[Any]:
    if wanted.min_free_memory_mb is None:
        return []
    return [
        error(
            "npu_memory",
            host,
            f"{chip_name(chip)} has {chip['memory_free_mb']} of {chip['memory_total_mb']} MB free",
            f"{wanted.min_free_memory_mb} MB",
            "stop what holds it (npu-smi info lists processes); a leftover worker keeps its memory",
        )
        for chip in wanted_chips(wanted, seen)
        if chip["memory_free_mb"] is not None and chip["memory_free_mb"] < wanted.min_free_memory_mb
    ]


def check_processes(wanted: Wanted, seen: Seen, host: str) -> list[Any]:
    if wanted.foreign_processes or not seen["processes"]:
        return []
    by_key = {(chip["npu_id"], chip["chip_id"]): chip for chip in wanted_chips(wanted, seen)}
    found = []
    for process in seen["processes"]:
        chip = by_key.get((process["npu_id"], process["chip_id"]))
        unit = process["unit"]
        if chip is None or any(fnmatch.fnmatch(unit or "", each) for each in wanted.own_units):
            continue
        name = process["name"] or "a hidden process"
        found.append(
            error(
                "npu_processes",
                host,
                f"{chip_name(chip)} is used by {name} (pid {process['pid']}, {unit or 'no systemd unit'})",
                "no process of others",
                "stop it, or give the instance other devices",
            )
        )
    return found
