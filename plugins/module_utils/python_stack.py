# SPDX-License-Identifier: Apache-2.0
"""What a stack is: a virtual environment per lock, side by side, and what of it differs from its lock.

A stack lives in ``<root>/<stack id>/``. A virtual environment can't be moved, so it is filled where it stays; its
``manifest.json`` is written last, and a folder without one is no stack. One that is made anew, since the first was
changed by hand, gets a number behind its id: what runs from the old one goes on while the new one is made.
"""

from __future__ import annotations

import os
import re
from typing import Any

from ansible_collections.kvcache.ascend.plugins.module_utils import (
    host_files,
    mooncake_build,
    python_lock,
)

MANIFEST = mooncake_build.MANIFEST
LOCK = "lock.txt"
NAME = re.compile(r"^.+-[0-9a-f]{12}(\.\d+)?$")
"""Names of folders that this role makes: a stack id, and possibly a number."""


def stack_id(inputs: dict[str, Any]) -> str:
    """Return ``<release>-<digest>`` for everything that decides what is in a stack; `inputs` must hold ``version``."""
    return mooncake_build.build_id(inputs)


def read_manifest(path: str) -> dict[str, Any] | None:
    """Return the manifest of the stack in the folder `path`; None when it is none."""
    manifest = host_files.read_dict(os.path.join(path, MANIFEST))
    named = manifest is not None and manifest.get("place") == os.path.basename(path)
    return manifest if named else None


def folders(root: str) -> list[str]:
    """Return the names of the folders below `root` that have the form of a stack's, complete or not."""
    names = sorted(os.listdir(root)) if os.path.isdir(root) else []
    return [
        name
        for name in names
        if NAME.match(name)
        and os.path.isdir(os.path.join(root, name))
        and not os.path.islink(os.path.join(root, name))
    ]


def read_stacks(root: str) -> list[dict[str, Any]]:
    """Return the manifests of all complete stacks below `root`, the oldest first."""
    found = [read_manifest(os.path.join(root, name)) for name in folders(root)]
    stacks = [manifest for manifest in found if manifest is not None]
    return sorted(stacks, key=lambda manifest: (manifest["created"], manifest["place"]))


def unfinished(root: str) -> list[str]:
    """Return the names of folders that a run began and did not end."""
    return [name for name in folders(root) if read_manifest(os.path.join(root, name)) is None]


def next_place(names: list[str], wanted: str) -> str:
    """Return a name for a new stack of the id `wanted` that none of `names` has."""
    if wanted not in names:
        return wanted
    number = 2
    while f"{wanted}.{number}" in names:
        number += 1
    return f"{wanted}.{number}"


def chosen(stacks: list[dict[str, Any]], wanted: str) -> dict[str, Any] | None:
    """Return the newest usable stack whose id or place is `wanted`; None when there is none."""
    fitting = [
        stack
        for stack in stacks
        if stack["usable"] and wanted in (stack["stack_id"], stack["place"])
    ]
    return fitting[-1] if fitting else None


def surplus(stacks: list[dict[str, Any]], place: str, keep: int) -> list[str]:
    """Return the places to remove so that `keep` stacks stay: the one in `place`, and the newest of the others."""
    others = [stack["place"] for stack in stacks if stack["place"] != place]
    return others[: max(len(others) - max(keep - 1, 0), 0)]


def compare(
    locked: list[dict[str, Any]], alias: dict[str, str] | None, installed: dict[str, str]
) -> dict[str, list[Any]]:
    """Return ``missing``, ``extra`` and ``different`` of the installed packages, against a lock and its alias."""
    wanted = {item["name"]: item["version"] for item in locked}
    if alias:
        wanted[python_lock.normal_name(alias["name"])] = alias["version"]
    return {
        "missing": [f"{name}=={wanted[name]}" for name in sorted(set(wanted) - set(installed))],
        "extra": [f"{name}=={installed[name]}" for name in sorted(set(installed) - set(wanted))],
        "different": [
            {"name": name, "locked": wanted[name], "installed": installed[name]}
            for name in sorted(set(wanted) & set(installed))
            if normal_version(wanted[name]) != normal_version(installed[name])
        ],
    }


def normal_version(text: str) -> str:
    """Return one spelling of a version: lower case, no leading v, separators as dots, no leading zeros in numbers."""
    plain = re.sub(r"[-_]", ".", text.strip().lower())
    return re.sub(r"(?<![0-9a-z])0+(?=\d)", "", plain[1:] if plain.startswith("v") else plain)


def listing(packages: dict[str, str]) -> str:
    """Return packages as lines, as ``--diff`` shows them."""
    return "".join(f"{name}=={packages[name]}\n" for name in sorted(packages))
