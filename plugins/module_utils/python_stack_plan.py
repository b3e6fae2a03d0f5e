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
    vllm_empty,
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


def empty_problem(spec: dict[str, Any]) -> str:
    """Return why vLLM can't be built without a device for the release, with the fix; empty when it can."""
    if spec["vllm"].get("source_sha256"):
        return ""
    return (
        f"python_stack_vllm_build is empty, but release {spec['name']} names no source of vLLM that is built so. "
        "Fix: set python_stack_vllm_build: wheel"
    )


def unbuilt(version: str) -> dict[str, Any]:
    """Return a lock's entry of the wheel of vLLM without a device while nobody has built it."""
    return {
        "name": "vllm",
        "version": vllm_empty.version_of(version),
        "sha256": "0" * 64,
        "wheel": vllm_empty.wheel_name(version),
        "size_bytes": 0,
    }


def without_vllm(lock: dict[str, Any]) -> dict[str, Any]:
    """Return the lock without vLLM's own wheel."""
    others = [item for item in lock["packages"] if item["name"] != "vllm"]
    return {"head": lock["head"], "packages": others}


def plan(
    spec: dict[str, Any],
    platform: dict[str, str],
    folders: list[str],
    index: list[dict[str, Any]],
    empty_vllm: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return what to install on `platform`, or in ``problem`` why that can't be.

    ``lock`` names all that is installed, ``fetched`` and ``wheels`` what an index has of it. `empty_vllm` is None for vLLM's
    own wheel; for a build without a device it is the lock's entry of the wheel, or empty while nobody has built it: the
    stack's id does not depend on that.
    """
    problem = platform_problem(spec, platform)
    if empty_vllm is not None:
        problem = problem or empty_problem(spec)
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
    fetched = lock
    if empty_vllm is not None:
        inputs["vllm_source_sha256"] = spec["vllm"]["source_sha256"]
        entry = empty_vllm or unbuilt(spec["vllm"]["version"])
        fetched = without_vllm(lock)
        lock = {"head": lock["head"], "packages": [*fetched["packages"], entry]}
        text = python_lock.render(lock["head"], lock["packages"])
    return {
        "problem": "",
        "lock": text,
        "wheels": [
            {key: item[key] for key in ("wheel", "size_bytes", "sha256")}
            for item in fetched["packages"]
        ],
        "fetched": python_lock.render(fetched["head"], fetched["packages"]),
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


def instance_problem(instances: Any, release: str) -> str:
    """Return that instances of one host ask for different stacks; empty when they don't.

    What else may be wrong with them is told where they are started.
    """
    others = [
        f"{item.get('name')} ({item['release_name']})"
        for item in (instances if isinstance(instances, list) else [])
        if isinstance(item, dict) and item.get("release_name") not in (None, release)
    ]
    if not others:
        return ""
    return (
        f"the host's release_name is {release}, but instances ask for another: {', '.join(others)}. A host has one stack "
        "in use. Fix: give these instances to another host, or set release_name once for the host."
    )
