# SPDX-License-Identifier: Apache-2.0
"""Filters that plan a pool: thin names for pure functions in module_utils."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any, Callable, Dict, Union

from ansible.errors import AnsibleFilterError
from ansible_collections.kvcache.ascend.plugins.module_utils import (
    kv_answer,
    kv_layout,
    kv_plan,
)

REFUSED = (kv_layout.ConfigError, kv_plan.PlanError)

# A model's config.json: its content, or its path on the control node.
Source = Union[Dict[str, Any], str]


def read_config(source: Source) -> dict[str, Any]:
    """Return the content of a config.json; ConfigError says what is wrong with the file."""
    if isinstance(source, dict):
        return source
    if not source:
        raise kv_layout.ConfigError(
            "model_config is empty: give the path of the model's config.json"
        )
    try:
        content = json.loads(Path(source).expanduser().read_text(encoding="utf-8"))
    except OSError as error:
        raise kv_layout.ConfigError(f"{source} on the control node: {error.strerror}") from error
    except ValueError as error:
        raise kv_layout.ConfigError(f"{source} is no JSON: {error}") from error
    if not isinstance(content, dict):
        raise kv_layout.ConfigError(f"{source} holds no object: it is no config.json of a model")
    return content


def bytes_per_token(
    source: Source,
    tensor_parallel_size: int = 1,
    kv_cache_dtype: str = "auto",
    keyed_by_rank: bool = True,
) -> dict[str, Any]:
    layout = kv_layout.read(read_config(source), tensor_parallel_size, kv_cache_dtype)
    return kv_answer.layout_facts(layout, keyed_by_rank)


def capacity(source: Source, **cache: Any) -> dict[str, Any]:
    return kv_answer.hbm_facts(kv_answer.capacity(read_config(source), **cache))


def plan(source: Source, **options: Any) -> dict[str, Any]:
    return kv_answer.plan(read_config(source), **options)


def plan_problem(source: Source, **options: Any) -> str:
    """Return why there is no such plan; empty when there is one."""
    try:
        plan(source, **options)
    except REFUSED as error:
        return str(error)
    return ""


def refusing(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a refused input Ansible's own kind of error, with the same words."""

    @functools.wraps(function)
    def run(*arguments: Any, **options: Any) -> Any:
        try:
            return function(*arguments, **options)
        except REFUSED as error:
            raise AnsibleFilterError(str(error)) from error

    return run


class FilterModule:
    """Filters for the plan of a pool."""

    def filters(self) -> dict:
        return {
            "kv_bytes_per_token": refusing(bytes_per_token),
            "kv_capacity": refusing(capacity),
            "kv_plan": refusing(plan),
            "kv_plan_problem": plan_problem,
            "kv_plan_text": kv_answer.render,
        }
