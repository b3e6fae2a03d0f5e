# SPDX-License-Identifier: Apache-2.0
"""Filters of the role python_stack: thin names for pure functions in module_utils, and the locks of the role release."""

from __future__ import annotations

from typing import Any

import yaml
from ansible_collections.kvcache.ascend.plugins.filter.release import FILES, LOADER
from ansible_collections.kvcache.ascend.plugins.module_utils import (
    python_stack,
    python_stack_plan,
)

LOCKS = FILES / "locks"


def plan(
    spec: dict[str, Any],
    platform: dict[str, str],
    lock_dir: str = "",
    vllm_build: str = "wheel",
    vllm_wheel: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return what to install on a platform: from a lock in `lock_dir`, or else from one of the collection's own."""
    text = (LOCKS / "index.yml").read_text(encoding="utf-8")
    index = yaml.load(text, Loader=LOADER)["locks"]
    folders = [lock_dir, str(LOCKS)]
    empty_vllm = (vllm_wheel or {}) if vllm_build == "empty" else None
    return python_stack_plan.plan(spec, platform, folders, index, empty_vllm)


def place(stacks: list[dict[str, Any]], wanted: str) -> str:
    """Return the place of the newest usable stack whose id or place is `wanted`; empty when there is none."""
    found = python_stack.chosen(stacks, wanted)
    return found["place"] if found else ""


class FilterModule:
    """Filters for stacks of Python packages."""

    def filters(self) -> dict:
        return {
            "python_stack_plan": plan,
            "python_stack_place": place,
            "python_stack_surplus": python_stack.surplus,
            "python_stack_wheel_problem": python_stack_plan.wheel_problem,
            "python_stack_archive": python_stack_plan.archive,
            "python_stack_instance_problem": python_stack_plan.instance_problem,
        }
