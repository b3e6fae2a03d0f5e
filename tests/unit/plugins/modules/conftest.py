# SPDX-License-Identifier: Apache-2.0
"""Runs a module as Ansible does: arguments in, JSON out."""

from __future__ import annotations

import json
from typing import Any, Callable

import pytest
from ansible.module_utils.testing import patch_module_args

RunModule = Callable[..., "dict[str, Any]"]


@pytest.fixture
def run_module(capsys: pytest.CaptureFixture[str]) -> RunModule:
    def run(module: Any, arguments: dict[str, Any], check_mode: bool = False) -> dict[str, Any]:
        arguments = {**arguments, "_ansible_check_mode": check_mode}
        with patch_module_args(arguments), pytest.raises(SystemExit) as ended:
            module.main()
        result = json.loads(capsys.readouterr().out)
        assert bool(ended.value.code) == bool(result.get("failed", False))
        return result

    return run
