# SPDX-License-Identifier: Apache-2.0
"""Filters of the roles: thin names for pure functions in module_utils."""

from __future__ import annotations

from ansible_collections.kvcache.ascend.plugins.module_utils import (
    control_files,
    failure,
    finding,
    mooncake_build,
    mooncake_cann,
    mooncake_master_flags,
    mooncake_master_journal,
    mooncake_master_place,
    mooncake_master_settings,
    mooncake_tree,
    mooncake_wheel,
    package_errors,
    pip_errors,
    proc_services,
    site_settings,
    systemd_environment,
)


class FilterModule:
    """Filters for builds of Mooncake, for its master, and for files and failures."""

    def filters(self) -> dict:
        return {
            "finding_text": finding.render,
            "mooncake_build_id": mooncake_build.build_id,
            "mooncake_wheel_problems": mooncake_build.wheel_problems,
            "mooncake_wheel_file_problem": mooncake_wheel.problem,
            "mooncake_wheel_files": mooncake_wheel.usable,
            "mooncake_tree_findings": mooncake_tree.findings,
            "mooncake_cann_findings": mooncake_cann.findings,
            "hidden_from_services": mooncake_tree.hidden_from_services,
            "ca_file_problem": control_files.ca_problem,
            "site_setting_problems": site_settings.problems,
            "public_key_problem": control_files.public_key_problem,
            "known_hosts_problem": control_files.known_hosts_problem,
            "failure_text": failure.text,
            "mooncake_master_endpoint": mooncake_master_place.endpoint,
            "mooncake_master_inventory_problem": mooncake_master_place.inventory_problem,
            "mooncake_master_place_problem": mooncake_master_place.place_problem,
            "mooncake_master_setting_problems": mooncake_master_settings.problems,
            "mooncake_master_arguments": mooncake_master_flags.arguments,
            "mooncake_master_explain": mooncake_master_journal.explain,
            "port_problems": proc_services.port_problems,
            "systemd_environment_lines": systemd_environment.lines,
            "systemd_environment_problems": systemd_environment.problems,
            "package_explain": package_errors.explain_result,
            "package_lock": package_errors.is_locked_result,
            "install_explain": pip_errors.explain_failure,
            "wrapped": finding.wrapped,
        }
