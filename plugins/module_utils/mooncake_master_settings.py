# SPDX-License-Identifier: Apache-2.0
"""Can a master run with these variables of the role, and can anybody reach it? All that is wrong, at once.

The flags are checked in mooncake_master_flags.py, the text of addresses in master_address.py.
"""

from __future__ import annotations

import re
from typing import Any, Callable

from ansible_collections.kvcache.ascend.plugins.module_utils import (
    master_address,
    mooncake_master_flags,
    mooncake_master_place,
    mooncake_tree,
    systemd_environment,
)

OWN_ENVIRONMENT = ["KVCACHE_CONFIG", "MOONCAKE_MASTER_ARGUMENTS"]

PLAIN_PATH = re.compile(r"/[^\s'\"\\$%:;]*")
"""A path that systemd takes as it is written: absolute, without what it would split at or expand."""


def kind_problem(name: str, value: Any, wanted: type, example: str) -> str:
    """Return why a variable that holds several values is no dict or no list; empty when it is."""
    if isinstance(value, wanted):
        return ""
    kinds = {str: "a string", dict: "a dict", list: "a list", bool: "a boolean", int: "a number"}
    found = next((words for kind, words in kinds.items() if isinstance(value, kind)), "empty")
    shown = f" ({str(value)[:60]!r})" if value is not None else ""
    return (
        f"{name}: is {found}{shown}, expected {kinds[wanted]}. Fix: write it as in {name}: {example} "
        f"(with -e as JSON: -e '{{\"{name}\": …}}')."
    )


def bind_problem(bind_address: str, address: str) -> str:
    """Return why the master can't listen on `bind_address`, or can't be reached at `address` when it does."""
    where = "mooncake_master_bind_address"
    fix = "Fix: set it to 0.0.0.0, or to an IP address of the master's host."
    ip_address = master_address.as_ip_address(bind_address)
    if ip_address is not None and ip_address.is_unspecified:
        return ""
    problem = master_address.host_problem(bind_address)
    if problem:
        return f"{where}: {problem.rpartition(': ')[0] or problem}. {fix}"
    place = mooncake_master_place
    if place.is_loopback(bind_address) and not place.is_loopback(address):
        return (
            f"{where}: {bind_address} is reached from its own host only, not at {address} (mooncake_master_address). "
            f"{fix}"
        )
    return ""


def user_problem(user: str) -> str:
    """Return why the master can't run under this user; empty when it may."""
    if user in ("root", "0"):
        return "mooncake_master_user: is root, but the master runs unprivileged. Fix: choose another, such as mooncake."
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.-]{0,30}", user):
        return f"mooncake_master_user: {user!r} is no name of a user. Fix: use letters, digits, -, _ and dots."
    return ""


def folder_problem(root: str) -> str:
    """Return why the unit can't see the builds; empty when it can."""
    hidden = mooncake_tree.hidden_from_services(root)
    return f"mooncake_root: {hidden}." if hidden else ""


def path_problems(paths: list[Any]) -> list[str]:
    """Return which folders can't be written into the unit."""
    return [
        f"mooncake_master_writable_paths: {str(path)!r} is no absolute path without blanks, quotes, $, %, : and ;. "
        "Fix: correct it."
        for path in paths
        if not PLAIN_PATH.fullmatch(str(path))
    ]


def environment_problems(environment: dict[str, Any]) -> list[str]:
    """Return what can't be in the environment of the service."""
    return [
        f"mooncake_master_environment: {problem}"
        for problem in systemd_environment.problems(environment, OWN_ENVIRONMENT)
    ]


def when_kind(problem: str, value: Any, check: Callable[[Any], list[str]]) -> list[str]:
    """Return the problem of a value's kind, or else what `check` finds in it."""
    return [problem] if problem else check(value)


def problems(settings: dict[str, Any], mooncake: dict[str, Any]) -> list[str]:
    """Return all that is wrong with the role's variables; empty when a master can run with them and be reached.

    `settings` holds ``address``, ``bind_address``, ``user``, ``root``, ``environment``,
    ``writable_paths``, ``own_flags`` (flags that have a variable), ``flag_variables`` (its name by flag), ``flags``
    (mooncake_master_flags as the user wrote it) and ``transfer_timeout_ms``. `mooncake` is the release's description.
    """
    flags_kind = kind_problem("mooncake_master_flags", settings["flags"], dict, "{client_ttl: 120}")
    free_flags = {} if flags_kind else settings["flags"]
    flag_problems = mooncake_master_flags.problems(
        {**settings["own_flags"], **free_flags},
        mooncake,
        settings["flag_variables"],
        free_flags,
        int(settings["transfer_timeout_ms"]),
    )
    environment, paths = settings["environment"], settings["writable_paths"]
    single = [
        bind_problem(settings["bind_address"], settings["address"]),
        user_problem(settings["user"]),
        folder_problem(settings["root"]),
        flags_kind,
    ]
    return (
        [problem for problem in single if problem]
        + flag_problems
        + when_kind(
            kind_problem("mooncake_master_environment", environment, dict, "{MC_LOG_LEVEL: INFO}"),
            environment,
            environment_problems,
        )
        + when_kind(
            kind_problem("mooncake_master_writable_paths", paths, list, "[/srv/snapshots]"),
            paths,
            path_problems,
        )
    )
