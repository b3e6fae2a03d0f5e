# SPDX-License-Identifier: Apache-2.0
"""Fetches the wheels of a lock into a folder, for any architecture and Python, and says what is still missing there."""

from __future__ import annotations

import os
import shutil
import tempfile
from typing import Any

from ansible_collections.kvcache.ascend.plugins.module_utils import host_files, pip_errors
from ansible_collections.kvcache.ascend.plugins.module_utils.mooncake_proof import Runner


class FetchError(Exception):
    """Wheels could not be fetched; the text says why and what to do."""


def is_whole(folder: str, item: dict[str, Any]) -> bool:
    """Return whether the folder has the wheel of a lock's package, byte for byte."""
    path = os.path.join(folder, item["wheel"])
    return (
        os.path.isfile(path)
        and os.path.getsize(path) == item["size_bytes"]
        and host_files.sha256(path) == item["sha256"]
    )


def platform_tags(packages: list[dict[str, Any]]) -> list[str]:
    """Return every platform that the wheels' names speak of, so that pip takes them on a machine of another kind."""
    tags: list[str] = []
    for item in packages:
        for tag in item["wheel"][: -len(".whl")].rsplit("-", 1)[1].split("."):
            if tag != "any" and tag not in tags:
                tags.append(tag)
    return tags


def pip_command(python: str, packages: list[dict[str, Any]], number: str, folder: str) -> list[str]:
    """Return the command by which pip fetches the packages of requirements.txt in `folder` for Python `number`."""
    platforms = [word for tag in platform_tags(packages) for word in ("--platform", tag)]
    return [
        *(python, "-m", "pip", "--disable-pip-version-check", "--no-input", "download"),
        *("--no-deps", "--require-hashes", "--only-binary", ":all:", "--no-cache-dir", "--quiet"),
        *("--retries", "2", "--timeout", "20"),
        *(
            "--python-version",
            number,
            "--implementation",
            "cp",
            "--abi",
            f"cp{number.replace('.', '')}",
        ),
        *platforms,
        *("--dest", folder, "--requirement", os.path.join(folder, "requirements.txt")),
    ]


def fetch(
    packages: list[dict[str, Any]], number: str, folder: str, python: str, run: Runner
) -> None:
    """Bring the packages' wheels into `folder`; a wheel appears there only when it is whole."""
    if not packages:
        return
    os.makedirs(folder, exist_ok=True)
    staging = tempfile.mkdtemp(prefix=".fetch-", dir=folder)
    try:
        with open(os.path.join(staging, "requirements.txt"), "w", encoding="utf-8") as handle:
            for item in packages:
                handle.write(f"{item['name']}=={item['version']} --hash=sha256:{item['sha256']}\n")
        status, output, error = run(
            pip_command(python, packages, number, staging), {"TMPDIR": staging}
        )
        if status != 0:
            raise FetchError(
                pip_errors.explain(f"{output}\n{error}", folder, wheel_dir="the index")
            )
        missing = [item["wheel"] for item in packages if not is_whole(staging, item)]
        if missing:
            raise FetchError(
                f"pip brought other files than the lock names: {', '.join(missing[:3])} are not among them. "
                "Fix: see that the index serves them under these names."
            )
        for item in packages:
            os.chmod(os.path.join(staging, item["wheel"]), 0o644)
            os.replace(os.path.join(staging, item["wheel"]), os.path.join(folder, item["wheel"]))
    finally:
        shutil.rmtree(staging, ignore_errors=True)
