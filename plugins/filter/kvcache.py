# SPDX-License-Identifier: Apache-2.0
"""Filters of the roles mooncake and mooncake_master: thin names for pure functions in module_utils."""

from __future__ import annotations

from ansible_collections.kvcache.ascend.plugins.module_utils import (
    finding,
    mooncake_build,
    mooncake_master_flags,
    mooncake_master_journal,
    pip_errors,
    proc_services,
    systemd_environment,
)


class FilterModule:
    """Filters for builds of Mooncake and for its master."""

    def filters(self) -> dict:
        return {
            "finding_text": finding.render,
            "mooncake_build_id": mooncake_build.build_id,
            "mooncake_wheel_problems": mooncake_build.wheel_problems,
            "mooncake_master_flag_problems": mooncake_master_flags.problems,
            "mooncake_master_arguments": mooncake_master_flags.arguments,
            "mooncake_master_explain": mooncake_master_journal.explain,
            "port_problems": proc_services.port_problems,
            "systemd_environment_lines": systemd_environment.lines,
            "systemd_environment_problems": systemd_environment.problems,
            "pip_explain": pip_errors.explain,
        }
