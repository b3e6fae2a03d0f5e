# SPDX-License-Identifier: Apache-2.0
"""What a lock of a release's Python packages asks for, and how to read one.

A lock is a requirements file: one line per package with its exact version, the sha256 of the one wheel that fits, and
that wheel's name and size as a comment. Its head says for what it was made, and holds a digest of the release row's
part in it, so that a lock that its row has left behind is noticed without asking any index.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

ARCHITECTURES = ("aarch64", "x86_64")

LEFT_OUT = "sys_platform == 'never'"
"""Marker that is never true: the form in which a resolver is told to leave a package out."""

HEAD = re.compile(r"^# (?P<key>[a-z]+): (?P<value>.+)$")
LINE = re.compile(
    r"^(?P<name>[a-z0-9-]+)==(?P<version>\S+) --hash=sha256:(?P<sha256>[0-9a-f]{64})"
    r"  # (?P<wheel>\S+\.whl) (?P<size>\d+)$"
)


def normal_name(name: str) -> str:
    """Return the one spelling of a package's name by which it is compared (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def requirements(spec: dict[str, Any]) -> list[str]:
    """Return what a release asks for by itself, as requirement lines, sorted."""
    asked = {spec["vllm"]["package"]: f"=={spec['vllm']['version']}"}
    asked["torch"] = f"=={spec['torch']['version']}"
    for package, key in (("vllm-ascend", "vllm_ascend"), ("torch-npu", "torch_npu")):
        if spec[key]:
            asked[package] = f"=={spec[key]['version']}"
    for package in ("torchvision", "torchaudio", "triton_ascend", "transformers"):
        if spec[package]:
            asked[package] = spec[package]
    asked.update(spec["pins"])
    return sorted(f"{normal_name(package)}{specifier}" for package, specifier in asked.items())


def overrides(spec: dict[str, Any]) -> list[str]:
    """Return what a release takes in place of the packages' own bounds, as requirement lines, sorted."""
    return sorted(
        f"{normal_name(item['package'])}{item['specifier']}"
        if item["specifier"]
        else f"{normal_name(item['package'])} ; {LEFT_OUT}"
        for item in spec["overrides"]
    )


def inputs_digest(spec: dict[str, Any], architecture: str, python: str) -> str:
    """Return the digest of everything in a release that decides its lock."""
    parts = {
        "requirements": requirements(spec),
        "overrides": overrides(spec),
        "glibc": spec["glibc_min"],
        "architecture": architecture,
        "python": python,
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def pythons(spec: dict[str, Any]) -> list[str]:
    """Return the Python versions of a release, ``3.9`` to ``3.11`` as ``["3.9", "3.10", "3.11"]``."""
    major, first = map(int, spec["python"]["min"].split("."))
    last = int(spec["python"]["max"].split(".")[1])
    return [f"{major}.{minor}" for minor in range(first, last + 1)]


def file_name(release: str, architecture: str, python: str) -> str:
    """Return the name of a lock's file."""
    return f"{release}-{architecture}-cp{python.replace('.', '')}.txt"


def render(head: dict[str, str], packages: list[dict[str, Any]]) -> str:
    """Return the text of a lock; `packages` hold ``name``, ``version``, ``sha256``, ``wheel``, ``size_bytes``."""
    lines = ['# Made by "make lock"; do not edit.']
    lines += [f"# {key}: {value}" for key, value in head.items()]
    lines += [
        f"{item['name']}=={item['version']} --hash=sha256:{item['sha256']}  # {item['wheel']} {item['size_bytes']}"
        for item in sorted(packages, key=lambda item: item["name"])
    ]
    return "\n".join(lines) + "\n"


def parse(text: str) -> dict[str, Any]:
    """Return ``head`` and ``packages`` of a lock; ValueError names the line that is none of a lock."""
    head: dict[str, str] = {}
    packages: list[dict[str, Any]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        title = HEAD.match(line)
        if title:
            head[title.group("key")] = title.group("value")
        if not line.strip() or line.startswith("#"):
            continue
        match = LINE.match(line)
        if match is None:
            raise ValueError(
                f"line {number} is {line[:60]!r}. Expected: name==version --hash=sha256:…  # wheel size"
            )
        packages.append(
            {
                "name": match.group("name"),
                "version": match.group("version"),
                "sha256": match.group("sha256"),
                "wheel": match.group("wheel"),
                "size_bytes": int(match.group("size")),
            }
        )
    return {"head": head, "packages": packages}
