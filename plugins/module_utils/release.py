# SPDX-License-Identifier: Apache-2.0
"""Which versions belong together: look up a release in the table and put all that it names into one dict.

Pure functions; the data is in the role ``release``. Versions are compared as PEP 440 orders them, which also fits CANN
(``8.3.RC2`` is older than ``8.5.0``) and Mooncake (``0.3.7.post2`` is newer than ``0.3.7``).
"""

from __future__ import annotations

import copy
import difflib
import itertools
import re
from typing import Any

VERSION = re.compile(
    r"^v?(?P<release>\d+(?:\.\d+)*)"
    r"(?:[.\-_]?(?P<phase>a|alpha|b|beta|rc|c)[.\-_]?(?P<number>\d*))?"
    r"(?P<post>[.\-_]?(?:post|rev|r)[.\-_]?(?P<post_number>\d*))?$",
    re.IGNORECASE,
)
PHASES = {"a": 0, "alpha": 0, "b": 1, "beta": 1, "rc": 2, "c": 2}
FINAL = 3
"""Rank of a version without a, b or rc: it follows them all."""

ROW_DEFAULTS: dict[str, Any] = {
    "vllm_ascend": None,
    "torch_npu": None,
    "torchvision": None,
    "torchaudio": None,
    "triton_ascend": None,
    "transformers": None,
    "pins": {},
    "cann": None,
    "driver": None,
    "soc": [],
    "glibc_min": None,
    "overrides": [],
    "package_index": {"needs_extra_index": False, "reason": None},
    "distribution_alias": None,
    "notes": [],
    "sources": [],
}
"""What a row holds where it says nothing, so that every release has the same keys."""

NESTED_DEFAULTS: dict[str, dict[str, Any]] = {
    "cann": {"min": None, "recommended": None},
    "driver": {"min": None, "recommended": None},
    "package_index": {"needs_extra_index": False, "reason": None},
}


def version_key(text: str) -> tuple[tuple[int, ...], tuple[int, int], int]:
    """Return a key that sorts versions as PEP 440 does: X.Y.Z, aN, bN, rcN and .postN; no epoch, dev or local part."""
    match = VERSION.match(str(text).strip())
    if match is None:
        raise ValueError(
            f"{text!r} is not a version. Expected numbers with dots, and possibly a1, b1, rc1 or .post1 behind them."
        )
    numbers = [int(part) for part in match.group("release").split(".")]
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers.pop()
    phase = match.group("phase")
    stage = (PHASES[phase.lower()], int(match.group("number") or 0)) if phase else (FINAL, 0)
    post = int(match.group("post_number") or 0) if match.group("post") else -1
    return tuple(numbers), stage, post


def flags_known(version: str, flags: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the flags that `version` of mooncake_master knows, sorted by name, one entry each.

    An entry holds from ``since`` up to, but not including, ``until``; a flag whose type or default changed has one entry
    per period.
    """
    key = version_key(version)
    return sorted(
        (
            {**flag, "replaced_by": flag.get("replaced_by")}
            for flag in flags
            if version_key(flag["since"]) <= key
            and (flag.get("until") is None or key < version_key(flag["until"]))
        ),
        key=lambda flag: flag["name"],
    )


def known_names(table: list[dict[str, Any]]) -> list[str]:
    """Return the names of all rows, each once, in the order of the table."""
    return list(dict.fromkeys(row["name"] for row in table))


def same_beginning(first: str, second: str) -> int:
    """Return how many characters both texts have in common from their start."""
    return len(list(itertools.takewhile(lambda pair: pair[0] == pair[1], zip(first, second))))


def closest(name: str, known: list[str]) -> str:
    """Return a sentence that names the known name closest to `name`; empty when none is close."""
    close = difflib.get_close_matches(name, known, n=len(known) or 1)
    if not close:
        return ""

    def closeness(other: str) -> tuple[int, float]:
        # A version begins with what matters: 0.3.11 means 0.3.11.post1 rather than 0.3.9.
        return same_beginning(name, other), difflib.SequenceMatcher(None, name, other).ratio()

    return f" Did you mean {max(close, key=closeness)}?"


def find_row(name: str, table: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the row called `name`; a later row replaces an earlier one, so that a site's row wins."""
    known = known_names(table)
    name = str(name)  # 0.11 without quotes is a number in YAML
    if name not in known:
        raise ValueError(
            f"release_name {name!r} is unknown. Known: {', '.join(known)}.{closest(name, known)} "
            "Add a row of your own with release_extra_rows."
        )
    return [row for row in table if row["name"] == name][-1]


def find_entry(row: dict[str, Any], field: str, entries: dict[str, Any]) -> dict[str, Any]:
    """Return the entry of `entries` that the row names in `field`."""
    wanted = row[field]
    if wanted not in entries:
        raise ValueError(
            f"release {row['name']!r} has {field} {wanted!r}, which is unknown. "
            f"Known: {', '.join(entries)}.{closest(str(wanted), list(entries))} Correct it in release_extra_rows."
        )
    return entries[wanted]


def complete(row: dict[str, Any]) -> dict[str, Any]:
    """Return the row with every key of a row, also those that a site's row may leave out."""
    missing = {key: value for key, value in ROW_DEFAULTS.items() if key not in row}
    full = copy.deepcopy({**row, **missing})
    for key, defaults in NESTED_DEFAULTS.items():
        if full[key] is not None:
            full[key] = {**defaults, **full[key]}
    full["overrides"] = [
        {"package": override["package"], "specifier": None, **override}
        for override in full["overrides"]
    ]
    return full


def master_defaults(flags: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what a master of this version does when it is told nothing; `flags` are those it knows."""
    default = {flag["name"]: flag["default"] for flag in flags}
    return {
        "rpc_port": default["rpc_port"] or default["port"],
        "metrics_port": default["metrics_port"],
        # 0 threads mean: as many as the older flag says.
        "rpc_threads": default["rpc_thread_num"] or default["max_threads"],
        "kv_lease_ms": default["default_kv_lease_ttl"],
        "client_ttl_seconds": default["client_ttl"],
        "eviction_high_watermark_ratio": default["eviction_high_watermark_ratio"],
        "eviction_ratio": default["eviction_ratio"],
    }


def describe_mooncake(
    version: str, platform: str, entry: dict[str, Any], flags: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return the table's entry of a Mooncake version, with its flags and the wheel for `platform`."""
    described = copy.deepcopy(entry)
    wheels = described.pop("wheels")
    known = copy.deepcopy(flags_known(version, flags))
    return {
        "version": version,
        "wheel": wheels[platform],
        **described,
        "master_flags": known,
        "defaults": master_defaults(known),
    }


def compose(
    name: str,
    table: list[dict[str, Any]],
    mooncake: dict[str, Any],
    flags: list[dict[str, Any]],
    connectors: dict[str, Any],
) -> dict[str, Any]:
    """Return all that belongs to the release called `name`; ValueError, with the fix in its text, when it can't."""
    row = complete(find_row(name, table))
    entry = find_entry(row, "mooncake_version", mooncake)
    connector = find_entry(row, "connector", connectors)
    if connector["platform"] != row["platform"]:
        fitting = [key for key, value in connectors.items() if value["platform"] == row["platform"]]
        raise ValueError(
            f"release {name!r} is for platform {row['platform']}, but its connector {row['connector']!r} is for "
            f"{connector['platform']}. Choose one of: {', '.join(fitting)}."
        )
    version = row.pop("mooncake_version")
    family = row.pop("connector")
    return {
        **row,
        "mooncake": describe_mooncake(version, row["platform"], entry, flags),
        "connector": {"family": family, **copy.deepcopy(connector)},
    }
