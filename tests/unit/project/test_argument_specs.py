# SPDX-License-Identifier: Apache-2.0
"""Each role's defaults and the options in its argument_specs are the same set, with the same values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[3]
ROLES = sorted(path.name for path in (ROOT / "roles").iterdir())


def load(role: str, path: str) -> dict[str, Any]:
    file = ROOT / "roles" / role / path
    return (yaml.safe_load(file.read_text()) or {}) if file.exists() else {}


@pytest.mark.parametrize("role", ROLES)
def test_defaults_are_documented_and_documented_defaults_are_true(role: str) -> None:
    options = load(role, "meta/argument_specs.yml")["argument_specs"]["main"]["options"]
    documented = {name: spec["default"] for name, spec in options.items() if "default" in spec}
    assert documented == load(role, "defaults/main.yml")


@pytest.mark.parametrize("role", ROLES)
def test_every_entry_point_says_the_same_of_an_option(role: str) -> None:
    specs = load(role, "meta/argument_specs.yml")["argument_specs"]
    main = specs["main"]["options"]
    for entry, spec in specs.items():
        for name, option in spec["options"].items():
            if name in main:
                told = {key: option.get(key) for key in ("type", "default", "elements")}
                expected = {key: main[name].get(key) for key in ("type", "default", "elements")}
                assert told == expected, f"{role}:{entry}:{name}"


@pytest.mark.parametrize("role", ROLES)
def test_every_entry_point_exists(role: str) -> None:
    for entry in load(role, "meta/argument_specs.yml")["argument_specs"]:
        assert (ROOT / "roles" / role / "tasks" / f"{entry}.yml").exists(), f"{role}: {entry}"


@pytest.mark.parametrize("role", ROLES)
def test_every_option_is_described_and_prefixed(role: str) -> None:
    for spec in load(role, "meta/argument_specs.yml")["argument_specs"].values():
        assert spec["short_description"]
        for name, option in spec["options"].items():
            assert name.startswith(f"{role}_")
            assert option["description"], name


@pytest.mark.parametrize("role", ROLES)
def test_every_role_says_how_to_run_it(role: str) -> None:
    assert f"kvcache.ascend.{role}" in (ROOT / "roles" / role / "README.md").read_text()
