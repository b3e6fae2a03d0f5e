# SPDX-License-Identifier: Apache-2.0
"""Filters of the role vllm: thin names for pure functions in module_utils."""

from __future__ import annotations

from ansible_collections.kvcache.ascend.plugins.module_utils import (
    vllm_alternatives,
    vllm_journal,
    vllm_plan,
    vllm_service,
)


class FilterModule:
    """Filters for vLLM instances."""

    def filters(self) -> dict:
        return {
            "vllm_plan": vllm_plan.make,
            "vllm_alternatives": vllm_alternatives.plans,
            "vllm_alternative_problems": vllm_alternatives.problems,
            "vllm_missing": vllm_alternatives.missing,
            "vllm_paths": vllm_alternatives.paths,
            "vllm_leftovers": vllm_plan.leftovers,
            "vllm_unknown_options": vllm_plan.unknown_options,
            "vllm_peers": vllm_plan.peers,
            "vllm_state": vllm_service.state,
            "vllm_pending": vllm_service.pending,
            "vllm_obstacles": vllm_service.obstacles,
            "vllm_report": vllm_service.report,
            "vllm_explain": vllm_journal.explain,
        }
