# SPDX-License-Identifier: Apache-2.0
"""awx/configuration.yml as it is written, for tests that need no value that Ansible computes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]


class Loader(yaml.SafeLoader):
    """Takes what Ansible must not touch (!unsafe) as the text that it is."""


def as_text(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> str:
    return str(loader.construct_scalar(node))


Loader.add_constructor("!unsafe", as_text)


def load() -> dict[str, Any]:
    text = (ROOT / "awx" / "configuration.yml").read_text()
    content: dict[str, Any] = yaml.load(text, Loader)
    return content


def templates() -> dict[str, dict[str, Any]]:
    """The job templates, by name."""
    return {template["name"]: template for template in load()["controller_templates"]}


def questions(template: dict[str, Any]) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = template["survey_spec"].get("spec", [])
    return listed
