# SPDX-License-Identifier: Apache-2.0
"""Which instances share entries of the pool.

The keys of an entry tell little of who wrote it (docs/vllm.md, "What instances share"): instances whose blocks differ may
have the same keys, and load what is wrong for them without a word.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, Iterable

from ansible_collections.kvcache.ascend.plugins.module_utils.preflight_model import (
    Finding,
    Host,
    error,
    warning,
)
from ansible_collections.kvcache.ascend.plugins.module_utils.vllm_instance import (
    Instance,
    ranks_problem,
)

CHECK = "pool_keys"

OPTIONS_OF_A_BLOCK = ("dtype", "kv-cache-dtype", "quantization")
"""Options that change what is in a block. Compared where both instances write them: their defaults come from the model."""

CONSUMER = "kv_consumer"
"""Role of an instance that, unless it is told to, neither writes to the pool nor reads from it."""

SHARES_ACROSS_RANKS = ("store_tp_size", "enable_store_tp_lcm")
"""Keys of vLLM's own connector that make instances of different tensor-parallel-size share entries rightly."""


@dataclass(frozen=True)
class Member:
    """An instance of the pool, and the host that runs it."""

    host: Host
    connector: dict[str, Any]
    instance: Instance

    @property
    def key(self) -> tuple[str, ...]:
        """Instances with the same value have the same keys for the same tokens."""
        prefix = str(self.instance.extra_config.get("cache_prefix", ""))
        return (str(self.connector["name"]), prefix, self.model_in_keys)

    @property
    def model_in_keys(self) -> str:
        model = self.instance.model
        return (
            model.rstrip("/").rpartition("/")[2]
            if self.connector["key_model"] == "folder"
            else model
        )

    @property
    def block(self) -> dict[str, str]:
        """What is in a block of it, as far as its description tells, and the keys do not."""
        options = self.instance.options
        told = {name: str(options[name]) for name in OPTIONS_OF_A_BLOCK if options.get(name)}
        if not self.connector["key_ranks"] and not any(
            self.instance.extra_config.get(name) for name in SHARES_ACROSS_RANKS
        ):
            told["tensor-parallel-size"] = str(self.instance.tensor_parallel_size)
            told["pipeline-parallel-size"] = str(options.get("pipeline-parallel-size", 1))
        return told


def check_pool_keys(hosts: list[Host]) -> list[Finding]:
    """Instances whose blocks differ and whose keys do not, and models that the keys can't tell apart."""
    by_key: dict[tuple[str, ...], list[Member]] = {}
    for member in _members(hosts):
        by_key.setdefault(member.key, []).append(member)
    found: list[Finding] = []
    for members in by_key.values():
        found += _block_findings(members)
        found += _model_findings(members)
    return found + _seed_findings(hosts)


def _members(hosts: list[Host]) -> Iterable[Member]:
    for host in hosts:
        if host.spec is None:
            continue
        for instance in host.instances():
            # With a wrong number of devices, which is a finding of its own, nobody knows which of both numbers is meant.
            unclear = host.platform == "npu" and ranks_problem(instance)
            if instance.pool and instance.kv_role != CONSUMER and not unclear:
                yield Member(host, host.spec["connector"], instance)


def _block_findings(members: list[Member]) -> list[Finding]:
    found = []
    for name in (*OPTIONS_OF_A_BLOCK, "tensor-parallel-size", "pipeline-parallel-size"):
        values = [member.block[name] for member in members if name in member.block]
        usual = _most_common(values)
        found += [
            error(
                CHECK,
                member.host.name,
                f"instance {member.instance.name} has {name} {member.block[name]}, others with the same keys in the pool "
                f"({member.model_in_keys}) have {usual}",
                "instances with the same keys have the same blocks: they load each other's, whatever is in them",
                f"give all of them the same {name}, or name another model path: a link with another name is enough",
            )
            for member in members
            if member.block.get(name, usual) != usual
        ]
    return found


def _model_findings(members: list[Member]) -> list[Finding]:
    usual = _most_common([member.instance.model.rstrip("/") for member in members])
    return [
        warning(
            CHECK,
            member.host.name,
            f"instance {member.instance.name} has model {member.instance.model}, another {usual}; in the pool both are "
            f"{member.model_in_keys}",
            "one model under one name: this release's keys have the last folder's name alone",
            "if the two are not the same model, give the folder of one, or a link to it, another name",
        )
        for member in members
        if member.instance.model.rstrip("/") != usual
    ]


def _seed_findings(hosts: list[Host]) -> list[Finding]:
    """Hosts whose instances start their hashes with another seed than the others."""
    seeds = {
        host.name: str(host.get("vllm_hash_seed"))
        for host in hosts
        if host.spec
        and host.spec["connector"]["hash_seed_required"]
        and host.get("vllm_hash_seed") is not None
        and any(instance.pool for instance in host.instances())
    }
    usual = _most_common(list(seeds.values()))
    return [
        warning(
            CHECK,
            name,
            f"vllm_hash_seed is {seed}, and {usual} on other hosts",
            "one seed for all instances of a pool: with different ones they share nothing",
            "set vllm_hash_seed once, in group_vars/all.yml",
        )
        for name, seed in seeds.items()
        if seed != usual
    ]


def _most_common(values: list[str]) -> str:
    return Counter(values).most_common(1)[0][0] if values else ""
