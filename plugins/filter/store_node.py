# SPDX-License-Identifier: Apache-2.0
"""Filters of the role store_node: thin names for pure functions in module_utils."""

from __future__ import annotations

from ansible_collections.kvcache.ascend.plugins.module_utils import store_node, store_node_journal


class FilterModule:
    """Filters for store nodes."""

    def filters(self) -> dict:
        return {
            "store_node_problems": store_node.problems,
            "store_node_arguments": store_node.arguments,
            "store_node_segments": store_node.segments,
            "store_node_unknown_flags": store_node.unknown_flags,
            "store_node_explain": store_node_journal.explain,
        }
