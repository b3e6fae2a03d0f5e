# SPDX-License-Identifier: Apache-2.0
"""The locks are complete, exact, fit the release table, and the docs show them; without asking any index."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.kvcache.ascend.plugins.filter.release import load_tables, release_spec
from ansible_collections.kvcache.ascend.plugins.module_utils import python_lock, release
from packaging.requirements import Requirement
from packaging.utils import parse_wheel_filename
from packaging.version import Version

ROOT = Path(__file__).parents[3]
LOCKS = ROOT / "roles" / "release" / "files" / "locks"
ENTRIES = yaml.safe_load((LOCKS / "index.yml").read_text(encoding="utf-8"))["locks"]
MADE = [entry for entry in ENTRIES if not entry["reason"]]
MAKE = "run: make lock"

by_file = pytest.mark.parametrize("entry", MADE, ids=lambda entry: entry["file"])


def read(entry: dict[str, Any]) -> dict[str, Any]:
    return python_lock.parse((LOCKS / entry["file"]).read_text(encoding="utf-8"))


def generator() -> Any:
    spec = importlib.util.spec_from_file_location(
        "lock_docs", ROOT / "tests" / "tools" / "lock_docs.py"
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_release_architecture_and_python_has_a_lock_or_a_reason() -> None:
    expected = [
        python_lock.file_name(name, architecture, python)
        for name in release.known_names(load_tables()["releases"])
        for architecture in python_lock.ARCHITECTURES
        for python in python_lock.pythons(release_spec(name, []))
    ]
    assert [entry["file"] for entry in ENTRIES] == expected, MAKE
    assert sorted(path.name for path in LOCKS.glob("*.txt")) == sorted(
        entry["file"] for entry in MADE
    )


@pytest.mark.parametrize("name", ["0.11.0rc3", "0.11.0rc3-torch2.8", "0.11.0", "0.13.0", "0.18.0"])
def test_these_releases_have_every_lock(name: str) -> None:
    assert [
        entry["reason"] for entry in ENTRIES if entry["release"] == name and entry["reason"]
    ] == []


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry["file"])
def test_no_lock_is_older_than_its_row(entry: dict[str, Any]) -> None:
    spec = release_spec(entry["release"], [])
    digest = python_lock.inputs_digest(spec, entry["architecture"], entry["python"])
    assert entry["inputs"] == digest, MAKE
    if not entry["reason"]:
        assert read(entry)["head"]["inputs"] == digest, MAKE


@by_file
def test_a_lock_keeps_what_its_row_asks_for_and_leaves_out_what_it_shall(
    entry: dict[str, Any],
) -> None:
    spec = release_spec(entry["release"], [])
    locked = {item["name"]: Version(item["version"]) for item in read(entry)["packages"]}
    replaced = {item["package"]: item["specifier"] for item in spec["overrides"]}
    for line in python_lock.requirements(spec):
        wanted = Requirement(line)
        if wanted.name in replaced:
            continue
        assert wanted.specifier.contains(locked[wanted.name], prereleases=True), line
    for package, specifier in replaced.items():
        if specifier is None:
            assert package not in locked
        else:
            assert Requirement(package + specifier).specifier.contains(locked[package])


@by_file
def test_every_wheel_is_the_packages_own_and_fits_the_platform(entry: dict[str, Any]) -> None:
    lock = read(entry)
    assert lock["head"]["bytes"] == str(sum(item["size_bytes"] for item in lock["packages"]))
    for item in lock["packages"]:
        name, version, _build, tags = parse_wheel_filename(item["wheel"])
        assert (name, version) == (item["name"], Version(item["version"]))
        assert all(
            tag.platform == "any" or tag.platform.endswith(entry["architecture"]) for tag in tags
        )


@by_file
def test_nothing_of_a_lock_names_a_host(entry: dict[str, Any]) -> None:
    text = (LOCKS / entry["file"]).read_text(encoding="utf-8")
    assert not re.search(r"https?:|--(extra-)?index|--find-links|/simple|file:", text)


def test_the_page_in_docs_shows_the_locks() -> None:
    page = (ROOT / "docs" / "locks.md").read_text(encoding="utf-8")
    assert page == generator().render(), "run: python3 tests/tools/lock_docs.py > docs/locks.md"
