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

import re
from dataclasses import dataclass, field, fields
from typing import Any, Mapping

from ansible_collections.kvcache.ascend.plugins.module_utils import sizes

KV_ROLES = ("kv_both", "kv_producer", "kv_consumer")
ON_LOST_BLOCK = ("recompute", "fail")
LEAST_BUFFER_BYTES = 1 << 20
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?\Z")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")

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
    """The description of an instance is wrong; the message says where and what to write."""


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


def read_all(
    described: list[Mapping[str, Any]], common_options: Mapping[str, Any] | None = None
) -> list[Instance]:
    """Every instance of a host; InstanceError lists all that is wrong with any of them."""
    if not isinstance(described, list):
        raise InstanceError(f"vllm_instances is {_kind(described)}: write a list of instances")
    instances, outlines, problems = [], [], []
    for position, item in enumerate(described):
        where = f"vllm_instances[{position}]"
        found = _problems(item)
        if found:
            name = item.get("name") if isinstance(item, Mapping) else None
            problems += [f"{where}{f' ({name})' if name else ''}: {problem}" for problem in found]
            outlines += _outline(item, position)
        else:
            instances.append(_make(item, position, common_options or {}))
    problems += _clashes([*instances, *outlines])
    if problems:
        raise InstanceError("; ".join(problems))
    return instances


def _make(item: Mapping[str, Any], position: int, common_options: Mapping[str, Any]) -> Instance:
    given = dict(item)
    given["options"] = {
        option_name(name): value
        for name, value in {
            **_named(common_options),
            **_named(item.get("options") or {}),
        }.items()
    }
    given["port"] = int(item.get("port", 8000))
    given["rpc_port"] = int(item.get("rpc_port", position))
    given["devices"] = [int(device) for device in item.get("devices") or []]
    given["env"] = {name: str(value) for name, value in (item.get("env") or {}).items()}
    given["segment_size"] = str(item.get("segment_size", Instance.segment_size))
    given["buffer_size"] = str(item.get("buffer_size", Instance.buffer_size))
    return Instance(**given)


def _outline(item: Any, position: int) -> list[Instance]:
    """What an instance would share with others, of one with which something else is wrong; none when that is not told."""
    if not isinstance(item, Mapping):
        return []
    claims = {key: item[key] for key in ("port", "rpc_port", "devices", "pool") if key in item}
    if _number_problems(claims) or _word_problems(claims):
        return []
    name = str(item.get("name") or f"vllm_instances[{position}]")
    return [_make({"name": name, "model": "", **claims}, position, {})]


def _named(options: Mapping[str, Any]) -> dict[str, Any]:
    return {option_name(name): value for name, value in options.items()}


def _problems(item: Any) -> list[str]:
    """All that is wrong with one description."""
    if not isinstance(item, Mapping):
        return [f"{_kind(item)}: write a dict with name and model"]
    known = {known_field.name for known_field in fields(Instance)}
    found = [
        f"unknown key {key}: known are {', '.join(sorted(known))}"
        for key in sorted(set(item) - known, key=str)
    ]
    if not _NAME.match(str(item.get("name", ""))):
        found.append("name: write up to 32 small letters, digits and dashes")
    model = item.get("model")
    if model is None or not str(model).strip():
        found.append("model is missing: give the path of the model on the hosts")
    elif not isinstance(model, str):
        found.append(f"model {model!r} is {_kind(model)}: give the path of the model on the hosts")
    return found + _number_problems(item) + _word_problems(item) + _dict_problems(item)


def _number_problems(item: Mapping[str, Any]) -> list[str]:
    found = []
    if not _is_number(item.get("port", 8000), 1024, 65535):
        found.append(f"port {item['port']!r} is no number from 1024 to 65535")
    if not _is_number(item.get("rpc_port", 0), 0, 65535):
        found.append(f"rpc_port {item['rpc_port']!r} is no number from 0 to 65535")
    devices = item.get("devices") or []
    if not isinstance(devices, list) or not all(_is_number(each, 0, 1023) for each in devices):
        found.append(f"devices {devices!r} is no list of NPU numbers, such as [0, 1]")
    elif len({int(each) for each in devices}) < len(devices):
        found.append(f"devices {devices!r} names one NPU twice")
    return found + _size_problems(item)


def _size_problems(item: Mapping[str, Any]) -> list[str]:
    keys = item.get("mooncake")
    keys = keys if isinstance(keys, Mapping) else {}
    given = (
        ("segment_size", item.get("segment_size", 0), sizes.SLAB_BYTES),
        ("buffer_size", item.get("buffer_size", 0), LEAST_BUFFER_BYTES),
        # These win over the fields, whichever they are made from.
        ("mooncake: global_segment_size", keys.get("global_segment_size", 0), sizes.SLAB_BYTES),
        ("mooncake: local_buffer_size", keys.get("local_buffer_size", 0), LEAST_BUFFER_BYTES),
    )
    return [text for text in (_size_problem(*each) for each in given) if text]


def _size_problem(name: str, value: Any, least: int) -> str:
    try:
        size = sizes.to_bytes(value)
    except sizes.SizeError as error:
        return f"{name}: {error}"
    if size == 0 or size >= least:
        return ""
    zero = "0, or " if least == sizes.SLAB_BYTES else ""
    return f"{name} {value!r} is {size} bytes: write {zero}at least {sizes.to_text(least)} with its unit, such as 40GiB"


def _word_problems(item: Mapping[str, Any]) -> list[str]:
    found = []
    for key, words in (("kv_role", KV_ROLES), ("on_lost_block", ON_LOST_BLOCK)):
        if item.get(key, words[0]) not in words:
            found.append(f"{key} {item[key]!r} is none of {', '.join(words)}")
    if not isinstance(item.get("pool", True), bool):
        found.append(f"pool {item['pool']!r} is neither true nor false")
    return found


def _dict_problems(item: Mapping[str, Any]) -> list[str]:
    found = [
        f"{name} is {_kind(item[name])}: write a dict"
        for name in ("options", "extra_config", "mooncake", "env")
        if item.get(name) and not isinstance(item[name], Mapping)
    ]
    if found:
        return found
    for name in item.get("options") or {}:
        if option_name(str(name)) in _OPTIONS_OF_FIELDS:
            instead = _OPTIONS_OF_FIELDS[option_name(str(name))]
            found.append(f"options: {name} is set by {instead}: write it there")
    found += [
        f"extra_config: {key} is set by rpc_port: write it there"
        for key in _RPC_PORT_KEYS
        if key in (item.get("extra_config") or {})
    ]
    found += [
        f"env: {name!r} is no name of a variable"
        for name in item.get("env") or {}
        if not _VARIABLE.match(str(name))
    ]
    return found


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


def _is_number(value: Any, least: int, most: int) -> bool:
    if isinstance(value, bool) or not re.match(r"[0-9]+\Z", str(value), re.ASCII):
        return False
    return least <= int(value) <= most


def _kind(value: Any) -> str:
    if value is None:
        return "empty"
    return {
        "str": "a text",
        "list": "a list",
        "int": "a number",
        "float": "a number",
        "bool": "a truth value",
        "dict": "a dict",
    }.get(type(value).__name__, type(value).__name__)
