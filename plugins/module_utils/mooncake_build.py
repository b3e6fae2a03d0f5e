# SPDX-License-Identifier: Apache-2.0
"""What a Mooncake build is: its id, its manifest, and whether a wheel fits a platform.

A build lives in ``<root>/<build id>/`` with ``bin/``, ``lib/``, ``python/`` and ``manifest.json``. The manifest is
written last and the whole folder is renamed into its place, so a folder with a manifest is a complete build.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from typing import Any

from ansible_collections.kvcache.ascend.plugins.module_utils import host_files

MANIFEST = "manifest.json"
DIGEST_LENGTH = 12
"""Hexadecimal digits of the digest in a build id: enough for any fleet, short enough to read out."""

PLATFORM_SCRIPT = """
import json, os, platform, sys
print(json.dumps({
    "architecture": platform.machine(),
    "glibc": os.confstr("CS_GNU_LIBC_VERSION").split()[-1],
    "python_version": platform.python_version(),
    "python_tag": "cp%d%d" % sys.version_info[:2],
}))
"""
"""Program for the Python that will import Mooncake; prints the platform as JSON."""


def build_id(inputs: dict[str, Any]) -> str:
    """Return ``<version>-<digest>`` for everything that decides the bytes of a build.

    `inputs` is a flat dict of JSON values and must hold ``version``. The order of its keys does not matter.
    """
    text = json.dumps(inputs, sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(text.encode()).hexdigest()[:DIGEST_LENGTH]
    return f"{inputs['version']}-{digest}"


def parse_version(text: str) -> tuple[int, ...]:
    """Return the numbers of a dotted version, ``2.36`` as ``(2, 36)``; what is not a number counts as 0."""
    return tuple(int(part) if part.isdigit() else 0 for part in text.split("."))


def wheel_problems(wheel: dict[str, Any] | None, platform: dict[str, Any]) -> list[str]:
    """Return why `wheel` (of a release row) cannot be installed on `platform`; empty when it can.

    `platform` is what PLATFORM_SCRIPT prints.
    """
    if not wheel:
        return ["it is not published as a wheel for this platform"]
    problems = []
    architectures, pythons = wheel["architectures"], wheel["pythons"]
    if platform["architecture"] not in architectures:
        problems.append(
            f"the wheel is published for {', '.join(architectures)}, the host is {platform['architecture']}"
        )
    if platform["python_tag"] not in pythons:
        problems.append(
            f"the wheel is published for Python {', '.join(pythons)}, mooncake_python is {platform['python_tag']}"
        )
    if parse_version(platform["glibc"]) < parse_version(wheel["glibc_min"]):
        problems.append(
            f"the wheel needs glibc {wheel['glibc_min']} or newer, the host has {platform['glibc']}"
        )
    return problems


def file_digests(tree: str) -> dict[str, str]:
    """Return the sha256 of each regular file below `tree`, by its path relative to it; links are not followed."""
    digests = {}
    for folder, _folders, names in os.walk(tree):
        for name in names:
            path = os.path.join(folder, name)
            if os.path.islink(path) or os.path.relpath(path, tree) == MANIFEST:
                continue
            digests[os.path.relpath(path, tree)] = host_files.sha256(path)
    return dict(sorted(digests.items()))


def tree_size_bytes(tree: str) -> int:
    """Return the bytes of all regular files below `tree`."""
    return sum(
        os.lstat(os.path.join(folder, name)).st_size
        for folder, _folders, names in os.walk(tree)
        for name in names
        if not os.path.islink(os.path.join(folder, name))
    )


def open_to_services(tree: str) -> None:
    """Make `tree` readable for every user and writable for its owner alone, whatever the umask was."""
    for folder, folders, names in os.walk(tree):
        for name in [*folders, *names]:
            path = os.path.join(folder, name)
            if os.path.islink(path):
                continue
            mode = os.lstat(path).st_mode
            executable = stat.S_ISDIR(mode) or mode & stat.S_IXUSR
            os.chmod(path, 0o755 if executable else 0o644)
    os.chmod(tree, 0o755)


def write_manifest(tree: str, manifest: dict[str, Any]) -> None:
    """Write ``manifest.json`` into `tree`, readable for all, in a form that people read too."""
    path = os.path.join(tree, MANIFEST)
    with open(path, "w", encoding="utf-8") as handle:
        json.dump(manifest, handle, indent=2)
        handle.write("\n")
    os.chmod(path, 0o644)


def read_manifest(tree: str) -> dict[str, Any] | None:
    """Return the manifest in `tree`; None when there is none that can be read."""
    return host_files.read_dict(os.path.join(tree, MANIFEST))


def read_builds(root: str) -> list[dict[str, Any]]:
    """Return the manifests of all complete builds below `root`, without their file lists, sorted by build id."""
    builds = []
    for name in sorted(os.listdir(root)) if os.path.isdir(root) else []:
        if name.startswith(".") or os.path.islink(os.path.join(root, name)):
            continue
        manifest = read_manifest(os.path.join(root, name))
        if manifest is None or manifest.get("build_id") != name:
            continue
        builds.append({key: value for key, value in manifest.items() if key != "files"})
    return builds


def current_build(root: str) -> str | None:
    """Return the build id that the link ``current`` points to; None when there is no such link or it dangles."""
    link = os.path.join(root, "current")
    if not os.path.islink(link) or not os.path.exists(link):
        return None
    build = os.path.realpath(link)
    return os.path.basename(build) if os.path.dirname(build) == os.path.realpath(root) else None
