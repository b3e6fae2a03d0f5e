# SPDX-License-Identifier: Apache-2.0
"""What awx/configuration.yml says fits together, and fits the collection: names, surveys, what may be sliced or prompted."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from awx_configuration import ROOT, load, questions, templates

TEMPLATES = templates()
# How the type of a question is called by the roles.
TYPES = {
    "text": {"str", "path"},
    "integer": {"int"},
    "float": {"float"},
    "multiselect": {"list"},
}
LISTS = {
    "aap_organizations",
    "controller_credential_types",
    "controller_credentials",
    "controller_execution_environments",
    "controller_notifications",
    "controller_projects",
    "controller_inventories",
    "controller_inventory_sources",
    "controller_templates",
    "controller_workflows",
    "controller_schedules",
}


def names(key: str) -> set[str]:
    return {item["name"] for item in load()[key]}


def options() -> dict[str, dict[str, Any]]:
    """All variables of the roles' main entry points."""
    found: dict[str, dict[str, Any]] = {}
    for path in ROOT.glob("roles/*/meta/argument_specs.yml"):
        found.update(yaml.safe_load(path.read_text())["argument_specs"]["main"]["options"])
    return found


OPTIONS = options()


def problem(question: dict[str, Any], option: dict[str, Any] | None) -> str:
    """Why a question does not fit the variable that it sets; empty when it does."""
    if option is None:
        return "no role has this variable"
    kind, choices = question["type"], question.get("choices")
    if option["type"] == "bool":
        return "" if (kind, choices) == ("multiplechoice", ["true", "false"]) else "not a bool"
    if choices != option.get("choices"):
        return "other choices"
    if kind == "multiplechoice":
        return "" if option["type"] == "str" else f"not a {option['type']}"
    return "" if option["type"] in TYPES[kind] else f"not a {option['type']}"


def test_the_lists_have_the_names_that_infra_aap_configuration_reads() -> None:
    own = {key for key in load() if not key.startswith("kvcache_awx_")}
    assert own == LISTS


@pytest.mark.parametrize("name", TEMPLATES)
def test_questions_fit_the_variables_that_they_set(name: str) -> None:
    for question in questions(TEMPLATES[name]):
        variable = question["variable"]
        assert problem(question, OPTIONS.get(variable)) == "", variable
        # AWX gives a default to the job as an extra variable, which beats what the inventory says.
        assert "default" not in question, variable


def test_questions_that_do_not_fit_are_found() -> None:
    text = {"variable": "x", "type": "text"}
    assert problem(text, None) == "no role has this variable"
    assert problem(text, {"type": "int"}) == "not a int"
    assert problem({**text, "type": "integer"}, {"type": "bool"}) == "not a bool"
    chosen = {"variable": "x", "type": "multiplechoice", "choices": ["a"]}
    assert problem(chosen, {"type": "str", "choices": ["a", "b"]}) == "other choices"
    assert problem(chosen, {"type": "str", "choices": ["a"]}) == ""


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_runs_a_root_playbook_and_needs_nobody(name: str) -> None:
    template = TEMPLATES[name]
    assert (ROOT / template["playbook"]).is_file()
    assert "/" not in template["playbook"]
    # A schedule and the workflow can't answer.
    assert [each["variable"] for each in questions(template) if each["required"]] == []
    assert template["survey_enabled"] == bool(questions(template))
    # A slice has a part of the inventory, in which the master or the hosts to compare with are missing.
    assert template["job_slice_count"] == 1
    assert template["ask_job_slice_count_on_launch"] is False
    # The playbooks become root by themselves; --become would do it on the control node, too.
    assert template["become_enabled"] is False
    assert template["allow_simultaneous"] is False


def test_every_root_playbook_has_a_template_or_a_reason() -> None:
    root = {path.name for path in ROOT.glob("*.yml")}
    # Bootstrap brings this machine's key and notes host keys in its home: a job has neither key nor a home that stays.
    without = {"bootstrap.yml", "galaxy.yml", "execution-environment.yml"}
    offered = {template["playbook"] for template in TEMPLATES.values()}
    assert root - without == offered, (
        "give it a job template in awx/configuration.yml, or the reason here"
    )


def test_names_that_are_referred_to_are_there() -> None:
    content = load()
    for template in TEMPLATES.values():
        assert template["project"] in names("controller_projects")
        assert template["inventory"] in names("controller_inventories")
        assert template["execution_environment"] in names("controller_execution_environments")
    assert set(content["kvcache_awx_credentials"]) <= names("controller_credentials")
    kinds = {each["credential_type"] for each in content["controller_credentials"]}
    assert kinds - {"Machine"} == names("controller_credential_types")
    for source in content["controller_inventory_sources"]:
        assert source["inventory"] in names("controller_inventories")
        assert source["source_project"] in names("controller_projects")
    for schedule in content["controller_schedules"]:
        assert schedule["unified_job_template"] in TEMPLATES
    for project in content["controller_projects"]:
        assert project["default_environment"] in names("controller_execution_environments")
    assert (ROOT / content["kvcache_awx_inventory_path"]).is_file()


def test_the_workflow_asks_a_person_before_it_changes_anything() -> None:
    (workflow,) = load()["controller_workflows"]
    nodes = {node["identifier"]: node for node in workflow["simplified_workflow_nodes"]}
    followers = [name for node in nodes.values() for name in node.get("success_nodes", [])]
    (first,) = set(nodes) - set(followers)
    order = [first]
    while nodes[order[-1]].get("success_nodes"):
        order += nodes[order[-1]]["success_nodes"]
    told = [nodes[name].get("unified_job_template", "approval") for name in order]
    assert told == ["kvcache preflight", "approval", "kvcache site", "kvcache verify"]
    assert nodes["approval"]["approval_node"]["timeout"] > 0


def test_drift_changes_nothing_and_shows_it() -> None:
    drift = TEMPLATES["kvcache drift"]
    assert (drift["job_type"], drift["diff_mode"]) == ("check", True)
    assert drift["ask_job_type_on_launch"] is False


def test_secrets_are_secret() -> None:
    for kind in load()["controller_credential_types"]:
        assert all(field["secret"] for field in kind["inputs"]["fields"])
        assert set(kind["injectors"]) == {"extra_vars"}
    # No value of a secret is in the file.
    assert not any("inputs" in each for each in load()["controller_credentials"])
