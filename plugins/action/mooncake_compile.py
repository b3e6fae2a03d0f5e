# SPDX-License-Identifier: Apache-2.0
"""Follows a build on a host and says on the control node how far it is; the module of the same name does the work."""

from __future__ import annotations

from typing import Any

from ansible_collections.kvcache.ascend.plugins.module_utils import build_log
from ansible_collections.kvcache.ascend.plugins.plugin_utils.followed_job import FollowedJob


class ActionModule(FollowedJob):
    """Runs the module until the build has ended."""

    JOB = "build"

    def progress(self, outcome: dict[str, Any], host: str) -> str:
        text = build_log.progress_text(outcome["progress"], outcome["seconds"])
        return f"{host}: {outcome['step']}: {text}"
