# SPDX-License-Identifier: Apache-2.0
"""Runs the module preflight_info and notes when it was asked and answered, so that clocks can be compared."""

from __future__ import annotations

import time
from typing import Any

from ansible.plugins.action import ActionBase


class ActionModule(ActionBase):
    _supports_check_mode = True

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        super().run(tmp, task_vars)
        asked = time.time()
        result = self._execute_module(
            module_name="kvcache.ascend.preflight_info",
            module_args=dict(self._task.args),
            task_vars=task_vars,
        )
        if "host" in result:
            clock = {"host": result["host"]["time"], "asked": asked, "answered": time.time()}
            result["host"]["clock"] = clock
        return result
