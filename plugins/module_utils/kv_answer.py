# Copyright The kvcache.ascend authors
# SPDX-License-Identifier: Apache-2.0
"""A plan as a whole: from a model's config.json and the sizes as people write them to numbers, findings, and text."""

from __future__ import annotations

from typing import Any, Mapping, Optional, Tuple

from ansible_collections.kvcache.ascend.plugins.module_utils import (
    finding,
    kv_layout,
    kv_plan,
    sizes,
)

CHECK_POOL = "plan_pool"
CHECK_DOCUMENTS = "plan_documents"
CHECK_LAYOUT = "plan_layout"

HBM_SOURCES = ("kv_cache_tokens", "kv_cache_memory", "device_memory")


def capacity(
    config: Mapping[str, Any],
    *,
    tensor_parallel_size: int = 1,
    kv_cache_dtype: str = "auto",
    block_size: int = 128,
    kv_cache_tokens: int = 0,
    kv_cache_memory: str = "",
    device_memory: str = "",
    gpu_memory_utilization: float = 0.9,
    weights_memory: str = "0",
    other_memory: str = "0",
) -> kv_plan.Hbm:
    """What the HBM of one instance holds, from exactly one of the three sources."""
    given = {
        "kv_cache_tokens": kv_cache_tokens,
        "kv_cache_memory": kv_cache_memory,
        "device_memory": device_memory,
    }
    sources = [name for name, value in given.items() if value]
    if len(sources) != 1:
        told = " and ".join(sources) or "none of them"
        raise kv_plan.PlanError(f"give one of {', '.join(HBM_SOURCES)}: {told} is given")
    layout = kv_layout.read(config, tensor_parallel_size, kv_cache_dtype)
    if kv_cache_tokens:
        return kv_plan.hbm_from_tokens(layout, kv_cache_tokens, block_size)
    if kv_cache_memory:
        rank_bytes = _bytes("kv_cache_memory", kv_cache_memory)
        return kv_plan.hbm_from_memory(layout, rank_bytes, block_size)
    left = kv_plan.cache_memory(
        _bytes("device_memory", device_memory),
        gpu_memory_utilization,
        _bytes("weights_memory", weights_memory),
        _bytes("other_memory", other_memory),
    )
    return kv_plan.hbm_from_memory(layout, left, block_size)


def _bytes(name: str, size: Any) -> int:
    try:
        return sizes.to_bytes(size)
    except sizes.SizeError as error:
        raise kv_plan.PlanError(f"{name}: {error}") from error


def plan(
    config: Mapping[str, Any],
    *,
    segment_size: str = "0",
    watermark: float = 0.9,
    eviction_ratio: float = 0.05,
    keyed_by_rank: bool = True,
    document_tokens: int = 10000,
    output_tokens: int = 50,
    documents: int = 0,
    host: str = "localhost",
    **cache: Any,
) -> dict[str, Any]:
    """The numbers of a plan; `documents` is how many are wanted, 0 for no wish."""
    hbm = capacity(config, **cache)
    layout = kv_layout.read(
        config, cache.get("tensor_parallel_size", 1), cache.get("kv_cache_dtype", "auto")
    )
    asked = kv_plan.documents(document_tokens, output_tokens, cache.get("block_size", 128))
    pool = kv_plan.pool(
        layout,
        asked,
        _bytes("segment_size", segment_size),
        watermark=watermark,
        eviction_ratio=eviction_ratio,
        keyed_by_rank=keyed_by_rank,
    )
    answer = {
        **layout_facts(layout, keyed_by_rank),
        "block_size": asked.block_size,
        "hbm": {**hbm_facts(hbm), "documents": kv_plan.hbm_documents(hbm, asked)},
        "pool": {
            "size_bytes": pool.size_bytes,
            "document_bytes": pool.document_bytes,
            "documents": pool.documents,
            "documents_after_eviction": pool.documents_after_eviction,
        },
        "document_tokens": document_tokens,
    }
    answer["knee_documents"] = max(answer["hbm"]["documents"], pool.documents)
    answer["wanted_documents"] = documents
    # A pool is worth its memory from the first document on that HBM alone would have lost.
    answer["useful_segment_bytes"] = kv_plan.segment_for(
        layout, answer["hbm"]["documents"] + 1, pool
    )
    answer["wanted_segment_bytes"] = (
        kv_plan.segment_for(layout, documents, pool)
        if documents > answer["hbm"]["documents"]
        else 0
    )
    answer["findings"] = _findings(answer, host)
    return answer


def layout_facts(layout: kv_layout.KvLayout, keyed_by_rank: bool = True) -> dict[str, Any]:
    return {
        "attention": layout.attention,
        "layers": layout.layers,
        "tensor_parallel_size": layout.tensor_parallel_size,
        "rank_bytes_per_token": layout.rank_bytes_per_token,
        "pool_bytes_per_token": layout.pool_bytes_per_token(keyed_by_rank),
    }


def hbm_facts(hbm: kv_plan.Hbm) -> dict[str, Any]:
    return {"blocks": hbm.blocks, "tokens": hbm.tokens, "rank_bytes": hbm.rank_bytes}


def _findings(answer: dict[str, Any], host: str) -> list[dict[str, str]]:
    judged = (
        _judge_layout(answer),
        _judge_document(answer),
        _judge_pool(answer),
        _judge_wish(answer),
    )
    return [
        finding.make(check, severity, host, observed=observed, expected=expected, fix=fix)
        for check, severity, observed, expected, fix in filter(None, judged)
    ]


# Check, severity, what is observed, what was expected, what to do.
Judgement = Optional[Tuple[str, str, str, str, str]]


def _judge_layout(answer: dict[str, Any]) -> Judgement:
    if answer["attention"] != kv_layout.HYBRID:
        return None
    return (
        CHECK_LAYOUT,
        finding.WARNING,
        f"the model is a hybrid: {answer['layers']} of its layers cache by the token, and the state "
        "of the others is not in this plan",
        "",
        'give kv_cache_tokens as vLLM prints it ("GPU KV cache size") and the block size of its log',
    )


def _judge_document(answer: dict[str, Any]) -> Judgement:
    if answer["hbm"]["documents"]:
        return None
    return (
        CHECK_DOCUMENTS,
        finding.ERROR,
        f"a document of {answer['document_tokens']} tokens does not fit into HBM, "
        f"which holds {answer['hbm']['tokens']} tokens",
        "room for a document and its answer",
        "shorten the documents, or give more devices (tensor_parallel_size) or more memory",
    )


def _judge_pool(answer: dict[str, Any]) -> Judgement:
    pool, hbm = answer["pool"], answer["hbm"]
    if not pool["size_bytes"] or pool["documents"] > hbm["documents"]:
        return None
    return (
        CHECK_POOL,
        finding.WARNING,
        f"the pool holds {pool['documents']} documents, no more than HBM with {hbm['documents']}: "
        "for one instance it costs time and memory, and gives nothing",
        f"a segment_size of at least {_exact(answer['useful_segment_bytes'])} for each rank",
        "raise segment_size; leave it only if the pool is to share documents between instances or over restarts",
    )


def _judge_wish(answer: dict[str, Any]) -> Judgement:
    wanted = answer["wanted_documents"]
    if wanted <= answer["knee_documents"]:
        return None
    return (
        CHECK_DOCUMENTS,
        finding.WARNING,
        f"{wanted} documents are wanted, and {answer['knee_documents']} are held",
        f"a segment_size of at least {_exact(answer['wanted_segment_bytes'])} for each rank",
        "raise segment_size, and see that the host's memory has room for the segments of all its ranks",
    )


def _exact(size_bytes: int) -> str:
    return f"{size_bytes // kv_plan.GIB}GiB"


def render(answer: dict[str, Any]) -> str:
    """The plan as lines for a terminal, and below them its findings."""
    rows = [
        ("a token costs", _token_text(answer)),
        ("HBM holds", _hbm_text(answer)),
        ("the pool holds", _pool_text(answer["pool"])),
        (
            "the knee",
            f"after {answer['knee_documents']} documents of {answer['document_tokens']:,} tokens",
        ),
    ]
    if answer["wanted_segment_bytes"]:
        wish = f"for {answer['wanted_documents']} documents"
        rows.append((wish, f"segment_size {_exact(answer['wanted_segment_bytes'])} for each rank"))
    width = max(len(name) for name, _text in rows)
    lines = [f"{name:<{width}}  {text}" for name, text in rows]
    return "\n".join([*lines, finding.render(answer["findings"])]).rstrip()


def _token_text(answer: dict[str, Any]) -> str:
    each = f" on each of {answer['tensor_parallel_size']} ranks"
    ranks = each if answer["tensor_parallel_size"] > 1 else ""
    in_hbm, in_pool = answer["rank_bytes_per_token"], answer["pool_bytes_per_token"]
    return f"{in_hbm:,} bytes of HBM{ranks}, {in_pool:,} bytes of the pool"


def _hbm_text(answer: dict[str, Any]) -> str:
    hbm = answer["hbm"]
    blocks = f"{hbm['blocks']:,} blocks of {answer['block_size']}"
    memory = sizes.to_text(hbm["rank_bytes"])
    return f"{hbm['documents']} documents: {hbm['tokens']:,} tokens in {blocks}, {memory} a rank"


def _pool_text(pool: dict[str, Any]) -> str:
    if not pool["size_bytes"]:
        return "nothing: there is none"
    each, size = sizes.to_text(pool["document_bytes"]), sizes.to_text(pool["size_bytes"])
    left = pool["documents_after_eviction"]
    return f"{pool['documents']} documents of {each} in {size}; {left} once it evicts"
