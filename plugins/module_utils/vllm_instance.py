# Copyright The kvcache.ascend authors
# SPDX-License-Identifier: Apache-2.0
"""One vLLM instance as it is described in the inventory (an item of `vllm_instances`), read and checked.

name          letters, digits and dashes; the unit is vllm@<name>.service
model         path or name of the model, the same text on every host: it is part of the keys in the pool
served_name   name under which clients ask for it; the model's own when empty
port          TCP port of the API
host          local address that the API binds
devices       NPUs, as numbers; empty on platform cpu
pool          whether it takes part in the pool
segment_size  memory that each of its ranks lends to the pool
buffer_size   memory through which each rank sends and receives
rpc_port      number in the name of the instance's lookup socket; no TCP port. Its place in the list when left out
kv_role       kv_both, kv_producer or kv_consumer
on_lost_block recompute or fail: what becomes of a request whose blocks were evicted between lookup and load
options       options of "vllm serve", by name, without the leading dashes
extra_config  keys of kv_connector_extra_config
mooncake      keys of mooncake.json
env           environment variables
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Mapping

from ansible_collections.kvcache.ascend.plugins.module_utils import (
    sizes,
    systemd_environment,
    value_kinds,
)
from ansible_collections.kvcache.ascend.plugins.module_utils.value_kinds import Kind

KV_ROLES = ("kv_both", "kv_producer", "kv_consumer")
ON_LOST_BLOCK = ("recompute", "fail")
LEAST_BUFFER_BYTES = 1 << 20

KINDS: dict[str, Kind] = {
    "name": value_kinds.matching(
        "[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?",
        "up to 32 small letters, digits and dashes",
        numbers=True,
    ),
    "model": Kind("the path of the model on the hosts, or its name", value_kinds.LINE.accepts),
    "served_name": value_kinds.or_empty(
        value_kinds.matching(r"[^\x00-\x1f\x7f]*", "a text of one line", numbers=True)
    ),
    "port": value_kinds.whole(1024, 65535),
    "host": value_kinds.ADDRESS,
    "devices": value_kinds.or_empty(
        value_kinds.list_of(value_kinds.whole(0, 1023), "a list of NPU numbers, such as [0, 1]")
    ),
    "pool": value_kinds.BOOLEAN,
    "segment_size": value_kinds.SIZE,
    "buffer_size": value_kinds.SIZE,
    "rpc_port": value_kinds.whole(0, 65535),
    "kv_role": value_kinds.one_of(KV_ROLES),
    "on_lost_block": value_kinds.one_of(ON_LOST_BLOCK),
    **dict.fromkeys(
        ("options", "extra_config", "mooncake", "env"), value_kinds.or_empty(value_kinds.DICT)
    ),
}
"""What each key of an instance may be."""

OPTION_KINDS: dict[str, Kind] = dict.fromkeys(
    ("tensor-parallel-size", "pipeline-parallel-size", "data-parallel-size"),
    value_kinds.whole(1, 1024),
)
"""Options with which the collection counts; the others may be whatever JSON can hold, vLLM knows what they mean."""

_CLAIMS = ("port", "rpc_port", "devices", "pool")

# Keys of kv_connector_extra_config that are made from rpc_port; the name depends on the version.
_RPC_PORT_KEYS = ("mooncake_rpc_port", "lookup_rpc_port")

# Options of vLLM that are fields of an instance of their own, or that are made from its other fields.
_OPTIONS_OF_FIELDS = {
    "model": "model",
    "served-model-name": "served_name",
    "port": "port",
    "host": "host",
    "kv-transfer-config": "kv_role, extra_config and pool",
    "config": "options",
    "api-key": "vllm_secrets",
}


class InstanceError(ValueError):
    """Descriptions of instances are wrong; the message says of each where, what was given and what is expected."""


@dataclass(frozen=True)
class Instance:
    name: str
    model: str
    served_name: str = ""
    port: int = 8000
    host: str = "0.0.0.0"
    devices: list[int] = field(default_factory=list)
    pool: bool = True
    segment_size: str = "4GiB"
    buffer_size: str = "1GiB"
    rpc_port: int = 0
    kv_role: str = "kv_both"
    on_lost_block: str = "recompute"
    options: dict[str, Any] = field(default_factory=dict)
    extra_config: dict[str, Any] = field(default_factory=dict)
    mooncake: dict[str, Any] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)

    @property
    def segment_bytes(self) -> int:
        """Bytes that each rank lends to the pool."""
        return sizes.to_bytes(self.segment_size) if self.pool else 0

    @property
    def buffer_bytes(self) -> int:
        return sizes.to_bytes(self.buffer_size) if self.pool else 0

    @property
    def tensor_parallel_size(self) -> int:
        return int(self.options.get("tensor-parallel-size", 0)) or len(self.devices) or 1

    @property
    def ranks(self) -> int:
        """Processes that each lend a segment."""
        return self.tensor_parallel_size * int(self.options.get("data-parallel-size", 1))

    @property
    def pool_bytes(self) -> int:
        """Host memory that the pool takes for this instance: a segment and a buffer for each rank."""
        return self.ranks * (self.segment_bytes + self.buffer_bytes)


RANKS_FIX = "name as many devices as tensor-parallel-size times data-parallel-size"


def ranks_problem(instance: Instance) -> str:
    """Why an instance can't run on an NPU host; empty when it has an NPU for each rank."""
    if instance.ranks == len(instance.devices):
        return ""
    return (
        f"instance {instance.name} has {instance.ranks} ranks and {len(instance.devices)} devices"
    )


def option_name(name: str) -> str:
    """The name as "vllm serve" writes it, without the leading dashes."""
    return name.lstrip("-").replace("_", "-")


def read_all(described: Any, common_options: Mapping[str, Any] | None = None) -> list[Instance]:
    """Every instance of a host; InstanceError lists all that is wrong with any of them, and with the common options."""
    instances, problems = read(described, common_options)
    if problems:
        raise InstanceError("; ".join(problems))
    return instances


def read(described: Any, common_options: Any = None) -> tuple[list[Instance], list[str]]:
    """The instances of a host that can be read, and all that is wrong with any of them. Never raises."""
    problems = common_problems(common_options)
    common = {} if problems else common_options or {}
    if not isinstance(described, (list, tuple)):
        kind = Kind("a list of instances", value_kinds.LIST.accepts)
        return [], [value_kinds.problem("vllm_instances", described, kind), *problems]
    instances, outlines = [], []
    for position, item in enumerate(described):
        found = item_problems(item)
        if found:
            problems += [f"{_where(item, position)}{problem}" for problem in found]
            outlines += _outline(item, position)
        else:
            instances.append(_make(item, position, common))
    return instances, problems + _clashes([*instances, *outlines])


def _where(item: Any, position: int) -> str:
    """Which instance is meant: "vllm_instances[0] (a): ", and what follows is what is wrong with it."""
    name = item.get("name") if isinstance(item, Mapping) else None
    told = f" ({name})" if KINDS["name"].accepts(name) else ""
    return f"vllm_instances[{position}]{told}{': ' if isinstance(item, Mapping) else ' '}"


def _make(item: Mapping[str, Any], position: int, common_options: Mapping[str, Any]) -> Instance:
    given = dict(item)
    given["name"] = str(item["name"])
    # With a slash at its end the same model would look like another one.
    given["model"] = item["model"].rstrip("/") or item["model"]
    given["served_name"] = str(item.get("served_name") or "")
    options = {**_named(common_options), **_named(item.get("options") or {})}
    given["options"] = {name: value for name, value in options.items() if value is not None}
    given["port"] = int(item.get("port", Instance.port))
    given["rpc_port"] = int(item.get("rpc_port", position))
    given["devices"] = [int(device) for device in item.get("devices") or []]
    given["env"] = {name: str(value) for name, value in (item.get("env") or {}).items()}
    given["segment_size"] = str(item.get("segment_size", Instance.segment_size))
    given["buffer_size"] = str(item.get("buffer_size", Instance.buffer_size))
    for name in ("extra_config", "mooncake"):
        given[name] = {
            key: value for key, value in (item.get(name) or {}).items() if value is not None
        }
    return Instance(**given)


def _outline(item: Any, position: int) -> list[Instance]:
    """What an instance would share with others, of one with which something else is wrong; none when that is not told."""
    if not isinstance(item, Mapping):
        return []
    claims = {key: item[key] for key in _CLAIMS if key in item}
    if value_kinds.problems(claims, KINDS) or _twice(claims.get("devices")):
        return []
    name = item.get("name")
    told = name if KINDS["name"].accepts(name) else f"vllm_instances[{position}]"
    return [_make({"name": told, "model": "", **claims}, position, {})]


def _named(options: Mapping[str, Any]) -> dict[str, Any]:
    return {option_name(name): value for name, value in options.items()}


def item_problems(item: Any) -> list[str]:
    """All that is wrong with one description; of one that is no dict, what it is."""
    if not isinstance(item, Mapping):
        kind = Kind("a dict with name and model", value_kinds.DICT.accepts)
        return [value_kinds.problem("", item, kind).strip()]
    found = [
        f"unknown key {value_kinds.key_text(key)}: known are {', '.join(sorted(KINDS))}"
        for key in sorted(set(item) - set(KINDS), key=str)
    ]
    found += [
        f"{key} is missing, expected {KINDS[key].expected}"
        for key in ("name", "model")
        if key not in item
    ]
    return (
        found
        + value_kinds.problems(item, KINDS)
        + _twice(item.get("devices"))
        + _small_sizes(item)
        + _options_problems("options", item.get("options"))
        + _config_problems(item)
        + environment_problems("env", item.get("env"))
    )


def _twice(devices: Any) -> list[str]:
    if not devices or not KINDS["devices"].accepts(devices):
        return []
    if len({int(each) for each in devices}) == len(devices):
        return []
    return [f"devices {devices!r} names one NPU twice"]


def _small_sizes(item: Mapping[str, Any]) -> list[str]:
    keys = item.get("mooncake")
    keys = keys if isinstance(keys, Mapping) else {}
    given = (
        ("segment_size", item.get("segment_size"), sizes.SLAB_BYTES),
        ("buffer_size", item.get("buffer_size"), LEAST_BUFFER_BYTES),
        # These win over the fields, whichever they are made from.
        ("mooncake: global_segment_size", keys.get("global_segment_size"), sizes.SLAB_BYTES),
        ("mooncake: local_buffer_size", keys.get("local_buffer_size"), LEAST_BUFFER_BYTES),
    )
    return [text for text in (_small_size(*each) for each in given) if text]


def _small_size(name: str, value: Any, least: int) -> str:
    """Why a size can hardly be meant; empty when it may, or when it is none, which is told by its kind."""
    if not value_kinds.SIZE.accepts(value):
        return ""
    size = sizes.to_bytes(value)
    if size == 0 or size >= least:
        return ""
    zero = "0, or " if least == sizes.SLAB_BYTES else ""
    return f"{name} {value!r} is {size} bytes: write {zero}at least {sizes.to_text(least)} with its unit, such as 40GiB"


def common_problems(options: Any) -> list[str]:
    """What is wrong with vllm_options, those of all instances."""
    if value_kinds.or_empty(value_kinds.DICT).accepts(options):
        return _options_problems("vllm_options", options)
    return [value_kinds.problem("vllm_options", options, value_kinds.DICT)]


def _options_problems(where: str, options: Any) -> list[str]:
    if not isinstance(options, Mapping):
        return []
    found = value_kinds.key_problems(where, options)
    spellings: dict[str, str] = {}
    for given, value in options.items():
        if not value_kinds.is_key(given):
            continue
        name = option_name(given)
        if name in _OPTIONS_OF_FIELDS:
            found.append(f"{where}: {given} is set by {_OPTIONS_OF_FIELDS[name]}: write it there")
            continue
        if name in spellings:
            found.append(f"{where}: {spellings[name]} and {given} are the same option")
        spellings[name] = given
        kind = OPTION_KINDS.get(name, value_kinds.JSON)
        if value is not None:
            found.append(
                value_kinds.problem(
                    f"{where}: {given}", value, kind, systemd_environment.is_secret(name)
                )
            )
    return [each for each in found if each]


def _config_problems(item: Mapping[str, Any]) -> list[str]:
    found = []
    for where in ("extra_config", "mooncake"):
        given = item.get(where)
        if isinstance(given, Mapping):
            found += value_kinds.key_problems(where, given)
            found += value_kinds.problems(
                given, dict.fromkeys(given, value_kinds.JSON), f"{where}: "
            )
    extra_config = item.get("extra_config")
    found += [
        f"extra_config: {key} is set by rpc_port: write it there"
        for key in _RPC_PORT_KEYS
        if isinstance(extra_config, Mapping) and key in extra_config
    ]
    return found


def environment_problems(where: str, variables: Any, are_secret: bool = False) -> list[str]:
    """Names and values that no environment can have. Of a secret, its value is not repeated."""
    if not isinstance(variables, Mapping):
        return []
    return [f"{where}: {text}" for text in systemd_environment.unwritable(variables, are_secret)]


def _clashes(instances: list[Instance]) -> list[str]:
    """What two instances of one host can't share."""
    found = []
    for index, second in enumerate(instances):
        for first in instances[:index]:
            pair = f"{first.name} and {second.name}"
            if first.name == second.name:
                found.append(f"two instances are named {first.name}")
            if first.port == second.port:
                found.append(f"{pair} both have port {first.port}")
            if first.pool and second.pool and first.rpc_port == second.rpc_port:
                found.append(f"{pair} both have rpc_port {first.rpc_port}")
            shared = sorted(set(first.devices) & set(second.devices))
            if shared:
                found.append(f"{pair} both claim NPU {', '.join(map(str, shared))}")
    return found
