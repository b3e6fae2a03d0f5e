# SPDX-License-Identifier: Apache-2.0
"""Makes every check on what was seen of all hosts, prints one table, writes the findings where they are wanted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleFilterError
from ansible.plugins.action import ActionBase
from ansible_collections.kvcache.ascend.plugins.filter import release as release_filter
from ansible_collections.kvcache.ascend.plugins.module_utils import (
    finding,
    preflight,
    preflight_input,
    preflight_table,
)


def _spec_of(name: str, rows: list[Any]) -> dict[str, Any]:
    try:
        return release_filter.release_spec(name, rows)
    except AnsibleFilterError as error:
        raise ValueError(str(error)) from error


class ActionModule(ActionBase):
    _supports_check_mode = True
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        result = super().run(tmp, task_vars)
        arguments = self._task.args
        hosts = preflight_input.read_hosts(
            arguments["hosts"], _spec_of, arguments.get("inventory") or {}
        )
        report = preflight.run(hosts, arguments.get("skip") or [])
        table = preflight_table.render(report)
        self._display.display(f"\n{table}\n")
        told = {
            "findings": report.findings,
            "not_checked": report.not_checked,
            "error_count": report.count(finding.ERROR),
            "warning_count": report.count(finding.WARNING),
        }
        problem = self._write(arguments.get("file") or "", told)
        if problem:
            return {**result, "failed": True, "msg": problem}
        return {
            **result,
            **told,
            "changed": False,
            "table": table,
            "summary": preflight.summary(report),
            "ansible_stats": {
                "data": {"kvcache_preflight": told},
                "per_host": False,
                "aggregate": False,
            },
        }

    @staticmethod
    def _write(name: str, told: dict[str, Any]) -> str:
        """Why the file can't be written; empty when it was, or when none is wanted."""
        if not name:
            return ""
        try:
            path = Path(name).expanduser()
            path.write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")
        except OSError as error:
            return preflight_input.report_file_problem(name, str(error.strerror))
        return ""
