# Copyright The kvcache.ascend authors
# SPDX-License-Identifier: Apache-2.0
"""What an instance reads: vllm.yaml, mooncake.json and its environment, in the words of one release.

`connector` is an entry of the release table (roles/release/files/connectors.yml), which says what each version reads.
"""

from __future__ import annotations

import json
from typing import Any, Mapping

from ansible_collections.kvcache.ascend.plugins.module_utils import (
    finding,
    sizes,
    value_kinds,
)
from ansible_collections.kvcache.ascend.plugins.module_utils.vllm_instance import Instance

CHECK_KEYS = "vllm_keys"
CHECK_SEGMENT = "vllm_segment"

PEER_TO_PEER = "P2PHANDSHAKE"
EMBEDDED, STANDALONE = "embedded", "standalone-store"

# Lists of folders: what a user adds comes before what CANN needs, and does not replace it.
_LISTS_OF_FOLDERS = ("LD_LIBRARY_PATH", "PATH", "PYTHONPATH")

# vLLM's readers take KB, MB and GB as powers of 1024 and know no KiB.
_TEXT_UNITS = ((1024**3, "GB"), (1024**2, "MB"), (1024, "KB"))


def size(size_bytes: int, size_format: str) -> Any:
    """A size as this version reads it: a number of bytes, or a text in the largest unit that is exact."""
    if size_format == "text" and size_bytes:
        for factor, unit in _TEXT_UNITS:
            if size_bytes % factor == 0:
                return f"{size_bytes // factor}{unit}"
    return size_bytes


KINDS = {
    "bool": value_kinds.TRUTH,
    "int": value_kinds.whole(0, 2**53),
    "list": value_kinds.LIST,
    "path": value_kinds.or_empty(value_kinds.LINE),
    "size": value_kinds.SIZE,
    "str": value_kinds.PLAIN,
}
"""What the keys of a connector may be, by the type that the release table has for them."""

_FIELDS = {"config": "mooncake", "extra_config": "extra_config"}
"""Where a user writes keys of mooncake.json, and of kv_connector_extra_config."""


def _types(connector: Mapping[str, Any], where: str) -> dict[str, str]:
    return {key["name"]: key["type"] for key in connector[where]}


def kind_problems(connector: Mapping[str, Any], instance: Instance) -> list[str]:
    """Values that this version's connector would misread; it takes any text, "false" included, for true."""
    found: list[str] = []
    for where, given in (("config", instance.mooncake), ("extra_config", instance.extra_config)):
        kinds = {name: KINDS[kind] for name, kind in _types(connector, where).items()}
        found += value_kinds.problems(given, kinds, f"{_FIELDS[where]}: ")
    return found


def _typed(connector: Mapping[str, Any], where: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The user's keys in this version's words: no truth value and no number as a text, sizes as it reads them."""
    types = _types(connector, where)
    written: dict[str, Any] = {
        "bool": value_kinds.truth,
        "int": int,
        "size": lambda value: size(sizes.to_bytes(value), connector["size_format"]),
        "str": str,
    }
    return {
        key: written[types[key]](value) if types.get(key) in written else value
        for key, value in given.items()
    }


def mooncake_json(
    connector: Mapping[str, Any], instance: Instance, master_address: str
) -> dict[str, Any]:
    """The content of mooncake.json: no key that this version does not read, and all that it needs."""
    read = _names(connector["config"])
    size_format = connector["size_format"]
    made = {
        "metadata_server": PEER_TO_PEER,
        "master_server_address": master_address,
        "protocol": connector["protocols"][0],
        "device_name": "",
        "mode": EMBEDDED if instance.segment_bytes else STANDALONE,
        "global_segment_size": size(instance.segment_bytes, size_format),
        "local_buffer_size": size(instance.buffer_bytes, size_format),
    }
    wished = {**made, **connector["fixed_config"], **_typed(connector, "config", instance.mooncake)}
    return {key: value for key, value in wished.items() if key in read}


def kv_transfer_config(connector: Mapping[str, Any], instance: Instance) -> dict[str, Any]:
    """What vLLM is told of the pool."""
    read = _names(connector["extra_config"])
    wished = _typed(connector, "extra_config", instance.extra_config)
    extra = {
        connector["rpc_port_key"]: instance.rpc_port,
        **connector["fixed_extra_config"],
        **{key: value for key, value in wished.items() if key in read},
    }
    made: dict[str, Any] = {"kv_connector": connector["name"], "kv_role": instance.kv_role}
    if connector["kv_load_failure_policy"]:
        # Without it vLLM's own default, fail, would hold.
        made["kv_load_failure_policy"] = instance.on_lost_block
    return {**made, "kv_connector_extra_config": extra}


def options(connector: Mapping[str, Any], instance: Instance) -> dict[str, Any]:
    """The content of vllm.yaml, for "vllm serve --config"."""
    made: dict[str, Any] = {
        "model": instance.model,
        "served-model-name": instance.served_name or instance.model,
        "host": instance.host,
        "port": instance.port,
        "tensor-parallel-size": instance.tensor_parallel_size,
    }
    made.update(_written(instance.options))
    if instance.pool:
        made["kv-transfer-config"] = json.dumps(kv_transfer_config(connector, instance))
    return made


def _written(given: Mapping[str, Any]) -> dict[str, Any]:
    """Options as every version's reader of config files takes them.

    Older ones pass over a false, so what is to be off is written as the option that turns it off; and none but the newest
    takes a dict, so that one is written as the JSON of the command line.
    """
    written: dict[str, Any] = {}
    for name, value in given.items():
        if value is False:
            written[f"no-{name}"] = True
        elif isinstance(value, Mapping):
            written[name] = json.dumps(value)
        elif value is not None:
            written[name] = value
    return written


def environment(
    connector: Mapping[str, Any],
    instance: Instance,
    *,
    config_path: str,
    hash_seed: str,
    series: str = "",
    base: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """The instance's environment; what the user sets wins over what the guides set, and both over `base` (CANN's)."""
    made = dict(base or {})
    if instance.devices:
        made["ASCEND_RT_VISIBLE_DEVICES"] = ",".join(map(str, instance.devices))
    if instance.pool:
        made.update(connector["environment"])
        made.update(connector["environment_by_series"].get(series, {}))
        made[connector["config_path_variable"]] = config_path
        # Where it is not needed it does no harm.
        made["PYTHONHASHSEED"] = hash_seed
    for name, value in instance.env.items():
        after = f":{made[name]}" if name in _LISTS_OF_FOLDERS and made.get(name) else ""
        made[name] = value + after
    return made


def findings(connector: Mapping[str, Any], instance: Instance, host: str) -> list[dict[str, str]]:
    """A finding for all that this version does not do, or passes over in silence."""
    if not instance.pool:
        return []
    found = [
        _key_finding(connector, instance, host, key, where)
        for where, given in (("config", instance.mooncake), ("extra_config", instance.extra_config))
        for key in given
        if key not in _names(connector[where])
    ]
    if not instance.segment_bytes and STANDALONE not in connector["store_modes"]:
        found.append(_standalone_finding(instance, host))
    return found


def _standalone_finding(instance: Instance, host: str) -> dict[str, str]:
    return finding.make(
        CHECK_SEGMENT,
        finding.ERROR,
        host,
        observed=f"instance {instance.name} lends no segment (segment_size 0)",
        expected="a segment, since this release has no mode in which only store nodes own the pool",
        fix="give segment_size, such as 40GiB, or take the instance out of the pool with pool: false",
    )


def _key_finding(
    connector: Mapping[str, Any], instance: Instance, host: str, key: str, where: str
) -> dict[str, str]:
    known = {
        entry["name"]: entry["reason"]
        for entry in connector["ineffective"]
        if entry["where"] == where
    }
    field = _FIELDS[where]
    reason = known.get(key, f"{connector['name']} of this release does not read it")
    return finding.make(
        CHECK_KEYS,
        finding.WARNING,
        host,
        observed=f"instance {instance.name}: {field}: {key} does nothing ({reason}) and is left out",
        expected=f"one of {', '.join(sorted(_names(connector[where])))}",
        fix=f"remove {key} from {field} of the instance, or correct its name",
    )


def _names(keys: list[Mapping[str, Any]]) -> set[str]:
    return {key["name"] for key in keys}
