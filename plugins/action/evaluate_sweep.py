# SPDX-License-Identifier: Apache-2.0
"""Follows a sweep on a host and says on the control node how far it is; the module of the same name does the work."""

from __future__ import annotations

from typing import Any

from ansible_collections.kvcache.ascend.plugins.plugin_utils.followed_job import FollowedJob


class ActionModule(FollowedJob):
    """Runs the module until the sweep has ended."""

    JOB = "sweep"

    def progress(self, outcome: dict[str, Any], host: str) -> str:
        return f"{self._task.args['plan'].get('variant')}: {outcome['progress_text']}"
