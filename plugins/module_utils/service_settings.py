# SPDX-License-Identifier: Apache-2.0
"""What is wrong with variables that the services of this collection have in common: user, folders, environment."""

from __future__ import annotations

import re
from typing import Any, Callable

from ansible_collections.kvcache.ascend.plugins.module_utils import (
    mooncake_tree,
    systemd_environment,
    value_kinds,
)

PLAIN_PATH = re.compile(r"/[^\s'\"\\$%:;]*")
"""A path that systemd takes as it is written: absolute, without what it would split at or expand."""


def kind_problem(name: str, value: Any, wanted: type, example: str) -> str:
    """Return why a variable that holds several values is no dict or no list; empty when it is."""
    if isinstance(value, wanted):
        return ""
    expected = value_kinds.DICT.expected if wanted is dict else value_kinds.LIST.expected
    return (
        f"{name}: is {value_kinds.given(value)}, expected {expected}. Fix: write it as in {name}: {example} "
        f"(with -e as JSON: -e '{{\"{name}\": …}}')."
    )


def user_problem(name: str, user: Any, what: str) -> str:
    """Return why `what` can't run under this user; empty when it may. `name` is the variable."""
    if not isinstance(user, str):
        return f"{value_kinds.problem(f'{name}:', user, value_kinds.LINE)}. Fix: give a name of a user, such as mooncake."
    if user in ("root", "0"):
        return (
            f"{name}: is root, but {what} runs unprivileged. Fix: choose another, such as mooncake."
        )
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.-]{0,30}", user):
        return f"{name}: {user!r} is no name of a user. Fix: use letters, digits, -, _ and dots."
    return ""


def folder_problem(root: Any) -> str:
    """Return why a unit can't see Mooncake's builds; empty when it can."""
    if not isinstance(root, str):
        wrong = value_kinds.problem("mooncake_root:", root, value_kinds.LINE)
        return f"{wrong}. Fix: give a folder, such as /opt/kvcache/mooncake."
    hidden = mooncake_tree.hidden_from_services(root)
    return f"mooncake_root: {hidden}." if hidden else ""


def path_problems(name: str, paths: list[Any]) -> list[str]:
    """Return which folders can't be written into a unit."""
    return [
        f"{name}: {value_kinds.given(path)} is no absolute path without blanks, quotes, $, %, : and ;. Fix: correct it."
        for path in paths
        if not isinstance(path, str) or not PLAIN_PATH.fullmatch(path)
    ]


def environment_problems(name: str, environment: dict[str, Any], own: list[str]) -> list[str]:
    """Return what can't be in the environment of a service; `own` are the variables that its role sets."""
    return [f"{name}: {problem}" for problem in systemd_environment.problems(environment, own)]


def when_kind(problem: str, value: Any, check: Callable[[Any], list[str]]) -> list[str]:
    """Return the problem of a value's kind, or else what `check` finds in it."""
    return [problem] if problem else check(value)
