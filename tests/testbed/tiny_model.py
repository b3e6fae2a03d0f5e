#!/usr/bin/env python
# SPDX-License-Identifier: Apache-2.0
"""Makes a model of the architecture Qwen2 that is as small as can be, with random weights, out of nothing but Python.

usage: tiny_model.py FOLDER

Its words are w0 to w332. The same folder is made each time, so that hosts agree on it.
"""

from __future__ import annotations

import json
import random
import struct
import sys
from pathlib import Path

LAYERS, HIDDEN, INNER, HEADS, KV_HEADS, HEAD, WORDS = 2, 128, 256, 2, 1, 64, 333

CONFIG = {
    "architectures": ["Qwen2ForCausalLM"],
    "model_type": "qwen2",
    "hidden_size": HIDDEN,
    "intermediate_size": INNER,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "num_key_value_heads": KV_HEADS,
    "hidden_act": "silu",
    "max_position_embeddings": 8192,
    "rms_norm_eps": 1e-6,
    "rope_theta": 1000000.0,
    "tie_word_embeddings": True,
    "torch_dtype": "bfloat16",
    "vocab_size": WORDS,
    "bos_token_id": 1,
    "eos_token_id": 2,
}

TOKENIZER = {
    "version": "1.0",
    "added_tokens": [],
    "pre_tokenizer": {"type": "WhitespaceSplit"},
    "model": {
        "type": "WordLevel",
        "vocab": {f"w{number}": number for number in range(WORDS)},
        "unk_token": "w0",
    },
}

TOKENIZER_CONFIG = {
    "tokenizer_class": "PreTrainedTokenizerFast",
    "unk_token": "w0",
    "bos_token": "w1",
    "eos_token": "w2",
    "chat_template": "{% for message in messages %}{{ message['content'] }} {% endfor %}",
}


def shapes() -> dict[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = {
        "model.embed_tokens.weight": (WORDS, HIDDEN),
        "model.norm.weight": (HIDDEN,),
    }
    for layer in range(LAYERS):
        at = f"model.layers.{layer}"
        for name, heads in (("q", HEADS), ("k", KV_HEADS), ("v", KV_HEADS)):
            found[f"{at}.self_attn.{name}_proj.weight"] = (heads * HEAD, HIDDEN)
            found[f"{at}.self_attn.{name}_proj.bias"] = (heads * HEAD,)
        found[f"{at}.self_attn.o_proj.weight"] = (HIDDEN, HEADS * HEAD)
        found[f"{at}.mlp.gate_proj.weight"] = (INNER, HIDDEN)
        found[f"{at}.mlp.up_proj.weight"] = (INNER, HIDDEN)
        found[f"{at}.mlp.down_proj.weight"] = (HIDDEN, INNER)
        found[f"{at}.input_layernorm.weight"] = (HIDDEN,)
        found[f"{at}.post_attention_layernorm.weight"] = (HIDDEN,)
    return found


def bfloat16(count: int, chance: random.Random) -> bytes:
    """Random numbers of either sign between 1/32 and 1/16: sign and mantissa are random, the exponent is not."""
    noise, values = chance.randbytes(2 * count), bytearray(2 * count)
    values[0::2] = bytes(byte & 0x7F for byte in noise[0::2])
    values[1::2] = bytes((byte & 0x80) | 0x3D for byte in noise[1::2])
    return bytes(values)


def safetensors() -> bytes:
    """The weights in the format of huggingface/safetensors: length of the header, header, data."""
    chance, header, data = random.Random(0), {}, b""
    for name, shape in shapes().items():
        count = 1
        for length in shape:
            count *= length
        content = b"\x80\x3f" * count if "norm" in name else bfloat16(count, chance)
        header[name] = {
            "dtype": "BF16",
            "shape": list(shape),
            "data_offsets": [len(data), len(data) + len(content)],
        }
        data += content
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in (
        ("config.json", CONFIG),
        ("tokenizer.json", TOKENIZER),
        ("tokenizer_config.json", TOKENIZER_CONFIG),
    ):
        (folder / name).write_text(json.dumps(content, indent=2))
    (folder / "model.safetensors").write_bytes(safetensors())


if __name__ == "__main__":
    main()
