# SPDX-License-Identifier: Apache-2.0
"""Instances as they would be: what they need on their host, and what is wrong with them, before any of them is started."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from ansible_collections.kvcache.ascend.plugins.module_utils import vllm_plan

_MODEL = "there is no model at {0}. Fix: bring it, or correct model."
_DEVICE = (
    "there is no NPU {1} ({0}). Fix: correct devices (npu-smi info -l lists them), "
    "or see why the driver does not show it."
)
_DEVICE_PATH = "/dev/davinci"


def plans(alternatives: Sequence[Mapping[str, Any]], settings: Mapping[str, Any]) -> list[dict]:
    """Return ``name`` and ``plan`` (that of `vllm_plan.make`) of each alternative, which has ``name`` and ``instances``."""
    return [
        {"name": each["name"], "plan": vllm_plan.make(each["instances"], settings)}
        for each in alternatives
    ]


def paths(instances: Sequence[Mapping[str, Any]], platform: str) -> list[str]:
    """Return what must be on the host for planned instances: folders of models, and device nodes."""
    models = [each["model"] for each in instances if each["model"].startswith("/")]
    devices = [number for each in instances for number in each["devices"]]
    nodes = [f"{_DEVICE_PATH}{number}" for number in devices] if platform == "npu" else []
    return list(dict.fromkeys([*models, *nodes]))


def missing(absent: Sequence[str]) -> list[str]:
    """Return a problem for each of these paths, which are not on the host."""
    return [
        (_DEVICE if path.startswith(_DEVICE_PATH) else _MODEL).format(
            path, path[len(_DEVICE_PATH) :]
        )
        for path in absent
    ]


def problems(
    planned: Sequence[Mapping[str, Any]], platform: str, absent: Sequence[str], help_text: str
) -> list[str]:
    """Return all that is wrong with the alternatives, each text with the alternative's name.

    absent: those of their `paths` that are not on the host; help_text: that of ``vllm serve``, empty when it can't be had.
    """
    return [
        f"{each['name']}: {text}"
        for each in planned
        for text in _of(each["plan"], platform, absent, help_text)
    ]


def _of(plan: Mapping[str, Any], platform: str, absent: Sequence[str], help_text: str) -> list[str]:
    here = [path for path in paths(plan["instances"], platform) if path in absent]
    return [
        *plan["problems"],
        *missing(here),
        *vllm_plan.unknown_options(plan["instances"], help_text),
    ]
