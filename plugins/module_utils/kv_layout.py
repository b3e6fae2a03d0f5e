# Copyright The kvcache.ascend authors
# SPDX-License-Identifier: Apache-2.0
"""How many bytes of KV cache a token costs, read from a model's config.json.

Grouped-query and multi-head attention keep a key and a value for each KV head of each layer; tensor
parallelism spreads the heads over the ranks, and repeats them when there are more ranks than heads.
Multi-head latent attention (MLA) keeps one latent vector for each layer, and every rank keeps all of
it. Sources: vllm/v1/kv_cache_interface.py (AttentionSpec, MLAAttentionSpec, page_size_bytes) and
vllm/config (get_num_kv_heads) at v0.11.0 and v0.23.0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping

GQA = "gqa"
MLA = "mla"
HYBRID = "hybrid"

DTYPE_BYTES = {
    "float32": 4,
    "float": 4,
    "float16": 2,
    "half": 2,
    "bfloat16": 2,
    "fp8": 1,
    "fp8_e4m3": 1,
    "fp8_e5m2": 1,
    "int8": 1,
}

_FULL_ATTENTION = ("full_attention", "attention")
_STATE_ONLY = ("linear_attention", "mamba", "mamba2", "recurrent")


class ConfigError(ValueError):
    """The model's config.json can't be planned with; the message says which key and why."""


@dataclass(frozen=True)
class KvLayout:
    """The KV cache of one model under one tensor parallel size."""

    attention: str
    layers: int
    """Layers that keep something for each token."""
    tensor_parallel_size: int
    rank_bytes_per_token: int
    """On each rank, all layers together."""
    distinct_ranks: int
    """Ranks whose bytes differ: the rest hold copies."""

    def pool_bytes_per_token(self, keyed_by_rank: bool) -> int:
        """What one token costs in the pool; vllm-ascend 0.11 stores what each rank holds, copies included."""
        ranks = self.tensor_parallel_size if keyed_by_rank else self.distinct_ranks
        return self.rank_bytes_per_token * ranks


def read(
    config: Mapping[str, Any], tensor_parallel_size: int = 1, kv_cache_dtype: str = "auto"
) -> KvLayout:
    """The layout of a model from its config.json; ConfigError says what is missing or not known."""
    if tensor_parallel_size < 1:
        raise ConfigError(f"tensor_parallel_size is {tensor_parallel_size}: it is at least 1")
    text = config.get("text_config") or config
    value_bytes = _value_bytes({**config, **text}, kv_cache_dtype)
    layers, attention = _layers(text)
    if text.get("kv_lora_rank"):
        latent = _number(text, "kv_lora_rank") + _number(text, "qk_rope_head_dim")
        indexer = int(text.get("index_head_dim") or 0)
        per_layer = (latent + indexer) * value_bytes
        return KvLayout(MLA, layers, tensor_parallel_size, layers * per_layer, distinct_ranks=1)
    heads = _number(text, "num_key_value_heads", text.get("num_attention_heads"))
    _check_division(heads, tensor_parallel_size)
    rank_heads = max(1, heads // tensor_parallel_size)
    per_layer = 2 * rank_heads * _head_dim(text) * value_bytes
    ranks = min(tensor_parallel_size, heads)
    return KvLayout(attention, layers, tensor_parallel_size, layers * per_layer, ranks)


def _check_division(heads: int, ranks: int) -> None:
    if heads % ranks and ranks % heads:
        raise ConfigError(
            f"tensor_parallel_size {ranks} does not fit num_key_value_heads {heads}: "
            "one must be a multiple of the other"
        )


def _layers(text: Mapping[str, Any]) -> tuple[int, str]:
    """Layers with a cache that grows by the token, and whether there are others."""
    all_layers = _number(text, "num_hidden_layers")
    kinds = text.get("layer_types")
    if kinds:
        return _layers_by_type([str(kind) for kind in kinds])
    interval = int(text.get("full_attention_interval") or 1)
    return all_layers // interval, HYBRID if interval > 1 else GQA


def _layers_by_type(kinds: list[str]) -> tuple[int, str]:
    strange = sorted(set(kinds) - set(_FULL_ATTENTION) - set(_STATE_ONLY))
    if strange:
        raise ConfigError(
            f"layer_types holds {', '.join(strange)}: how much such a layer keeps for a token is not known here"
        )
    full = sum(kind in _FULL_ATTENTION for kind in kinds)
    if not full:
        raise ConfigError("layer_types holds no layer with attention: nothing would be cached")
    return full, GQA if full == len(kinds) else HYBRID


def _value_bytes(config: Mapping[str, Any], kv_cache_dtype: str) -> int:
    model_dtype = config.get("torch_dtype") or config.get("dtype") or "bfloat16"
    name = str(model_dtype if kv_cache_dtype == "auto" else kv_cache_dtype).replace("torch.", "")
    if name not in DTYPE_BYTES:
        raise ConfigError(
            f"{name!r} is no type of a KV cache known here: use one of {', '.join(DTYPE_BYTES)}"
        )
    return DTYPE_BYTES[name]


def _head_dim(text: Mapping[str, Any]) -> int:
    if text.get("head_dim"):
        return _number(text, "head_dim")
    return _number(text, "hidden_size") // _number(text, "num_attention_heads")


def _number(text: Mapping[str, Any], key: str, default: Any = None) -> int:
    value = text.get(key)
    if value is None:
        value = default
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        shown = "is missing" if value is None else f"is {value!r}, no positive number"
        raise ConfigError(f"config.json: {key} {shown}")
    return value
