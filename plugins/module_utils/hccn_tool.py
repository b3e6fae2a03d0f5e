# Copyright The kvcache.ascend authors
# SPDX-License-Identifier: Apache-2.0
"""Answers of hccn_tool (the RoCE port of an NPU) and the file hccn.conf as dicts.

Shapes: output of hccn_tool of drivers 23.x to 25.x. An empty output is an answer, too: no address
is set. It gives None, never "down". The device number is the physical id.
"""

from __future__ import annotations

import re
from typing import Any, Callable

from ansible_collections.kvcache.ascend.plugins.module_utils import npu_smi_text as text

_DEVICE_PREFIX = re.compile(r"\A\s*\[devid\s+(?P<device>[0-9]{1,9})\]", re.IGNORECASE)
_GATEWAY = re.compile(
    r"\s*default gateway\s*:\s*(?P<gateway>[^\s,]*)\s*(?:,\s*Iface\s*:\s*(?P<iface>\S*))?",
    re.IGNORECASE,
)
_LANE = re.compile(r"(?P<side>tx|rx) power(?P<lane>[0-9]{1,3})\Z")
_MEASURE = re.compile(r"(?P<number>-?[0-9]{1,9}(?:\.[0-9]{1,9})?)\s*(?P<unit>[A-Za-z]*)\Z")
_CONF_KEY = re.compile(r"(?P<name>[A-Za-z][A-Za-z0-9_]*?)_(?P<device>[0-9]{1,9})\Z")
# mind-cluster counts these as healthy: 0 (Success) and 6 (Init).
_HEALTHY = frozenset(["success", "init"])


def _pairs(output: str) -> dict[str, str]:
    """The first value of each key, keys in lower case, without a `[devid N]` in front."""
    found: dict[str, str] = {}
    for line in text.lines(output):
        pair = text.pair(_DEVICE_PREFIX.sub("", line))
        if pair:
            found.setdefault(pair.name, pair.value)
    return found


def _value(found: dict[str, str], key: str) -> str | None:
    return text.text_or_none(found.get(key, ""))


def parse_ip(output: str) -> dict[str, Any]:
    """`-ip -g`: ipaddr and netmask; both None if no address is set."""
    found = _pairs(output)
    return {"ipaddr": _value(found, "ipaddr"), "netmask": _value(found, "netmask")}


def parse_link(output: str) -> dict[str, Any]:
    """`-link -g`: link_status (UP, DOWN, None for no answer)."""
    status = _value(_pairs(output), "link status")
    return {"link_status": status}


def parse_net_health(output: str) -> dict[str, Any]:
    """`-net_health -g`: net_health as printed, and healthy (None for no answer).

    If the output holds the answers of several calls, they are under `outputs`, in order.
    """
    answers = []
    for line in text.lines(output):
        pair = text.pair(_DEVICE_PREFIX.sub("", line))
        if pair and pair.name == "net health status":
            answers.append(_net_health(text.text_or_none(pair.value)))
    if len(answers) > 1:
        return {"outputs": answers}
    return answers[0] if answers else _net_health(None)


def _net_health(state: str | None) -> dict[str, Any]:
    return {"net_health": state, "healthy": None if state is None else state.lower() in _HEALTHY}


def parse_gateway(output: str) -> dict[str, Any]:
    """`-gateway -g`: gateway (an address) and iface; both None if none is set."""
    for line in text.lines(output):
        match = _GATEWAY.match(_DEVICE_PREFIX.sub("", line))
        if match:
            return {
                "gateway": text.text_or_none(match.group("gateway")),
                "iface": text.text_or_none(match.group("iface") or ""),
            }
    return {"gateway": None, "iface": None}


def parse_lldp(output: str) -> dict[str, Any]:
    """`-lldp -g`: ifname (the port of the switch), and all TLVs: name to lines, as printed."""
    tlvs: dict[str, list[str]] = {}
    name: str | None = None
    for line in text.lines(output):
        plain = _DEVICE_PREFIX.sub("", line).strip()
        words = plain.split()
        if words and words[-1].upper() == "TLV":
            name = " ".join(words[:-1])
            tlvs.setdefault(name, [])
        elif name is not None and plain:
            tlvs[name].append(plain)
    return {"ifname": _value(_pairs(output), "ifname"), "tlvs": tlvs}


def parse_link_stat(output: str) -> dict[str, Any]:
    """`-link_stat -g`: device (physical id), link_up_count, current_time, records, last_state.

    records are [time, UP or DOWN] as printed, the newest first; last_state is that of the newest.
    Times are of the device's clock, without a zone.
    """
    devices = [match for match in map(_DEVICE_PREFIX.match, text.lines(output)) if match]
    found = _pairs(output)
    records: list[list[str]] = []
    for line in text.lines(output):
        parts = _DEVICE_PREFIX.sub("", line).rsplit(None, 2)
        if len(parts) == 3 and parts[1].upper() == "LINK" and parts[2].upper() in ("UP", "DOWN"):
            records.append([parts[0].strip(), parts[2].upper()])
    return {
        "device": int(devices[0].group("device")) if devices else None,
        "link_up_count": text.integer(found.get("link up count", "")),
        "current_time": _value(found, "current time"),
        "records": records,
        "last_state": records[0][1] if records else None,
    }


def parse_optical(output: str) -> dict[str, Any]:
    """`-optical -g`: the transceiver. Powers in mW per lane, in the order of the lanes.

    A figure in another unit than its name says is None.
    """
    found = _pairs(output)
    return {
        "present": _value(found, "present"),
        "temperature_c": _measure(found.get("temperature", ""), "c"),
        "vendor": _value(found, "vendor name"),
        "vcc_mv": _measure(found.get("vcc", ""), "mv"),
        "tx_power_mw": _lanes(found, "tx"),
        "rx_power_mw": _lanes(found, "rx"),
        "tx_los": _value(found, "tx los flag"),
        "rx_los": _value(found, "rx los flag"),
    }


def _lanes(found: dict[str, str], side: str) -> list[float | None]:
    lanes = {}
    for key, value in found.items():
        match = _LANE.match(key)
        if match and match.group("side") == side:
            lanes[int(match.group("lane"))] = _measure(value, "mw")
    return [lanes[lane] for lane in sorted(lanes)]


def _measure(raw: str, unit: str) -> int | float | None:
    match = _MEASURE.match(raw.strip())
    if match is None or match.group("unit").lower() != unit:
        return None
    return text.number(match.group("number"))


def parse_fec(output: str) -> dict[str, Any]:
    """`-fec -g`: fec_mode as printed."""
    return {"fec_mode": _value(_pairs(output), "fec mode")}


def parse_conf(content: str) -> dict[str, Any]:
    """hccn.conf: devices, one dict per physical id, in order, with its keys as in the file.

    `address_0=...` becomes {"device": 0, "address": ...}. Keys of no device are under `settings`,
    lines that are no setting under `unparsed`.
    """
    devices: dict[int, dict[str, Any]] = {}
    settings: dict[str, str | None] = {}
    unparsed: list[str] = []
    for line in text.lines(content):
        key, equals, value = line.strip().partition("=")
        match = _CONF_KEY.match(key.strip())
        if not line.strip() or line.strip().startswith("#"):
            continue
        if not equals:
            unparsed.append(line.strip())
        elif match:
            device = int(match.group("device"))
            entry = devices.setdefault(device, {"device": device})
            entry[match.group("name")] = text.text_or_none(value)
        else:
            settings[key.strip()] = text.text_or_none(value)
    result: dict[str, Any] = {"devices": [devices[device] for device in sorted(devices)]}
    if settings:
        result["settings"] = settings
    if unparsed:
        result["unparsed"] = unparsed
    return result


PARSERS: dict[str, Callable[[str], dict[str, Any]]] = {
    "-ip": parse_ip,
    "-link": parse_link,
    "-net_health": parse_net_health,
    "-gateway": parse_gateway,
    "-lldp": parse_lldp,
    "-link_stat": parse_link_stat,
    "-optical": parse_optical,
    "-fec": parse_fec,
}
