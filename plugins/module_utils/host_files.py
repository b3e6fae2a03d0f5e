# SPDX-License-Identifier: Apache-2.0
"""Small readings of a host's files, as several parts of the collection need them: text, JSON, checksum, room, variables."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
from typing import Any


def read_text(path: str) -> str:
    """Return a file's text; empty when it can't be read, as when a process has ended or may not be looked at."""
    try:
        with open(path, encoding="utf-8", errors="replace") as handle:
            return handle.read()
    except OSError:
        return ""


def read_dict(path: str) -> dict[str, Any] | None:
    """Return the JSON object that a file holds; None when there is none that can be read."""
    try:
        with open(path, encoding="utf-8") as handle:
            found = json.load(handle)
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def sha256(path: str) -> str:
    """Return the sha256 of a file, as 64 hexadecimal digits."""
    digest = hashlib.sha256()
    with open(path, "rb") as handle:
        for block in iter(lambda: handle.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def free_bytes(path: str) -> int:
    """Return the free bytes of the file system that `path` is or would be on; it need not be there yet."""
    while not os.path.isdir(path):
        path = os.path.dirname(path) or "/"
    return shutil.disk_usage(path).free


def variables(block: str) -> dict[str, str]:
    """Return the variables in a block with a NUL behind each, as ``env -0`` and /proc/PID/environ have it."""
    return dict(item.split("=", 1) for item in block.split("\0") if "=" in item)


def os_release(text: str) -> dict[str, str]:
    """Return the variables of /etc/os-release."""
    found = {}
    for line in text.splitlines():
        key, equals, value = line.strip().partition("=")
        if equals and not key.startswith("#"):
            try:
                found[key] = "".join(shlex.split(value))
            except ValueError:
                found[key] = value.strip("\"'")
    return found
