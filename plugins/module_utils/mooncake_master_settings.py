# SPDX-License-Identifier: Apache-2.0
"""Can a master run with these variables of the role, and can anybody reach it? All that is wrong, at once.

The flags are checked in mooncake_master_flags.py, the text of addresses in master_address.py.
"""

from __future__ import annotations

from typing import Any

from ansible_collections.kvcache.ascend.plugins.module_utils import (
    master_address,
    mooncake_master_flags,
    mooncake_master_place,
    service_settings,
)

OWN_ENVIRONMENT = ["KVCACHE_CONFIG", "MOONCAKE_MASTER_ARGUMENTS"]


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


def problems(settings: dict[str, Any], mooncake: dict[str, Any]) -> list[str]:
    """Return all that is wrong with the role's variables; empty when a master can run with them and be reached.

    `settings` holds ``address``, ``bind_address``, ``user``, ``root``, ``environment``,
    ``writable_paths``, ``own_flags`` (flags that have a variable), ``flag_variables`` (its name by flag), ``flags``
    (mooncake_master_flags as the user wrote it) and ``transfer_timeout_ms``. `mooncake` is the release's description.
    """
    kind_problem, when_kind = service_settings.kind_problem, service_settings.when_kind
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
        service_settings.user_problem("mooncake_master_user", settings["user"], "the master"),
        service_settings.folder_problem(settings["root"]),
        flags_kind,
    ]
    return (
        [problem for problem in single if problem]
        + flag_problems
        + when_kind(
            kind_problem("mooncake_master_environment", environment, dict, "{MC_LOG_LEVEL: INFO}"),
            environment,
            lambda given: service_settings.environment_problems(
                "mooncake_master_environment", given, OWN_ENVIRONMENT
            ),
        )
        + when_kind(
            kind_problem("mooncake_master_writable_paths", paths, list, "[/srv/snapshots]"),
            paths,
            lambda given: service_settings.path_problems("mooncake_master_writable_paths", given),
        )
    )
