# SPDX-License-Identifier: Apache-2.0
"""Arguments of the modules that look at NPUs: their types, what is wrong with them, and the options that they mean."""

from __future__ import annotations

import math
from typing import Any, Mapping

from ansible_collections.kvcache.ascend.plugins.module_utils import ascend_versions
from ansible_collections.kvcache.ascend.plugins.module_utils.npu_observation import Options
from ansible_collections.kvcache.ascend.plugins.module_utils.npu_wanted import Wanted

MAXIMUM_SECONDS = 3600

LOOK: dict[str, dict[str, Any]] = {
    "timeout": {"type": "float", "default": 20.0},
    "links": {"type": "bool", "default": True},
    "processes": {"type": "bool", "default": True},
    "visible_devices": {"type": "str"},
    "cann_roots": {"type": "list", "elements": "path", "default": ["/usr/local/Ascend"]},
    "python": {"type": "path"},
    "python_set_env": {"type": "path"},
    "python_timeout": {"type": "float", "default": 120.0},
}

EXPECT: dict[str, dict[str, Any]] = {
    "count": {"type": "int"},
    "devices": {"type": "list", "elements": "int", "default": []},
    "min_driver": {"type": "str"},
    "cann": {"type": "str"},
    "min_cann": {"type": "str"},
    "health": {"type": "str", "choices": ["ok", "warning", "any"], "default": "ok"},
    "links_up": {"type": "bool", "default": False},
    "min_free_memory_mb": {"type": "int"},
    "foreign_processes": {"type": "bool", "default": True},
    "own_units": {"type": "list", "elements": "str", "default": []},
    "compatibility": {
        "type": "list",
        "elements": "dict",
        "default": [],
        "options": {
            "cann": {"type": "str", "required": True},
            "drivers": {"type": "list", "elements": "str", "default": []},
            "fails": {"type": "list", "elements": "str", "default": []},
        },
    },
}


def mistakes(params: Mapping[str, Any]) -> list[str]:
    """What is wrong with the arguments, a sentence each."""
    found = [
        f"{name} {params[name]:g} is no number of seconds above 0, up to {MAXIMUM_SECONDS}."
        for name in ("timeout", "python_timeout")
        if not (math.isfinite(params[name]) and 0 < params[name] <= MAXIMUM_SECONDS)
    ]
    if params["python_set_env"] and not params["python"]:
        found.append("python_set_env needs python: nothing else is run with it.")
    return found


def wanted_mistakes(params: Mapping[str, Any]) -> list[str]:
    """What is wrong with what is expected, a sentence each."""
    found = [
        f"{name} {params[name]!r} is no version. Expected something like {example}."
        for name, example in (("min_driver", "25.2.0"), ("cann", "8.5"), ("min_cann", "8.3.RC1"))
        if params[name] is not None and ascend_versions.version_key(params[name]) is None
    ]
    found += [
        f"{name} {params[name]} is below 0."
        for name in ("count", "min_free_memory_mb")
        if params[name] is not None and params[name] < 0
    ]
    if params["links_up"] and not params["links"]:
        found.append("links_up needs links: the ports are not asked otherwise.")
    if not params["foreign_processes"] and not params["processes"]:
        found.append("foreign_processes needs processes: they are not read otherwise.")
    return found


def wanted(params: Mapping[str, Any]) -> Wanted:
    return Wanted(
        count=params["count"],
        devices=tuple(params["devices"]),
        min_driver=params["min_driver"],
        cann=params["cann"],
        min_cann=params["min_cann"],
        health=None if params["health"] == "any" else params["health"],
        links_up=params["links_up"],
        min_free_memory_mb=params["min_free_memory_mb"],
        foreign_processes=params["foreign_processes"],
        own_units=tuple(params["own_units"]),
        compatibility=tuple(params["compatibility"]),
    )


def options(params: Mapping[str, Any]) -> Options:
    return Options(
        seconds=params["timeout"],
        links=params["links"],
        processes=params["processes"],
        visible_devices=params["visible_devices"],
        cann_roots=tuple(params["cann_roots"]),
        python=params["python"],
        python_set_env=params["python_set_env"],
        python_seconds=params["python_timeout"],
    )
