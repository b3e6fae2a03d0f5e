# SPDX-License-Identifier: Apache-2.0
"""Lines of a systemd EnvironmentFile, quoted so that the service gets each value as it was given (systemd.exec(5))."""

from __future__ import annotations

import re
from typing import Any

from ansible_collections.kvcache.ascend.plugins.module_utils import value_kinds

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def is_name(name: Any) -> bool:
    return isinstance(name, str) and NAME.fullmatch(name) is not None


def problems(environment: dict[str, Any], reserved: list[str]) -> list[str]:
    """Return which variables can't be written, or belong to the role (`reserved`); each with a fix."""
    found = []
    for name, value in environment.items():
        if not is_name(name):
            found.append(f"{name!r} is not the name of an environment variable. Fix: correct it.")
        elif name in reserved:
            found.append(f"{name} is set by the role itself. Fix: remove it.")
        elif isinstance(value, str) and re.search(r"[\n\r]", value):
            found.append(f"{name}: its value has a line break. Fix: remove it.")
        elif not value_kinds.PLAIN.accepts(value):
            # A secret may have got here by mistake, so what it is is told and not its content.
            wrong = value_kinds.problem(f"{name}: its value", value, value_kinds.PLAIN, secret=True)
            found.append(f"{wrong}. Fix: correct it.")
    return found


def lines(environment: dict[str, Any]) -> list[str]:
    """Return ``NAME="value"`` for each variable, sorted by name, with quotes and backslashes escaped."""
    escaped = {
        name: re.sub(r'(["\\\\])', r"\\\1", str(value)) for name, value in environment.items()
    }
    return [f'{name}="{escaped[name]}"' for name in sorted(escaped)]
