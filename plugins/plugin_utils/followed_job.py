# SPDX-License-Identifier: Apache-2.0
"""What actions share that follow a job on a host: the module of the same name does the work, and says how far it is.

Each look is a short call of the module, so that no connection has to live for an hour. One that fails is tried again: the
job on the host does not need it.
"""

from __future__ import annotations

import time
from typing import Any

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

LOST_CONNECTIONS = 10

display = Display()


class FollowedJob(ActionBase):
    """Runs the module until the job has ended, with a line of progress for each look."""

    JOB = "job"
    """What goes on when the connection is lost, in the words of a message."""

    pause_seconds: float = 15
    """Between two attempts to reach a host again."""

    def progress(self, outcome: dict[str, Any], host: str) -> str:
        """Return the line that says how far the job is."""
        raise NotImplementedError

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        super().run(tmp, task_vars)
        arguments = dict(self._task.args)
        outcome = self._execute_module(module_args=arguments, task_vars=task_vars)
        if self._task.check_mode or arguments.get("state") == "followed":
            return outcome
        look = dict(arguments, state="followed")
        while outcome.get("phase") == "running":
            outcome = self.follow(look, task_vars)
            if outcome.get("phase") == "running":
                display.display(f"  {self.progress(outcome, task_vars['inventory_hostname'])}")
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
                    f"  {host}: the connection was lost ({error}); the {self.JOB} goes on there"
                )
                time.sleep(self.pause_seconds)
        raise AssertionError("not reached")
