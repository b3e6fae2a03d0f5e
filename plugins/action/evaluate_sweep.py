# SPDX-License-Identifier: Apache-2.0
"""Follows a sweep on a host and says on the control node how far it is; the module of the same name does the work.

Each look is a short call of the module, as with a build.
"""

from __future__ import annotations

import time
from typing import Any

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

LOST_CONNECTIONS = 10
PAUSE_SECONDS = 15

display = Display()


class ActionModule(ActionBase):
    """Runs the module until the job has ended."""

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        super().run(tmp, task_vars)
        arguments = dict(self._task.args)
        outcome = self._execute_module(module_args=arguments, task_vars=task_vars)
        follow = dict(arguments, state="followed")
        is_look = arguments.get("state") == "followed"
        while outcome.get("phase") == "running" and not (is_look or self._task.check_mode):
            outcome = self.follow(follow, task_vars)
            if outcome.get("phase") == "running":
                variant = arguments["plan"].get("variant")
                display.display(f"  {variant}: {outcome['progress_text']}")
        return outcome

    def follow(self, arguments: dict[str, Any], task_vars: Any) -> dict[str, Any]:
        for attempt in range(LOST_CONNECTIONS):
            try:
                return self._execute_module(module_args=arguments, task_vars=task_vars)
            except AnsibleConnectionFailure as error:
                if attempt == LOST_CONNECTIONS - 1:
                    raise
                host = task_vars["inventory_hostname"]
                display.display(
                    f"  {host}: the connection was lost ({error}); the sweep goes on there"
                )
                time.sleep(PAUSE_SECONDS)
        raise AssertionError("not reached")
