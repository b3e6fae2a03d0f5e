# SPDX-License-Identifier: Apache-2.0
"""Filters of the role release: the tables in its files/, and thin names for pure functions in module_utils."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import yaml
from ansible.errors import AnsibleFilterError
from ansible_collections.kvcache.ascend.plugins.module_utils import release

FILES = Path(__file__).resolve().parents[2] / "roles" / "release" / "files"
# The parser in C, where PyYAML was built with it, is ten times as fast.
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@functools.lru_cache(maxsize=None)
def load_tables(folder: Path = FILES) -> dict[str, Any]:
    """Return the tables ``releases``, ``mooncake``, ``master_flags`` and ``connectors``, each from a file of its own."""
    tables: dict[str, Any] = {}
    for path in sorted(folder.glob("*.yml")):
        tables.update(yaml.load(path.read_text(encoding="utf-8"), Loader=LOADER))
    return tables


def release_problem(name: str, extra_rows: list[dict[str, Any]]) -> str:
    """Return why there is no such release; empty when there is one."""
    try:
        release_spec(name, extra_rows)
    except AnsibleFilterError as error:
        return str(error)
    return ""


def release_spec(name: str, extra_rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return all that belongs to a release; an unknown name is an error that names the known ones."""
    tables = load_tables()
    try:
        return release.compose(
            name,
            tables["releases"] + list(extra_rows),
            tables["mooncake"],
            tables["master_flags"],
            tables["connectors"],
        )
    except ValueError as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    """Filters for the table of releases."""

    def filters(self) -> dict:
        return {"release_spec": release_spec, "release_problem": release_problem}
