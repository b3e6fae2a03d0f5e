#!/usr/bin/env python
# SPDX-License-Identifier: Apache-2.0
"""Makes a model of the architecture Qwen2 that is as small as can be, with random weights, out of nothing but Python.

usage: tiny_model.py FOLDER [SIZE]

Its words are all of up to two letters ("small": three). The same folder is made each time, so that hosts agree. The size
"small" is 40 MB: large enough that computing a document takes much longer than finding it in a cache.
"""

from __future__ import annotations

import itertools
import json
import random
import struct
import sys
from pathlib import Path
from string import ascii_lowercase
from typing import Any, NamedTuple

HEAD = 64


class Size(NamedTuple):
    layers: int
    hidden: int
    inner: int
    heads: int
    kv_heads: int
    letters: int
    """The longest word."""


SIZES = {"tiny": Size(2, 128, 256, 2, 1, 2), "small": Size(4, 512, 1024, 8, 4, 3)}

SPECIAL = ("<unk>", "<s>", "</s>")
PLAIN = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
SPACE = "\u0120"
"""How byte-level tokenizers write a space; each word begins with one."""

MANTISSA = bytes(byte & 0x7F for byte in range(256))
SIGN = bytes((byte & 0x80) | 0x3D for byte in range(256))


def config(size: Size) -> dict[str, Any]:
    return {
        "architectures": ["Qwen2ForCausalLM"],
        "model_type": "qwen2",
        "hidden_size": size.hidden,
        "intermediate_size": size.inner,
        "num_hidden_layers": size.layers,
        "num_attention_heads": size.heads,
        "num_key_value_heads": size.kv_heads,
        "hidden_act": "silu",
        "max_position_embeddings": 8192,
        "rms_norm_eps": 1e-6,
        "rope_theta": 1000000.0,
        "tie_word_embeddings": True,
        "torch_dtype": "bfloat16",
        "vocab_size": len(words(size)),
        "bos_token_id": 1,
        "eos_token_id": 2,
    }


def words(size: Size) -> list[str]:
    """All tokens: a space, the letters, and each word with those that it begins with, out of which it is merged."""
    found = [*SPECIAL, SPACE, *ascii_lowercase]
    for length in range(1, size.letters + 1):
        found += [
            SPACE + "".join(letters)
            for letters in itertools.product(ascii_lowercase, repeat=length)
        ]
    return found


def tokenizer(size: Size) -> dict[str, Any]:
    """What all readers of a model of this type take it for: byte-level BPE."""
    vocabulary = words(size)
    split = {"type": "Split", "pattern": {"Regex": " ?[a-z]+|\\s+"}, "behavior": "Isolated"}
    level = {"add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    return {
        "version": "1.0",
        "added_tokens": [
            {"id": number, "content": word, "special": True} | PLAIN
            for number, word in enumerate(SPECIAL)
        ],
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [split | {"invert": False}, {"type": "ByteLevel", **level}],
        },
        "decoder": {"type": "ByteLevel", **level},
        "model": {
            "type": "BPE",
            "vocab": {word: number for number, word in enumerate(vocabulary)},
            "merges": [[word[:-1], word[-1]] for word in vocabulary if SPACE in word[:-1]],
        },
    }


TOKENIZER_CONFIG = {
    "tokenizer_class": "PreTrainedTokenizerFast",
    "unk_token": "<unk>",
    "bos_token": "<s>",
    "eos_token": "</s>",
    "chat_template": "{% for message in messages %}{{ message['content'] }} {% endfor %}",
}


def shapes(size: Size) -> dict[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = {
        "model.embed_tokens.weight": (len(words(size)), size.hidden),
        "model.norm.weight": (size.hidden,),
    }
    for layer in range(size.layers):
        at = f"model.layers.{layer}"
        for name, heads in (("q", size.heads), ("k", size.kv_heads), ("v", size.kv_heads)):
            found[f"{at}.self_attn.{name}_proj.weight"] = (heads * HEAD, size.hidden)
            found[f"{at}.self_attn.{name}_proj.bias"] = (heads * HEAD,)
        found[f"{at}.self_attn.o_proj.weight"] = (size.hidden, size.heads * HEAD)
        found[f"{at}.mlp.gate_proj.weight"] = (size.inner, size.hidden)
        found[f"{at}.mlp.up_proj.weight"] = (size.inner, size.hidden)
        found[f"{at}.mlp.down_proj.weight"] = (size.hidden, size.inner)
        found[f"{at}.input_layernorm.weight"] = (size.hidden,)
        found[f"{at}.post_attention_layernorm.weight"] = (size.hidden,)
    return found


def bfloat16(count: int, chance: random.Random) -> bytes:
    """Random numbers of either sign between 1/32 and 1/16: sign and mantissa are random, the exponent is not."""
    noise, values = chance.randbytes(2 * count), bytearray(2 * count)
    values[0::2] = noise[0::2].translate(MANTISSA)
    values[1::2] = noise[1::2].translate(SIGN)
    return bytes(values)


def safetensors(size: Size) -> bytes:
    """The weights in the format of huggingface/safetensors: length of the header, header, data."""
    chance, header, data = random.Random(0), {}, bytearray()
    for name, shape in shapes(size).items():
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
    if len(sys.argv) not in (2, 3) or sys.argv[-1] not in (sys.argv[1], *SIZES):
        sys.exit(__doc__)
    folder, size = Path(sys.argv[1]), SIZES[sys.argv[2] if len(sys.argv) > 2 else "tiny"]
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in (
        ("config.json", config(size)),
        ("tokenizer.json", tokenizer(size)),
        ("tokenizer_config.json", TOKENIZER_CONFIG),
    ):
        (folder / name).write_text(json.dumps(content, indent=2))
    (folder / "model.safetensors").write_bytes(safetensors(size))


if __name__ == "__main__":
    main()
