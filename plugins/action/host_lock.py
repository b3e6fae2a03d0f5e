# SPDX-License-Identifier: Apache-2.0
"""The control node's half of host_lock: it knows which run this is, and whether the holder's run still lives."""

from __future__ import annotations

import getpass
import os
import time
import uuid
from typing import Any

from ansible.plugins.action import ActionBase
from ansible_collections.kvcache.ascend.plugins.module_utils import host_lock

INTERVAL_SECONDS = 3
"""Between two tries; each is a task's work on the host."""


def user_name() -> str:
    """Return who runs Ansible; in a container the user may have no name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}"


def may_replace(answer: dict[str, Any], here: dict[str, Any]) -> bool:
    """Return whether the holder that a host answered has ended, so that its lock may be taken over."""
    holder = answer["holder"]
    if answer["processes"]:
        return False
    dead = host_lock.is_dead(holder, here, host_lock.start_ticks(int(holder.get("pid") or 0)))
    if dead is None:
        return bool(answer["idle_seconds"] >= host_lock.ABANDONED_SECONDS)
    return dead


class ActionModule(ActionBase):
    """Takes the lock, waiting for its holder, or gives it back."""

    _requires_connection = True

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        super().run(tmp, task_vars)
        arguments = dict(self._task.args)
        if arguments.get("state", "held") == "released":
            return self._try(arguments, task_vars)
        # A task runs in a child of the process that is the run.
        here = host_lock.describe_run(os.getppid(), uuid.uuid4().hex, user_name())
        return self._take(arguments, here, task_vars)

    def _try(self, arguments: dict[str, Any], task_vars: Any) -> dict[str, Any]:
        answer = self._execute_module(
            module_name="kvcache.ascend.host_lock", module_args=arguments, task_vars=task_vars
        )
        return dict(answer)

    def _take(
        self, arguments: dict[str, Any], here: dict[str, Any], task_vars: Any
    ) -> dict[str, Any]:
        began = time.monotonic()
        replace = ""
        while True:
            answer = self._try({**arguments, "owner": here, "replace": replace}, task_vars)
            if answer.get("failed") or answer.get("unreachable") or "holder" not in answer:
                return answer
            if answer["holder"] is None:
                return {**answer, "token": here["token"], "taken_over": bool(replace)}
            waited = time.monotonic() - began
            replace = answer["holder"].get("token", "") if may_replace(answer, here) else ""
            if replace:
                continue
            if waited >= int(arguments.get("timeout", 600)):
                text = host_lock.held_text(
                    task_vars["inventory_hostname"],
                    str(arguments["path"]),
                    str(arguments.get("purpose", "works on this host")),
                    answer,
                    waited,
                )
                return {**answer, "failed": True, "msg": text}
            time.sleep(INTERVAL_SECONDS)
