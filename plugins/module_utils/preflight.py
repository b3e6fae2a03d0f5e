# SPDX-License-Identifier: Apache-2.0
"""The preflight: every check on every host, all findings at once. Each check has a name, by which it can be left out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Callable, Iterable

from ansible_collections.kvcache.ascend.plugins.module_utils import (
    finding,
    preflight_network,
    preflight_npus,
    preflight_pool_keys,
    preflight_ports,
    preflight_settings,
    preflight_system,
)
from ansible_collections.kvcache.ascend.plugins.module_utils.preflight_model import (
    DoesNotApply,
    Finding,
    FleetCheck,
    Host,
    HostCheck,
    error,
)

# Questions about all hosts together.
FLEET_CHECKS: dict[str, FleetCheck] = {
    "inventory": preflight_settings.check_inventory,
    "release": preflight_settings.check_release,
    "clock": preflight_network.check_clock,
    "mooncake_versions": preflight_network.check_mooncake_versions,
    "pool_keys": preflight_pool_keys.check_pool_keys,
}
HOST_CHECKS: dict[str, HostCheck] = {
    "reachable": preflight_system.check_reachable,
    "variables": preflight_settings.check_variables,
    "site_settings": preflight_settings.check_site_settings,
    "instances": preflight_settings.check_instances,
    "configuration_keys": preflight_settings.check_configuration_keys,
    "operating_system": preflight_system.check_operating_system,
    "architecture": preflight_system.check_architecture,
    "glibc": preflight_system.check_glibc,
    "python": preflight_system.check_python,
    "mooncake_wheel": preflight_system.check_mooncake_wheel,
    "memory": preflight_system.check_memory,
    "memlock": preflight_system.check_memlock,
    "hugepages": preflight_system.check_hugepages,
    "disk": preflight_system.check_disk,
    "ports_busy": preflight_ports.check_ports_busy,
    "ports_collide": preflight_ports.check_ports_collide,
    "master_name": preflight_network.check_master_name,
    "master_reachable": preflight_network.check_master_reachable,
    **preflight_npus.CHECKS,
}
NAMES = [*FLEET_CHECKS, *HOST_CHECKS]


@dataclass
class Report:
    """What came of a preflight. not_checked: check, reason, and the hosts for which it was not asked."""

    hosts: list[str]
    findings: list[Finding] = field(default_factory=list)
    not_checked: list[dict[str, object]] = field(default_factory=list)
    left_alone: list[str] = field(
        default_factory=list
    )  # hosts of the inventory for which nothing is done

    def count(self, severity: str) -> int:
        return len([each for each in self.findings if each["severity"] == severity])


def run(hosts: list[Host], skip: Iterable[str] = ()) -> Report:
    """Every check on every host. A check that breaks is a finding, too: it must not hide the others."""
    left_out = set(skip)
    report = Report([host.name for host in hosts])
    report.left_alone = preflight_settings.left_alone(hosts)
    silent: dict[tuple[str, str], list[str]] = {}
    for name, fleet_check in FLEET_CHECKS.items():
        if name in left_out:
            silent[name, "preflight_skip"] = report.hosts
        else:
            _ask(report, silent, name, report.hosts, lambda check=fleet_check: check(hosts))  # type: ignore[misc]
    for name, host_check in HOST_CHECKS.items():
        for host in hosts:
            if name in left_out:
                silent.setdefault((name, "preflight_skip"), []).append(host.name)
            else:
                _ask(report, silent, name, [host.name], lambda c=host_check, h=host: c(h))  # type: ignore[misc]
    report.not_checked = [
        {"check": name, "reason": reason, "hosts": names}
        for (name, reason), names in silent.items()
    ]
    return report


def _ask(
    report: Report,
    silent: dict[tuple[str, str], list[str]],
    name: str,
    about: list[str],
    question: Callable[[], list[Finding]],
) -> None:
    try:
        report.findings += question()
    except DoesNotApply as reason:
        silent.setdefault((name, str(reason)), []).extend(about)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as problem:
        report.findings.append(
            error(
                name,
                about[0] if len(about) == 1 else preflight_settings.ALL,
                f"the check {name} could not be made: {type(problem).__name__}: {problem}",
                "values of the types that the roles document",
                f"correct the variables that docs/preflight.md names for it, or leave it out with "
                f"preflight_skip: [{name}]",
            )
        )


def summary(report: Report) -> str:
    """One line that says how it went."""
    errors, warnings = report.count(finding.ERROR), report.count(finding.WARNING)
    hosts = f"{len(report.hosts)} host{'s' * (len(report.hosts) != 1)}"
    if not errors and not warnings:
        return f"preflight: {hosts}, nothing is wrong"
    return (
        f"preflight: {hosts}, {errors} error{'s' * (errors != 1)}, "
        f"{warnings} warning{'s' * (warnings != 1)}"
    )
