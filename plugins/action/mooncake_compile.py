# SPDX-License-Identifier: Apache-2.0
"""Follows a build on a host and says on the control node how far it is; the module of the same name does the work.

Each look is a short call of the module, so that no connection has to live for an hour. One that fails is tried again: the
job on the host does not need it.
"""

from __future__ import annotations

import time
from typing import Any

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display
from ansible_collections.kvcache.ascend.plugins.module_utils import build_log

LOST_CONNECTIONS = 10
PAUSE_SECONDS = 15

display = Display()


class ActionModule(ActionBase):
    """Runs the module until the job has ended."""

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        super().run(tmp, task_vars)
        arguments = dict(self._task.args)
        interval = int(arguments.get("interval", 30))
        outcome = self._execute_module(module_args=arguments, task_vars=task_vars)
        follow = dict(arguments, state="followed", interval=interval)
        while outcome.get("phase") == "running" and not self._task.check_mode:
            outcome = self.follow(follow, task_vars)
            if outcome.get("phase") == "running":
                self.say(outcome, task_vars)
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
                    f"  {host}: the connection was lost ({error}); the build goes on there"
                )
                time.sleep(PAUSE_SECONDS)
        raise AssertionError("not reached")

    def say(self, outcome: dict[str, Any], task_vars: Any) -> None:
        text = build_log.progress_text(outcome["progress"], outcome["seconds"])
        display.display(f"  {task_vars['inventory_hostname']}: {outcome['step']}: {text}")
