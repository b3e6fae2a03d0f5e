# SPDX-License-Identifier: Apache-2.0
"""Filters for Mooncake from source: thin names for pure functions in module_utils."""

from __future__ import annotations

from ansible_collections.kvcache.ascend.plugins.module_utils import (
    build_log,
    cann_toolkit,
    mooncake_source,
    mooncake_steps,
)


class FilterModule:
    """Filters for builds of Mooncake from source."""

    def filters(self) -> dict:
        return {
            "build_duration": build_log.duration_text,
            "cann_toolkit_findings": cann_toolkit.findings,
            "mooncake_builds_to_remove": mooncake_source.builds_to_remove,
            "mooncake_cmake_options": mooncake_source.cmake_options,
            "mooncake_elect": mooncake_source.elect,
            "mooncake_jobs": mooncake_source.jobs,
            "mooncake_needs_cann": mooncake_source.needs_cann,
            "mooncake_needs_go": mooncake_source.needs_go,
            "mooncake_os_family": mooncake_source.family,
            "mooncake_release_facts": mooncake_source.release_facts,
            "mooncake_source_inputs": mooncake_source.inputs,
            "mooncake_source_packages": mooncake_source.packages,
            "mooncake_steps": mooncake_steps.steps,
            "mooncake_steps_environment": mooncake_steps.environment,
        }
