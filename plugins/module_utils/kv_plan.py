# Copyright The kvcache.ascend authors
# SPDX-License-Identifier: Apache-2.0
"""Where the knee will be: how many documents the HBM of an instance holds, and how many its pool.

The rules, and what they rest on:

* vLLM's KV cache is an array of blocks, the first of which is kept back (get_num_blocks in
  vllm/v1/core/kv_cache_utils.py, null_block in block_pool.py). A document keeps its full blocks and,
  in a cycle of documents, the block of its rest and of its answer.
* Only full blocks go to the pool, and the connector writes each of them there, also those that HBM
  still holds. The pool repeats HBM instead of adding to it: the knee is the larger of the two numbers
  of documents, not their sum.
* A lookup ends at the first block that is missing, and a cycle of documents always asks next for what
  was used longest ago: one document more than fits, and none of them is found.
* The master evicts as soon as the pool is fuller than its high watermark (EvictionThreadFunc in
  mooncake-store/src/master_service.cpp): up to there every document stays. Once it evicts, it goes
  down to the watermark less the eviction ratio.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ansible_collections.kvcache.ascend.plugins.module_utils import sizes
from ansible_collections.kvcache.ascend.plugins.module_utils.kv_layout import KvLayout

# vLLM keeps block 0 as a place that holds nothing.
RESERVED_BLOCKS = 1
GIB = 1024**3


class PlanError(ValueError):
    """The numbers can't be planned with; the message says which one and what it may be."""


@dataclass(frozen=True)
class Documents:
    """What is asked: prompts of one length, each answered with some tokens."""

    prompt_tokens: int
    output_tokens: int
    block_size: int

    @property
    def full_blocks(self) -> int:
        return self.prompt_tokens // self.block_size

    @property
    def blocks(self) -> int:
        return math.ceil((self.prompt_tokens + self.output_tokens) / self.block_size)


@dataclass(frozen=True)
class Hbm:
    """The KV cache of an instance; every rank holds the same number of blocks."""

    blocks: int
    rank_bytes: int
    tokens: int


@dataclass(frozen=True)
class Pool:
    """The pool as one instance sees it: a segment of each of its ranks."""

    size_bytes: int
    document_bytes: int
    watermark: float
    eviction_ratio: float

    @property
    def documents(self) -> int:
        """Documents that stay, since eviction never begins."""
        return math.floor(self.size_bytes * self.watermark / self.document_bytes)

    @property
    def documents_after_eviction(self) -> int:
        """Documents that are left once eviction has begun."""
        share = max(0.0, self.watermark - self.eviction_ratio)
        return math.floor(self.size_bytes * share / self.document_bytes)


def documents(prompt_tokens: int, output_tokens: int, block_size: int) -> Documents:
    _check_block_size(block_size)
    _at_least("output_tokens", output_tokens, 0)
    _at_least("document_tokens", prompt_tokens, 1)
    if prompt_tokens < block_size:
        raise PlanError(
            f"document_tokens is {prompt_tokens}, less than one block of {block_size} tokens: nothing of it would be cached"
        )
    return Documents(prompt_tokens, output_tokens, block_size)


def _check_block_size(block_size: int) -> None:
    _at_least("block_size", block_size, 1)


def hbm_from_tokens(layout: KvLayout, tokens: int, block_size: int) -> Hbm:
    """From what vLLM writes when it starts: "GPU KV cache size: 369,280 tokens"."""
    _check_block_size(block_size)
    _at_least("kv_cache_tokens", tokens, block_size)
    blocks = tokens // block_size
    return Hbm(blocks, blocks * block_size * layout.rank_bytes_per_token, blocks * block_size)


def hbm_from_memory(layout: KvLayout, rank_bytes: int, block_size: int) -> Hbm:
    """From the memory that a rank has for its KV cache."""
    _check_block_size(block_size)
    block_bytes = block_size * layout.rank_bytes_per_token
    if rank_bytes < block_bytes * (RESERVED_BLOCKS + 1):
        raise PlanError(
            f"{sizes.to_text(rank_bytes)} for the KV cache of a rank holds no two blocks of {sizes.to_text(block_bytes)}"
        )
    blocks = rank_bytes // block_bytes
    return Hbm(blocks, blocks * block_bytes, blocks * block_size)


def cache_memory(
    device_bytes: int, utilization: float, weights_bytes: int, other_bytes: int
) -> int:
    """What is left for the KV cache of a rank: its share of the device, less weights, activations and the runtime."""
    _share("gpu_memory_utilization", utilization)
    left = math.floor(device_bytes * utilization) - weights_bytes - other_bytes
    if left <= 0:
        raise PlanError(
            f"nothing is left for the KV cache: {sizes.to_text(device_bytes)} x {utilization} is less than "
            f"weights {sizes.to_text(weights_bytes)} and other {sizes.to_text(other_bytes)}"
        )
    return left


def pool(
    layout: KvLayout,
    asked: Documents,
    segment_bytes: int,
    *,
    watermark: float,
    eviction_ratio: float,
    keyed_by_rank: bool,
) -> Pool:
    _share("watermark", watermark)
    if not 0 <= eviction_ratio <= 1:
        raise PlanError(f"eviction_ratio is {eviction_ratio}: it is from 0 to 1")
    _at_least("segment_size", segment_bytes, 0)
    return Pool(
        segment_bytes * layout.tensor_parallel_size,
        _document_bytes(layout, asked, keyed_by_rank),
        watermark,
        eviction_ratio,
    )


def hbm_documents(hbm: Hbm, asked: Documents) -> int:
    return max(0, hbm.blocks - RESERVED_BLOCKS) // asked.blocks


def segment_for(layout: KvLayout, wanted: int, made: Pool) -> int:
    """The segment of each rank, in bytes, a whole number of GiB, in which that many documents stay."""
    _at_least("documents", wanted, 1)
    exact = wanted * made.document_bytes / (made.watermark * layout.tensor_parallel_size)
    return math.ceil(exact / GIB) * GIB


def _document_bytes(layout: KvLayout, asked: Documents, keyed_by_rank: bool) -> int:
    return asked.full_blocks * asked.block_size * layout.pool_bytes_per_token(keyed_by_rank)


def _share(name: str, value: float) -> None:
    if not 0 < value <= 1:
        raise PlanError(f"{name} is {value}: it is above 0 and at most 1")


def _at_least(name: str, value: int, least: int) -> None:
    if value < least:
        raise PlanError(f"{name} is {value}: it is at least {least}")
