# SPDX-License-Identifier: Apache-2.0
"""All that the instances of a host are made of: the content of their files, and a digest of what a process was started with.

Decided on the control node, before anything is changed; what is wrong with any instance is told at once.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import re
from dataclasses import replace
from typing import Any, Mapping

from ansible_collections.kvcache.ascend.plugins.module_utils import (
    finding,
    service_settings,
    systemd_environment,
    value_kinds,
    vllm_config,
    vllm_instance,
)
from ansible_collections.kvcache.ascend.plugins.module_utils.vllm_instance import Instance

CONFIG = "KVCACHE_CONFIG"
"""Variable that tells with which configuration a process runs."""

LOGS = "/var/log/vllm"
"""The unit's LogsDirectory: one folder in it for each instance."""

OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
"""For a model in a folder: nothing is asked for on the internet, where the start would wait for an answer."""

_ACCOUNT = value_kinds.matching(
    "[A-Za-z_][A-Za-z0-9_.-]{0,30}", "a name of letters, digits, -, _ and dots"
)
_SECONDS = value_kinds.whole(0, 86400)

VARIABLES = {
    "vllm_hash_seed": value_kinds.whole(0, 4294967295),
    "vllm_npu_series": value_kinds.matching("[A-Za-z0-9]{0,16}", "a series, such as A3, or empty"),
    "vllm_user": _ACCOUNT,
    "vllm_device_group": _ACCOUNT,
    "vllm_writable_paths": value_kinds.list_of(
        value_kinds.matching(
            service_settings.PLAIN_PATH.pattern,
            "an absolute path",
        ),
        "a list of absolute paths without blanks, quotes, $, %, : and ;",
    ),
    "vllm_wait_seconds": _SECONDS,
    "vllm_answer_seconds": _SECONDS,
    "vllm_stop_seconds": _SECONDS,
    "vllm_verify_tokens": value_kinds.whole(1, 10**7),
}
"""What further variables of the role may be."""

_OPTION = re.compile(r"(?<![\w-])--([a-z][a-z0-9-]*)")

ANY_ADDRESS = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}
"""Where the host itself reaches a service that listens on every address."""


def make(described: Any, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``instances``, ``problems`` (texts, each with a fix) and ``warnings`` (findings).

    settings: connector and platform of the release; options, environment and secrets (variables for all instances), and
    variables (further ones of the role, by name); hash_seed, series, master_address, folder, host; cann (variables),
    mooncake (folder) and inputs (whatever else decides what runs).
    """
    instances, wrong = vllm_instance.read(described, settings["options"])
    common_problems = setting_problems(
        settings["environment"], settings["secrets"], settings.get("variables", {})
    )
    problems = [f"{text}. Fix: correct it." for text in [*common_problems, *wrong]]
    common = _common_environment(settings["environment"])
    instances = [replace(each, env={**common, **each.env}) for each in instances]
    warnings = []
    for each in instances:
        found = vllm_config.findings(settings["connector"], each, settings["host"])
        warnings += [item for item in found if item["severity"] != finding.ERROR]
        problems += [
            f"{item['observed']}. Expected: {item['expected']}. Fix: {item['fix']}."
            for item in found
            if item["severity"] == finding.ERROR
        ]
        problems += _instance_problems(each, settings)
    made = [] if problems else [_files(each, settings) for each in instances]
    return {"instances": made, "problems": problems, "warnings": warnings}


def _common_environment(environment: Any) -> dict[str, str]:
    """The variables of all instances; none when something is wrong with any of them, which is told by itself."""
    if not isinstance(environment, Mapping) or _environment_problems(environment):
        return {}
    return {name: str(value) for name, value in environment.items()}


def _environment_problems(environment: Any) -> list[str]:
    return vllm_instance.environment_problems("vllm_environment", environment)


def setting_problems(environment: Any, secrets: Any, variables: Mapping[str, Any]) -> list[str]:
    """What is wrong with what all instances have in common. Nothing is repeated of a secret."""
    found = [
        value_kinds.problem("vllm_environment", environment, value_kinds.DICT),
        value_kinds.problem("vllm_secrets", secrets, value_kinds.DICT, secret=True),
        *_environment_problems(environment),
        *vllm_instance.environment_problems("vllm_secrets", secrets, are_secret=True),
        *value_kinds.problems(variables, VARIABLES),
    ]
    return [text for text in found if text]


def _instance_problems(instance: Instance, settings: Mapping[str, Any]) -> list[str]:
    found = [
        f"{name} is set by the role itself. Fix: remove it."
        for name in instance.env
        if name == CONFIG
    ]
    secrets = settings["secrets"] if isinstance(settings["secrets"], Mapping) else {}
    found += [
        f"{name} is a secret, and would be readable by all. Fix: write it in vllm_secrets."
        for name in instance.env
        if name in secrets or systemd_environment.is_secret(name)
    ]
    found = [f"env: {text}" for text in found]
    found += [
        f"{text}. Fix: correct it."
        for text in vllm_config.kind_problems(settings["connector"], instance)
    ]
    found = [f"instance {instance.name}: {text}" for text in found]
    ranks = vllm_instance.ranks_problem(instance) if settings["platform"] == "npu" else ""
    if ranks:
        found.append(f"{ranks}. Fix: {vllm_instance.RANKS_FIX}.")
    return found


def _files(instance: Instance, settings: Mapping[str, Any]) -> dict[str, Any]:
    """What an instance reads, as it is written to its folder."""
    connector, folder = settings["connector"], f"{settings['folder']}/{instance.name}"
    options = vllm_config.options(connector, instance)
    pool = None
    if instance.pool:
        pool = vllm_config.mooncake_json(connector, instance, settings["master_address"])
    environment = vllm_config.environment(
        connector,
        instance,
        config_path=f"{folder}/mooncake.json",
        hash_seed=str(settings["hash_seed"]),
        series=settings["series"],
        base=_base(instance, settings),
    )
    config = digest([options, pool, environment, settings["inputs"]])
    return {
        "name": instance.name,
        "unit": f"vllm@{instance.name}.service",
        "folder": folder,
        "host": ANY_ADDRESS.get(instance.host, instance.host),
        "port": instance.port,
        "model": instance.model,
        "served_name": instance.served_name or instance.model,
        "devices": instance.devices,
        "pool": instance.pool,
        "vllm_yaml": options,
        "mooncake_json": pool,
        "environment": {**environment, CONFIG: config},
        "config": config,
    }


def _base(instance: Instance, settings: Mapping[str, Any]) -> dict[str, str]:
    """What everything else wins over: CANN's variables, and Mooncake's folders with them."""
    base = dict(OFFLINE) if instance.model.startswith("/") else {}
    if settings["platform"] != "npu":
        return base
    base.update(settings["cann"], ASCEND_PROCESS_LOG_PATH=f"{LOGS}/{instance.name}/ascend")
    # CANN's own folder of Python packages may hold a Mooncake that somebody installed into it.
    base["PYTHONPATH"] = _joined(f"{settings['mooncake']}/python", base.get("PYTHONPATH"))
    base["LD_LIBRARY_PATH"] = _joined(base.get("LD_LIBRARY_PATH"), f"{settings['mooncake']}/lib")
    return base


def _joined(*folders: str | None) -> str:
    return ":".join(each for each in folders if each)


def digest(parts: list[Any]) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


def leftovers(present: list[str], wanted: list[str]) -> list[str]:
    """Return the names of instances that are on the host and no longer in the inventory."""
    return sorted(set(present) - set(wanted))


def unknown_options(instances: list[Mapping[str, Any]], help_text: str) -> list[str]:
    """Return a problem for each option that ``vllm serve --help=all`` does not name; none when it can't be read."""
    known = sorted(set(_OPTION.findall(help_text)))
    return [
        f"instance {each['name']}: options: vLLM knows no --{name}.{_closest(name, known)} Fix: correct it (vllm serve "
        "--help=all lists them)."
        for each in instances
        for name in each["vllm_yaml"]
        if known and name not in known
    ]


def _closest(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f" Did you mean --{close[0]}?" if close else ""


def peers(instances: list[Mapping[str, Any]]) -> dict[str, str]:
    """Return for each instance the one whose prompt it shall find in the pool: the next with the same model.

    `instances` are those of all hosts, each with ``id``, ``model`` and ``pool``. One that is alone has none.
    """
    found: dict[str, str] = {}
    by_model: dict[str, list[str]] = {}
    for each in instances:
        if each["pool"]:
            by_model.setdefault(each["model"], []).append(each["id"])
    for same in by_model.values():
        if len(same) > 1:
            found.update(zip(same, [*same[1:], same[0]]))
    return found
