# SPDX-License-Identifier: Apache-2.0
"""Checks of what the inventory says: groups, release, names of variables, instances, keys. No host is asked."""

from __future__ import annotations

import difflib
import re
from typing import Any, Iterable, Mapping, Sequence

from ansible_collections.kvcache.ascend.plugins.module_utils import (
    mooncake_master_place,
    mooncake_master_settings,
    site_settings,
    store_node,
    vllm_config,
    vllm_instance,
    vllm_plan,
)
from ansible_collections.kvcache.ascend.plugins.module_utils.preflight_model import (
    INSTANCE_GROUP,
    STORE_GROUP,
    DoesNotApply,
    Finding,
    Host,
    error,
    from_sentence,
    spec_of,
    warning,
)

ALL = "all hosts"
CLASH = "correct vllm_instances"
EXPECTED_SETTING = "what docs/site-settings.md describes"
# Names that stood in guides and drafts, or that people expect; what is written now.
RENAMED = {
    "cann_version": "release_name, or a row of your own in release_extra_rows",
    "mooncake_version": "release_name, or a row of your own in release_extra_rows",
    "vllm_version": "release_name, or a row of your own in release_extra_rows",
    "vllm_ascend_version": "release_name, or a row of your own in release_extra_rows",
    "mooncake_master_host": "mooncake_master_address",
    "mooncake_master_port": "mooncake_master_rpc_port",
    "mooncake_master_kv_lease_ttl": "mooncake_master_kv_lease_ttl_ms",
    "mooncake_master_threads": "mooncake_master_rpc_thread_num",
    "mooncake_master_extra_flags": "mooncake_master_flags",
    "mooncake_global_segment_size": "segment_size of each of vllm_instances",
    "global_segment_size": "segment_size of each of vllm_instances",
}
# A variable that starts so can only be meant for this collection; other prefixes are common words.
OWN_PREFIXES = ("mooncake_master_", "preflight_", "release_", "bootstrap_", "store_node_")
PREFIXES = (*OWN_PREFIXES, "mooncake_", "site_", "vllm_", "plan_", "python_stack_", "evaluate_")
CLOSE = 0.85
# Prefixes of variables that change how a transfer works; a Mooncake that does not read one passes over it in silence.
READ_BY_MOONCAKE = "ASCEND_"
READ_BY_OTHERS = ("ASCEND_RT_VISIBLE_DEVICES", "ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME")


def check_inventory(hosts: list[Host]) -> list[Finding]:
    """One master, some instances, and no mistyped group."""
    if not hosts:
        return []
    groups = hosts[0].inventory
    addresses = [str(host.get("mooncake_master_address", "")) for host in hosts]
    problem = mooncake_master_place.inventory_problem(groups, [each for each in addresses if each])
    found = [from_sentence("inventory", ALL, problem, "one pool")] if problem else []
    if not any(host.runs_instances for host in hosts) and not groups.get(INSTANCE_GROUP):
        found.append(
            warning(
                "inventory",
                ALL,
                f"group {INSTANCE_GROUP} is empty",
                "the servers that run instances",
                f"name them in the group {INSTANCE_GROUP} of the inventory",
            )
        )
    return found + _pool_findings(hosts)


def _pool_findings(hosts: list[Host]) -> list[Finding]:
    """Instances that lend nothing need a store node that does."""
    sharing = [each for host in hosts for each in host.instances() if each.pool]
    if (
        not sharing
        or any(each.segment_bytes for each in sharing)
        or hosts[0].inventory.get(STORE_GROUP)
    ):
        return []
    return [
        error(
            "inventory",
            ALL,
            "no instance lends memory to the pool (segment_size 0), and there is no store node",
            "a pool with memory",
            f"give the instances a segment_size, or put hosts into the group {STORE_GROUP}",
        )
    ]


def left_alone(hosts: list[Host]) -> list[str]:
    """Hosts of the inventory that are in no group for which anything is done."""
    groups = hosts[0].inventory if hosts else {}
    ours = {name for group in mooncake_master_place.GROUPS for name in groups.get(group, [])}
    return [name for name in groups.get("all", []) if name not in ours]


def check_release(hosts: list[Host]) -> list[Finding]:
    """Every host has a release that is known, and all have the same Mooncake: mixed ones don't understand each other."""
    found = [
        from_sentence(
            "release",
            host.name,
            _as_sentence(host.release_problem),
            "a release of docs/releases.md",
        )
        for host in hosts
        if host.release_problem
    ]
    by_version: dict[str, list[str]] = {}
    for host in hosts:
        if host.spec:
            by_version.setdefault(host.spec["mooncake"]["version"], []).append(host.name)
    if len(by_version) > 1:
        told = "; ".join(f"{v} on {_few(names)}" for v, names in sorted(by_version.items()))
        found.append(
            error(
                "release",
                ALL,
                f"release_name gives the hosts different Mooncake versions: {told}",
                "one Mooncake version in a pool",
                "set one release_name for all hosts (group_vars/all.yml)",
            )
        )
    return found


def _as_sentence(problem: str) -> str:
    """The role's message ends with what to do; here it is told apart."""
    head, dot, tail = problem.partition(" Add a row ")
    return f"{head} Fix: correct it, or add a row {tail}" if dot else problem


def _few(names: Sequence[str], count: int = 3) -> str:
    more = f" and {len(names) - count} more" if len(names) > count else ""
    return ", ".join(names[:count]) + more


def check_variables(host: Host) -> list[Finding]:
    """Variables that can't be read, that have another name now, or that no role reads."""
    found = [
        error(
            "variables",
            host.name,
            f"{name} can't be used: {reason}",
            "a value of the type that the role documents, without undefined names",
            f"correct {name} in the inventory (ansible-inventory -i <inventory> --host <name> shows what a host has)",
        )
        for name, reason in host.broken.items()
        if not name.startswith("__")  # made from the others
    ]
    known = host.get("__preflight_known", [])
    for name in host.names:
        if name in known:
            continue
        if name in RENAMED:
            found.append(
                error(
                    "variables",
                    host.name,
                    f"{name} does nothing",
                    RENAMED[name],
                    f"write {RENAMED[name]} in its place",
                )
            )
            continue
        close = difflib.get_close_matches(name, known, n=1, cutoff=CLOSE)
        if close or name.startswith(OWN_PREFIXES):
            found.append(
                warning(
                    "variables",
                    host.name,
                    f"no role reads {name}",
                    close[0] if close else "a variable that a role's README names",
                    f"rename it to {close[0]}" if close else f"correct or remove {name}",
                )
            )
    return found


def check_site_settings(host: Host) -> list[Finding]:
    """Proxies and package indexes are addresses, CA files are certificates."""
    texts = [*site_settings.problems(host.settings), *host.get("__preflight_ca_problems", [])]
    return [from_sentence("site_settings", host.name, text, EXPECTED_SETTING) for text in texts]


def check_instances(host: Host) -> list[Finding]:
    """Each of vllm_instances can be read, and no two on a host claim a port, a socket or an NPU."""
    if not host.runs_instances:
        raise DoesNotApply(f"it is not in the group {INSTANCE_GROUP}")
    given = host.get("vllm_instances", [])
    instances, wrong = vllm_instance.read(given, host.get("vllm_options"))
    wrong += vllm_plan.setting_problems(
        host.get("vllm_environment", {}), {}, {name: host.get(name) for name in host.settings}
    )
    if not given and not wrong:
        raise DoesNotApply("it has no vllm_instances")
    return [
        error("instances", host.name, text, "instances that can run side by side", _fix(text))
        for text in wrong
    ] + [each for instance in instances for each in _devices_findings(host, instance)]


def _fix(problem: str) -> str:
    """Which variable is to be corrected; a problem begins with it."""
    return f"correct {re.split(r'[^a-z_]', problem)[0]}" if problem.startswith("vllm_") else CLASH


def _devices_findings(host: Host, instance: vllm_instance.Instance) -> list[Finding]:
    if host.platform == "cpu" and instance.devices:
        return [
            warning(
                "instances",
                host.name,
                f"devices of instance {instance.name} do nothing: release {host.get('release_name')} is for CPUs",
                "devices on NPU hosts only",
                "remove them, or choose a release for NPUs",
            )
        ]
    problem = vllm_instance.ranks_problem(instance)
    if host.platform != "npu" or not problem:
        return []
    return [
        error(
            "instances",
            host.name,
            problem,
            "an NPU for each rank",
            vllm_instance.RANKS_FIX,
        )
    ]


def check_configuration_keys(host: Host) -> list[Finding]:
    """Keys that this release passes over in silence, flags that its master does not know, and what they contradict."""
    spec = spec_of(host)
    found: list[Finding] = []
    if host.is_master:
        found += [
            from_sentence("configuration_keys", host.name, problem, "what the release reads")
            for problem in _master_problems(host, spec)
        ]
    if host.is_store_node:
        settings = host.get("__store_node_settings")
        found += [
            from_sentence(
                "configuration_keys", host.name, problem, "what a store node can run with"
            )
            for problem in (store_node.problems(settings) if settings else [])
        ]
    for instance in host.instances():
        found += [
            error(
                "configuration_keys",
                host.name,
                f"instance {instance.name}: {problem}",
                "values that the release reads",
                "correct it",
            )
            for problem in vllm_config.kind_problems(spec["connector"], instance)
        ]
        for each in vllm_config.findings(spec["connector"], instance, host.name):
            found.append({**each, "check": "configuration_keys"})
        found += _environment_findings(host.name, instance, spec["mooncake"])
    return found


def _master_problems(host: Host, spec: Mapping[str, Any]) -> Iterable[str]:
    """As the role mooncake_master finds them."""
    settings = host.get("__mooncake_master_settings")
    return mooncake_master_settings.problems(settings, dict(spec["mooncake"])) if settings else []


def _environment_findings(
    host: str, instance: vllm_instance.Instance, mooncake: Mapping[str, Any]
) -> list[Finding]:
    """ASCEND_ variables that look like one that this Mooncake reads, and are not."""
    read = [*mooncake["ascend_environment"], *READ_BY_OTHERS]
    found = []
    for name in instance.env:
        close = difflib.get_close_matches(name, read, n=1, cutoff=0.8)
        if name.startswith(READ_BY_MOONCAKE) and name not in read and close:
            found.append(
                warning(
                    "configuration_keys",
                    host,
                    f"instance {instance.name}: env: Mooncake {mooncake['version']} does not read {name}",
                    f"one of {', '.join(mooncake['ascend_environment'])}",
                    f"write {close[0]}, or remove it",
                )
            )
    return found
