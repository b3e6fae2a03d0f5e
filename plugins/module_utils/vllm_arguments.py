# SPDX-License-Identifier: Apache-2.0
"""The arguments that the modules about vLLM instances share."""

from __future__ import annotations

from typing import Any, Mapping

from ansible_collections.kvcache.ascend.plugins.module_utils import vllm_api

SPEC: dict[str, dict[str, Any]] = {
    "host": {"type": "str", "default": "127.0.0.1"},
    "port": {"type": "int", "default": 8000},
    "api_key": {"type": "str", "no_log": True},
    "step_timeout": {"type": "float", "default": 5.0},
    "metrics": {"type": "dict", "default": {}},
}


def target(params: Mapping[str, Any]) -> vllm_api.Target:
    return vllm_api.Target(
        params["host"], params["port"], params["api_key"] or "", params["step_timeout"]
    )
