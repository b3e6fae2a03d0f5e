# SPDX-License-Identifier: Apache-2.0
"""What AWX would offer from a checkout as playbooks and as inventories.

AWX lists a YAML file as a playbook when a line names hosts or imports a playbook, and every other file with an
inventory-like name or content as an inventory; folders of roles, tasks and variables, and hidden ones, are left out.
The rules are restated here from AWX's behaviour (October 2024).
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
PLAYBOOK_LINE = re.compile(
    r"^\s*?-?\s*?(?:hosts|(ansible\.builtin\.)?import_playbook|(ansible\.builtin\.)?include):\s*?.*?$"
)
NOT_ENTERED = {"roles", "tasks", "group_vars", "host_vars", "collections"}
INVENTORY_NAMES = re.compile(r"^(hosts|inventory)(\.ini)?$")


def files() -> list[Path]:
    found = []
    for path in sorted(ROOT.rglob("*")):
        inside = path.relative_to(ROOT).parts
        hidden = any(part.startswith(".") for part in inside)
        if path.is_file() and not hidden and not NOT_ENTERED & set(inside[:-1]):
            found.append(path)
    return found


def is_playbook(path: Path) -> bool:
    if path.suffix not in (".yml", ".yaml"):
        return False
    return any(PLAYBOOK_LINE.match(line) for line in path.read_text().splitlines())


def names(paths: list[Path]) -> set[str]:
    return {str(path.relative_to(ROOT)) for path in paths}


def test_the_root_playbooks_are_offered() -> None:
    playbooks = names([path for path in files() if is_playbook(path)])
    assert {"site.yml", "preflight.yml", "verify.yml", "bootstrap.yml"} <= playbooks


def test_inventories_are_offered_and_not_taken_for_playbooks() -> None:
    inventories = names([path for path in files() if INVENTORY_NAMES.match(path.name)])
    assert {"inventories/prod/hosts", "inventories/demo/hosts"} <= inventories
    playbooks = names([path for path in files() if is_playbook(path)])
    assert not [name for name in playbooks if name.startswith("inventories/")]


def test_what_is_for_awx_itself_is_told_apart() -> None:
    """Its playbook can run there, with the module's collection in the image; its data is neither playbook nor inventory."""
    found = files()
    assert ROOT / "awx" / "configuration.yml" in found
    playbooks = names([path for path in found if is_playbook(path)])
    own = {name for name in playbooks if name.startswith(("awx/", "meta/", "execution-"))}
    assert own == {"awx/configure.yml"}


def test_no_playbook_prompts() -> None:
    for path in [*ROOT.glob("*.yml"), *ROOT.glob("playbooks/*.yml"), *ROOT.glob("roles/**/*.yml")]:
        text = path.read_text()
        assert "vars_prompt" not in text, path
        assert "builtin.pause" not in text, path
