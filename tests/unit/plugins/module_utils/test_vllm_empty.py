# SPDX-License-Identifier: Apache-2.0
"""A wheel of vLLM that was built before is known by its source and its bytes. (The build itself: tests/system.)"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ansible_collections.kvcache.ascend.plugins.module_utils import vllm_empty
from small_wheels import make_wheel

SOURCE = vllm_empty.Source("0.13.0", "5" * 64)


def kept(tmp_path: Path) -> Path:
    staging = tmp_path / "staging"
    staging.mkdir()
    made = make_wheel(staging, "vllm", "0.13.0+empty")
    store = tmp_path / "store"
    store.mkdir()
    entry = vllm_empty.keep(str(staging / made["wheel"]), str(store), SOURCE)
    assert entry == made
    assert entry["wheel"] == vllm_empty.wheel_name("0.13.0")
    return store


def test_a_wheel_is_found_again(tmp_path: Path) -> None:
    store = kept(tmp_path)
    entry = vllm_empty.made_before(str(store), SOURCE)
    assert entry is not None
    assert (store / entry["wheel"]).stat().st_mode & 0o777 == 0o644
    assert vllm_empty.made_before(str(store), SOURCE._replace(sha256="6" * 64)) is None
    assert vllm_empty.made_before(str(store), SOURCE._replace(version="0.18.0")) is None


@pytest.mark.parametrize("text", ["", "[]", "{}", json.dumps({"wheel": "none"})])
def test_a_record_that_says_nothing_is_no_wheel(tmp_path: Path, text: str) -> None:
    store = kept(tmp_path)
    (store / f"{vllm_empty.wheel_name('0.13.0')}.json").write_text(text)
    assert vllm_empty.made_before(str(store), SOURCE) is None


def test_a_wheel_that_was_changed_is_built_again(tmp_path: Path) -> None:
    store = kept(tmp_path)
    (store / vllm_empty.wheel_name("0.13.0")).write_bytes(b"PK")
    assert vllm_empty.made_before(str(store), SOURCE) is None


def test_the_source_archive_is_taken_from_where_pip_finds_it() -> None:
    found = (
        "  Found link https://files/vllm-0.13.0-cp38-abi3-manylinux1_x86_64.whl (from https://x/), version: 0.13.0\n"
        "  Found link https://files/a/vllm-0.13.0.tar.gz (from https://x/simple/vllm/), version: 0.13.0\n"
        "  Found link https://files/a/vllm-0.13.0.post1.tar.gz (from https://x/simple/vllm/), version: 0.13.0.post1\n"
    )
    address = vllm_empty.address_of(SOURCE, found)
    assert address == f"https://files/a/vllm-0.13.0.tar.gz#sha256={SOURCE.sha256}"
    with pytest.raises(vllm_empty.BuildError, match=r"has no vllm-0\.18\.0\.tar\.gz\. Fix: see"):
        vllm_empty.address_of(SOURCE._replace(version="0.18.0"), found)
