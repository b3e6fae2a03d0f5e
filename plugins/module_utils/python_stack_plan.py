# SPDX-License-Identifier: Apache-2.0
"""Which stack a release and a host's platform ask for, or why there is none. Decided on the control node."""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any

from ansible_collections.kvcache.ascend.plugins.module_utils import (
    mooncake_build,
    python_lock,
    python_stack,
)


def python_number(platform: dict[str, str]) -> str:
    """Return ``3.11`` for a platform whose Python is 3.11.7."""
    return ".".join(platform["python_version"].split(".")[:2])


def platform_problem(spec: dict[str, Any], platform: dict[str, str]) -> str:
    """Return why the release can't run on the platform, with the fix; empty when it can."""
    python, pythons = python_number(platform), python_lock.pythons(spec)
    if python not in pythons:
        return (
            f"python_stack_python is Python {platform['python_version']}, release {spec['name']} is for "
            f"{' to '.join([pythons[0], pythons[-1]])}. Fix: install Python {pythons[-1]} on the host and set "
            f"python_stack_python to it (/usr/bin/python{pythons[-1]}), or choose another release_name."
        )
    oldest = spec["glibc_min"]
    parse = mooncake_build.parse_version
    if oldest and parse(platform["glibc"]) < parse(oldest):
        return (
            f"the host has glibc {platform['glibc']}, the wheels of release {spec['name']} need {oldest} or newer. "
            "Fix: upgrade the host's operating system, or choose another release_name."
        )
    return ""


def find_lock(folders: list[str], name: str) -> str:
    """Return the path of a lock in the first of `folders` that has it; empty when none does."""
    paths = [os.path.join(os.path.expanduser(folder), name) for folder in folders if folder]
    return next((path for path in paths if os.path.isfile(path)), "")


def absent_problem(
    spec: dict[str, Any], platform: dict[str, str], name: str, index: list[dict[str, Any]]
) -> str:
    """Return that there is no lock, why, and how to make one; `index` is what index.yml holds."""
    known = {entry["file"]: entry["reason"] for entry in index}
    reason = known.get(name) or "the collection has none for this release, architecture and Python"
    return (
        f"there is no lock {name} for release {spec['name']} on {platform['architecture']} with Python "
        f"{python_number(platform)}: {reason}. Fix: make one with an index that has the packages (docs/locks.md) and set "
        "python_stack_lock_dir to its folder on the control node, or choose another release_name."
    )


def lock_problem(
    spec: dict[str, Any], platform: dict[str, str], path: str, lock: dict[str, Any]
) -> str:
    """Return why a lock is not one for this release and platform; empty when it is."""
    wanted = python_lock.inputs_digest(spec, platform["architecture"], python_number(platform))
    made_from = lock["head"].get("inputs")
    if made_from == wanted:
        return ""
    return (
        f"the lock {path} is not made from the release's row as it is now (inputs {made_from}, expected {wanted}). "
        "Fix: make it anew (docs/locks.md)."
    )


def release_of(spec: dict[str, Any], lock: dict[str, Any]) -> dict[str, Any]:
    """Return what a stack's manifest keeps of its release."""
    packages = [spec["vllm"]["package"], "torch"]
    packages += ["vllm-ascend"] if spec["vllm_ascend"] else []
    packages += ["torch-npu"] if spec["torch_npu"] else []
    locked = {item["name"]: item["version"] for item in lock["packages"]}
    return {
        "name": spec["name"],
        "platform": spec["platform"],
        "versions": {package: locked.get(package) for package in packages},
        "overrides": sorted(python_lock.normal_name(item["package"]) for item in spec["overrides"]),
        "alias": spec["distribution_alias"],
    }


def plan(
    spec: dict[str, Any],
    platform: dict[str, str],
    folders: list[str],
    index: list[dict[str, Any]],
) -> dict[str, Any]:
    """Return what to install on `platform`, or in ``problem`` why that can't be."""
    problem = platform_problem(spec, platform)
    name = python_lock.file_name(spec["name"], platform["architecture"], python_number(platform))
    path = "" if problem else find_lock(folders, name)
    if not path:
        return {"problem": problem or absent_problem(spec, platform, name, index)}
    with open(path, encoding="utf-8") as handle:
        text = handle.read()
    try:
        lock = python_lock.parse(text)
    except ValueError as error:
        return {
            "problem": f"the lock {path} can't be read: {error}. Fix: make it anew (docs/locks.md)."
        }
    problem = lock_problem(spec, platform, path, lock)
    if problem:
        return {"problem": problem}
    lines = [line.split("  #")[0] for line in text.splitlines() if not line.startswith("#")]
    inputs = {
        "version": spec["name"],
        "lock": hashlib.sha256("\n".join(lines).encode()).hexdigest(),
        "architecture": platform["architecture"],
        "python_tag": platform["python_tag"],
        "alias": spec["distribution_alias"],
    }
    return {
        "problem": "",
        "lock": text,
        "wheels": [
            {key: item[key] for key in ("wheel", "size_bytes", "sha256")}
            for item in lock["packages"]
        ],
        "size_bytes": sum(item["size_bytes"] for item in lock["packages"]),
        "inputs": inputs,
        "stack_id": python_stack.stack_id(inputs),
        "release": release_of(spec, lock),
    }


def wheel_problem(wheels: list[dict[str, Any]], folder: str) -> str:
    """Return which wheels a folder of the control node lacks, with the fix; empty when it has all, in their sizes."""
    folder = os.path.expanduser(folder)
    wrong = [
        item["wheel"]
        for item in wheels
        if not os.path.isfile(os.path.join(folder, item["wheel"]))
        or os.path.getsize(os.path.join(folder, item["wheel"])) != item["size_bytes"]
    ]
    if not wrong:
        return ""
    return (
        f"{len(wrong)} of {len(wheels)} wheels are missing in python_stack_wheel_dir ({folder}, on the control node) or "
        f"have another size: {', '.join(wrong[:3])}{' …' if len(wrong) > 3 else ''}. Fix: fill it on a machine with "
        "internet (playbooks/bundle.yml), and bring the whole folder."
    )


def archive(wheels: list[dict[str, Any]], folder: str) -> str:
    """Return the path of the archive of these wheels in their folder: another one when a wheel was brought anew."""
    folder = os.path.expanduser(folder)
    stamps = []
    for item in wheels:
        path = os.path.join(folder, item["wheel"])
        seen = os.stat(path) if os.path.isfile(path) else None
        stamps.append(
            [item["wheel"], item["sha256"], seen and seen.st_size, seen and seen.st_mtime_ns]
        )
    digest = hashlib.sha256(json.dumps(stamps).encode()).hexdigest()[:16]
    return os.path.join(folder, f".wheels-{digest}.tar")


def instance_problem(instances: list[dict[str, Any]], release: str) -> str:
    """Return that instances of one host ask for different stacks; empty when they don't."""
    others = [
        f"{item.get('name')} ({item['release_name']})"
        for item in instances
        if item.get("release_name") not in (None, release)
    ]
    if not others:
        return ""
    return (
        f"the host's release_name is {release}, but instances ask for another: {', '.join(others)}. A host has one stack "
        "in use. Fix: give these instances to another host, or set release_name once for the host."
    )
