# SPDX-License-Identifier: Apache-2.0
"""What is expected of a host's NPUs against what is seen: one small check for each question, each with its fix.

A check gets what npu_observation saw and returns findings, none when all is well or when the question can't be answered;
why it can't be (no driver, a tool that hangs) is the finding of another check.
"""

from __future__ import annotations

from ansible_collections.kvcache.ascend.plugins.module_utils import (
    finding,
    npu_chip_checks,
    npu_host_checks,
)
from ansible_collections.kvcache.ascend.plugins.module_utils.npu_wanted import (
    Check,
    Seen,
    Wanted,
)

CHECKS: dict[str, Check] = {
    "npu_hardware": npu_host_checks.check_hardware,
    "npu_driver": npu_host_checks.check_driver,
    "npu_tool": npu_host_checks.check_tool,
    "npu_access": npu_host_checks.check_access,
    "npu_count": npu_host_checks.check_count,
    "npu_devices": npu_host_checks.check_devices,
    "npu_driver_version": npu_host_checks.check_driver_version,
    "npu_cann": npu_host_checks.check_cann,
    "npu_compatibility": npu_host_checks.check_compatibility,
    "npu_firmware": npu_host_checks.check_firmware,
    "npu_health": npu_chip_checks.check_health,
    "npu_links": npu_chip_checks.check_links,
    "npu_memory": npu_chip_checks.check_memory,
    "npu_processes": npu_chip_checks.check_processes,
}


def compare(wanted: Wanted, seen: Seen, host: str) -> list[dict[str, str]]:
    """All that is not as expected, in the order of CHECKS."""
    return [each for check in CHECKS.values() for each in check(wanted, seen, host)]


def all_well(seen: Seen, host: str) -> dict[str, str]:
    """The finding that nothing is wrong."""
    names = sorted({str(chip["name"]) for chip in seen["chips"]})
    return finding.make(
        "npu_health",
        finding.OK,
        host,
        observed=f"{len(seen['chips'])} chips ({', '.join(names)}), all as expected",
    )
