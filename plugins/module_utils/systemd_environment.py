# SPDX-License-Identifier: Apache-2.0
"""Lines of a systemd EnvironmentFile, quoted so that the service gets each value as it was given (systemd.exec(5))."""

from __future__ import annotations

import re
from typing import Any, Mapping

from ansible_collections.kvcache.ascend.plugins.module_utils import value_kinds

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SECRETS = ("TOKEN", "API_KEY", "PASSWORD", "SECRET")


def is_secret(name: str) -> bool:
    """Whether the value of a variable or an option of this name is better not repeated, nor readable by all."""
    return name.upper().replace("-", "_").endswith(_SECRETS)


def unwritable(environment: Mapping[Any, Any], are_secret: bool = False) -> list[str]:
    """Return a problem for each name and value that no environment can have. Of a secret, its value is not repeated."""
    found = [_unwritable(name, value, are_secret) for name, value in environment.items()]
    return [each for each in found if each]


def _unwritable(name: Any, value: Any, are_secret: bool) -> str:
    if not (isinstance(name, str) and NAME.fullmatch(name)):
        return f"{value_kinds.given(name)} is no name of a variable"
    return value_kinds.problem(name, value, value_kinds.PLAIN, are_secret or is_secret(name))


def problems(environment: dict[str, Any], reserved: list[str]) -> list[str]:
    """Return which variables can't be written, or belong to the role (`reserved`); each with a fix."""
    own = [name for name in environment if name in reserved]
    # A secret may have got here by mistake.
    wrong = unwritable(environment, are_secret=True)
    return [
        *(f"{text}. Fix: correct it." for text in wrong),
        *(f"{name} is set by the role itself. Fix: remove it." for name in own),
    ]


def lines(environment: dict[str, Any]) -> list[str]:
    """Return ``NAME="value"`` for each variable, sorted by name, with quotes and backslashes escaped."""
    escaped = {
        name: re.sub(r'(["\\\\])', r"\\\1", str(value)) for name, value in environment.items()
    }
    return [f'{name}="{escaped[name]}"' for name in sorted(escaped)]
