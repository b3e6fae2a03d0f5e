# SPDX-License-Identifier: Apache-2.0
"""Wheels come into a folder whole, by pip, also for another architecture and Python than this machine's."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.kvcache.ascend.plugins.module_utils import python_wheels
from small_wheels import make_wheel


def serve(tmp_path: Path) -> tuple[dict[str, Any], Any]:
    """Return a lock's entry of a wheel for aarch64 in a folder, and a runner whose pip finds it there."""
    index = tmp_path / "index"
    index.mkdir()
    item = make_wheel(index, "kernels", "1.0")
    name = "kernels-1.0-cp39-abi3-manylinux_2_28_aarch64.whl"
    (index / item["wheel"]).rename(index / name)

    def run(command: list[str], environment: dict[str, str]) -> tuple[int, str, str]:
        settings = {
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": str(index),
        }
        done = subprocess.run(
            command,
            env={**os.environ, **settings, **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    return {**item, "wheel": name}, run


def test_a_wheel_for_another_machine_is_fetched(tmp_path: Path) -> None:
    item, run = serve(tmp_path)
    folder = tmp_path / "wheels"
    assert not python_wheels.is_whole(str(folder), item)
    python_wheels.fetch([item], "3.10", str(folder), sys.executable, run)
    assert python_wheels.is_whole(str(folder), item)
    assert os.listdir(folder) == [item["wheel"]]


def test_a_wheel_of_another_content_does_not_get_in(tmp_path: Path) -> None:
    item, run = serve(tmp_path)
    folder = tmp_path / "wheels"
    with pytest.raises(python_wheels.FetchError, match="its sha256 differs"):
        python_wheels.fetch(
            [{**item, "sha256": "0" * 64}], "3.10", str(folder), sys.executable, run
        )
    assert os.listdir(folder) == []


def test_a_wheel_that_was_cut_short_is_not_whole(tmp_path: Path) -> None:
    item, run = serve(tmp_path)
    python_wheels.fetch([item], "3.10", str(tmp_path), sys.executable, run)
    (tmp_path / item["wheel"]).write_bytes((tmp_path / item["wheel"]).read_bytes()[:-1])
    assert not python_wheels.is_whole(str(tmp_path), item)
