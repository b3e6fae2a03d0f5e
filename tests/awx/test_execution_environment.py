# SPDX-License-Identifier: Apache-2.0
"""The execution environment as ansible-builder reads it. Its image can't be built here: the base image is in a registry."""

from __future__ import annotations

import re
from pathlib import Path

import yaml
from conftest import ROOT, run

DEFINITION = yaml.safe_load((ROOT / "execution-environment.yml").read_text())
PINNED = set((ROOT / "tests/constraints.txt").read_text().splitlines())


def test_a_build_context_is_made(tmp_path: Path) -> None:
    definition = str(ROOT / "execution-environment.yml")
    run(["ansible-builder", "create", "-f", definition, "-c", str(tmp_path / "context")])
    build = tmp_path / "context" / "_build"
    recipe = next((tmp_path / "context").glob("*file")).read_text()
    assert "ARG PYCMD" in recipe
    assert DEFINITION["dependencies"]["python_interpreter"]["python_path"] in recipe
    assert "paramiko==" in (build / "requirements.txt").read_text()
    assert "openssh-clients [platform:rpm]" in (build / "bindep.txt").read_text()
    collections = yaml.safe_load((build / "requirements.yml").read_text())["collections"]
    assert [each["name"] for each in collections] == ["awx.awx"]


def test_the_needs_of_the_collection_are_found_where_it_is_installed() -> None:
    told = yaml.safe_load(run(["ansible-builder", "introspect", str(ROOT / "collections")]))
    python = [line.split()[0] for line in told["python"]]
    system = [line.split()[0] for line in told["system"]]
    assert python == ["paramiko==5.1.0", "cryptography==50.0.2"]
    assert system == ["openssh-clients", "openssh-client", "git"]


def test_versions_are_those_that_the_tests_run_with() -> None:
    dependencies = DEFINITION["dependencies"]
    own = (ROOT / "meta/ee-requirements.txt").read_text()
    named = {
        dependencies["ansible_core"]["package_pip"],
        dependencies["ansible_runner"]["package_pip"],
        *re.findall(r"^[\w.-]+==\S+", own, re.M),
    }
    assert named <= PINNED
