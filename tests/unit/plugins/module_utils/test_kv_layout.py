# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.kvcache.ascend.plugins.module_utils import kv_layout


def gqa(layers: int, kv_heads: int, head_dim: int, **more: Any) -> dict[str, Any]:
    return {
        "num_hidden_layers": layers,
        "num_attention_heads": 64,
        "num_key_value_heads": kv_heads,
        "head_dim": head_dim,
        "torch_dtype": "bfloat16",
        **more,
    }


DEEPSEEK_V3 = {
    "num_hidden_layers": 61,
    "num_attention_heads": 128,
    "num_key_value_heads": 128,
    "kv_lora_rank": 512,
    "qk_rope_head_dim": 64,
    "torch_dtype": "bfloat16",
}


@pytest.mark.parametrize(
    ("config", "per_token"),
    [
        pytest.param(gqa(28, 4, 128), 57344, id="Qwen2.5-7B"),
        pytest.param(gqa(24, 2, 64), 12288, id="Qwen2.5-0.5B"),
        pytest.param(gqa(48, 8, 128), 196608, id="Qwen2.5-14B"),
        pytest.param(gqa(64, 8, 128), 262144, id="Qwen3-32B"),
        pytest.param(gqa(80, 8, 128), 327680, id="Qwen2.5-72B"),
        pytest.param(gqa(32, 8, 128), 131072, id="Llama-3.1-8B"),
        pytest.param(DEEPSEEK_V3, 70272, id="DeepSeek-V3"),
        pytest.param(dict(DEEPSEEK_V3, num_hidden_layers=27), 31104, id="DeepSeek-V2-Lite"),
        pytest.param(
            {"text_config": gqa(28, 4, 128), "dtype": "bfloat16"},
            57344,
            id="text part of a multimodal model",
        ),
    ],
)
def test_bytes_per_token_of_known_models(config: dict[str, Any], per_token: int) -> None:
    assert kv_layout.read(config).rank_bytes_per_token == per_token


def test_without_head_dim_it_is_the_hidden_size_over_the_heads() -> None:
    config = {
        "num_hidden_layers": 28,
        "num_attention_heads": 28,
        "num_key_value_heads": 4,
        "hidden_size": 3584,
    }
    assert kv_layout.read(config).rank_bytes_per_token == 57344


def test_multi_head_attention_has_as_many_kv_heads_as_heads() -> None:
    config = {"num_hidden_layers": 32, "num_attention_heads": 32, "hidden_size": 4096}
    assert kv_layout.read(config).rank_bytes_per_token == 2 * 32 * 32 * 128 * 2


@pytest.mark.parametrize(
    ("ranks", "on_a_rank", "pool_by_rank", "pool_by_head"),
    [(1, 57344, 57344, 57344), (4, 14336, 57344, 57344), (8, 14336, 114688, 57344)],
)
def test_ranks_share_the_heads_and_copy_them_when_there_are_too_few(
    ranks: int, on_a_rank: int, pool_by_rank: int, pool_by_head: int
) -> None:
    layout = kv_layout.read(gqa(28, 4, 128), ranks)
    assert layout.rank_bytes_per_token == on_a_rank
    assert layout.pool_bytes_per_token(keyed_by_rank=True) == pool_by_rank
    assert layout.pool_bytes_per_token(keyed_by_rank=False) == pool_by_head


def test_every_rank_holds_the_whole_latent_vector_of_mla() -> None:
    layout = kv_layout.read(DEEPSEEK_V3, 16)
    assert layout.attention == kv_layout.MLA
    assert layout.rank_bytes_per_token == 70272
    assert layout.pool_bytes_per_token(keyed_by_rank=True) == 16 * 70272
    assert layout.pool_bytes_per_token(keyed_by_rank=False) == 70272


def test_the_indexer_of_sparse_attention_counts() -> None:
    layout = kv_layout.read(dict(DEEPSEEK_V3, index_head_dim=128))
    assert layout.rank_bytes_per_token == 61 * (512 + 64 + 128) * 2


@pytest.mark.parametrize(
    "kinds",
    [
        {"full_attention_interval": 4},
        {"layer_types": (["linear_attention"] * 3 + ["full_attention"]) * 12},
    ],
)
def test_of_a_hybrid_only_layers_with_attention_count(kinds: dict[str, Any]) -> None:
    layout = kv_layout.read(gqa(48, 2, 256, **kinds))
    assert (layout.attention, layout.layers) == (kv_layout.HYBRID, 12)
    assert layout.rank_bytes_per_token == 2 * 12 * 2 * 256 * 2


def test_the_cache_may_be_narrower_than_the_model() -> None:
    assert kv_layout.read(gqa(28, 4, 128), kv_cache_dtype="fp8").rank_bytes_per_token == 28672


@pytest.mark.parametrize(
    ("config", "options", "message"),
    [
        ({}, {}, "config.json: num_hidden_layers is missing"),
        (gqa(0, 4, 128), {}, "num_hidden_layers is 0, no positive number"),
        (
            gqa(28, 4, 128, num_key_value_heads="4"),
            {},
            "num_key_value_heads is '4', no positive number",
        ),
        ({"num_hidden_layers": 2}, {}, "num_key_value_heads is missing"),
        (
            gqa(28, 4, 128),
            {"tensor_parallel_size": 3},
            "tensor_parallel_size 3 does not fit num_key_value_heads 4",
        ),
        (gqa(28, 4, 128), {"tensor_parallel_size": 0}, "tensor_parallel_size is 0"),
        (gqa(28, 4, 128), {"kv_cache_dtype": "int3"}, "'int3' is no type of a KV cache known here"),
        (
            gqa(28, 4, 128, layer_types=["sliding_attention"]),
            {},
            "layer_types holds sliding_attention",
        ),
        (gqa(28, 4, 128, layer_types=["mamba"]), {}, "layer_types holds no layer with attention"),
    ],
)
def test_what_cannot_be_planned_with_is_named(
    config: dict[str, Any], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(kv_layout.ConfigError) as raised:
        kv_layout.read(config, **options)
    assert message in str(raised.value)
