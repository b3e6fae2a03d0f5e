# SPDX-License-Identifier: Apache-2.0
"""What went wrong in a task, read from its result: one text for every shape that a result has."""

from __future__ import annotations

import re
from typing import Any

PREFIX = re.compile(r"^Task failed: (?:Module failed: |Action failed: )?")


def failed_item(result: dict[str, Any]) -> dict[str, Any]:
    """Return the result of the item that failed when the task was a loop, else the result itself."""
    items = [item for item in result.get("results") or [] if isinstance(item, dict)]
    failed = [item for item in items if item.get("failed") or item.get("unreachable")]
    return failed[0] if failed else result


def text(result: dict[str, Any]) -> str:
    """Return the message of a failed task; of a loop, the message of the first item that failed, and which one it is."""
    one = failed_item(result)
    message = str(
        one.get("msg") or one.get("module_stderr") or one.get("exception") or "no message"
    )
    message = PREFIX.sub("", message.strip())
    # The console's last words say more than "non-zero return code".
    output = str(one.get("stderr") or one.get("stdout") or "").strip().splitlines()
    if message == "non-zero return code" and output:
        message = f"{output[-1].strip()} (exit status {one.get('rc')})"
    label = one.get("_ansible_item_label", one.get("item"))
    return message if one is result or label in (None, "") else f"{label}: {message}"


def output(result: dict[str, Any]) -> str:
    """Return all that a failed command printed, of a loop that of the first item that failed."""
    one = failed_item(result)
    return "\n".join(str(one.get(key) or "") for key in ("stdout", "stderr")).strip()
