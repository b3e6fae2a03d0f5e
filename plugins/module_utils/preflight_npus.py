# SPDX-License-Identifier: Apache-2.0
"""Checks of NPUs: those of npu_requirements with what release and instances expect, and two of the preflight's own."""

from __future__ import annotations

from typing import Any

from ansible_collections.kvcache.ascend.plugins.module_utils import npu_requirements, sizes
from ansible_collections.kvcache.ascend.plugins.module_utils.npu_wanted import Wanted
from ansible_collections.kvcache.ascend.plugins.module_utils.preflight_model import (
    INSTANCE_GROUP,
    DoesNotApply,
    Finding,
    Host,
    HostCheck,
    error,
    seen_of,
    spec_of,
)

OWN_UNITS = ("vllm@*.service",)


def npu_of(host: Host) -> dict[str, Any]:
    """What was seen of a host's NPUs, where NPUs are expected."""
    if host.spec and host.platform == "cpu":
        raise DoesNotApply("platform is cpu")
    spec_of(host)
    if not host.runs_instances:
        raise DoesNotApply(f"it is not in the group {INSTANCE_GROUP}")
    seen_of(host)
    if host.npu is None:
        raise DoesNotApply("its NPUs could not be looked at")
    return host.npu


def claimed(host: Host) -> list[int]:
    """Logic ids that the host's instances name."""
    return sorted({device for each in host.instances() for device in each.devices})


def physical(seen: dict[str, Any], logic_ids: list[int]) -> list[int]:
    """The physical ids of chips with these logic ids, as far as they are known."""
    by_logic = {chip["logic_id"]: chip["phy_id"] for chip in seen["chips"]}
    return [by_logic[each] for each in logic_ids if by_logic.get(each) is not None]


def wanted(host: Host, seen: dict[str, Any]) -> Wanted:
    """What release, site and instances expect of the NPUs."""
    spec = spec_of(host)
    devices = claimed(host)
    least = host.get("preflight_npu_min_free_memory")
    policy = host.get("preflight_npu_health", "ok")
    return Wanted(
        count=host.get("preflight_npu_count") or None,
        devices=physical(seen, devices),
        min_driver=host.get("preflight_npu_min_driver") or (spec["driver"] or {}).get("min"),
        min_cann=(spec["cann"] or {}).get("min"),
        health=None if policy == "any" else policy,
        links_up=bool(host.get("preflight_npu_links_up", True)),
        min_free_memory_mb=sizes.to_bytes(least) // 1024**2 if least else None,
        # Without instances no chip is claimed yet, and nobody else's process is in the way.
        foreign_processes=bool(host.get("preflight_npu_foreign_processes", False)) or not devices,
        own_units=OWN_UNITS,
        compatibility=host.get("__preflight_drivers", []),
    )


def _check(name: str) -> HostCheck:
    def check(host: Host) -> list[Finding]:
        seen = npu_of(host)
        return npu_requirements.CHECKS[name](wanted(host, seen), seen, host.name)

    return check


def check_series(host: Host) -> list[Finding]:
    """The published wheel of vllm-ascend holds operators for one series of NPU."""
    soc = spec_of(host)["soc"]
    there = {each["series"] for each in npu_of(host)["hardware"] if each["series"]}
    if not soc or not there or there <= set(soc):
        return []
    return [
        error(
            "npu_series",
            host.name,
            f"it has NPUs of series {', '.join(sorted(there))}",
            f"series {', '.join(soc)}, for which the wheel of vllm-ascend "
            f"{spec_of(host)['vllm_ascend']['version']} is compiled",
            "choose a release for this series, or build vllm-ascend from source with its SOC_VERSION",
        )
    ]


def check_instance_devices(host: Host) -> list[Finding]:
    """Devices are logic ids, as ASCEND_RT_VISIBLE_DEVICES takes them; one that does not exist ends in error 107001."""
    seen = npu_of(host)
    if not host.instances():
        raise DoesNotApply("it has no vllm_instances")
    there = _logic_ids(seen)
    found = []
    for instance in host.instances():
        missing = [str(device) for device in instance.devices if device not in there]
        if missing:
            have = f"0 to {max(there)}" if there else "none"
            found.append(
                error(
                    "instance_devices",
                    host.name,
                    f"instance {instance.name} names NPU {', '.join(missing)}, which the host does not have",
                    f"logic ids of the host's chips ({have})",
                    "correct devices of the instance (npu-smi info -m shows the chip logic ids)",
                )
            )
    return found


def _logic_ids(seen: dict[str, Any]) -> set[int]:
    """Known from npu-smi; else the driver counts its chips from 0."""
    known = {chip["logic_id"] for chip in seen["chips"] if chip["logic_id"] is not None}
    if known:
        return known
    nodes = [node for node in seen["device_nodes"] if node["kind"] == "chip"]
    return set(range(len(seen["chips"]) or len(nodes)))


CHECKS: dict[str, HostCheck] = {
    **{name: _check(name) for name in npu_requirements.CHECKS},
    "npu_series": check_series,
    "instance_devices": check_instance_devices,
}
