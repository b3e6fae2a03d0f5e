# SPDX-License-Identifier: Apache-2.0
"""awx/configuration.yml and awx/configure.yml against the options that AWX's own modules document."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from conftest import ROOT, run

Lists = dict[str, list[dict[str, Any]]]
(PLAY,) = yaml.safe_load((ROOT / "awx" / "configure.yml").read_text())
TASKS = [task for task in PLAY["tasks"] if any(key.startswith("awx.awx.") for key in task)]
# In the shape that infra.aap_configuration reads, the nodes are in the workflow; AWX has a module of their own for them.
NODES = "simplified_workflow_nodes"


def module_of(task: dict[str, Any]) -> str:
    (name,) = (key for key in task if key.startswith("awx.awx."))
    return name


@pytest.fixture(scope="module")
def options(collections: str) -> dict[str, dict[str, Any]]:
    """The documented options of each module that configure.yml uses."""
    names = sorted({module_of(task) for task in TASKS})
    command = ["ansible-doc", "--json", "--type", "module", *names]
    told = json.loads(run(command, ANSIBLE_COLLECTIONS_PATH=collections))
    return {name: told[name]["doc"]["options"] for name in names}


def as_specification(documented: dict[str, Any]) -> dict[str, Any]:
    """What a module's argument_spec must have been for this documentation."""
    fields = ("type", "choices", "required", "elements", "aliases")
    return {
        name: {
            **{field: option[field] for field in fields if field in option},
            **(
                {"options": as_specification(option["suboptions"])}
                if "suboptions" in option
                else {}
            ),
        }
        for name, option in documented.items()
    }


def list_of(task: dict[str, Any]) -> str:
    found = re.search(r"\b(aap|controller)_\w+", task["loop"])
    assert found, task["name"]
    return found[0]


def items(task: dict[str, Any], configuration: Lists) -> list[dict[str, Any]]:
    listed = configuration[list_of(task)]
    if NODES in task["loop"]:
        return [{**node, "workflow": each["name"]} for each in listed for node in each[NODES]]
    return listed


def passed_on(task: dict[str, Any]) -> set[str]:
    """Keys of an item that the task hands to its module."""
    return set(re.findall(r"item\.(?:1\.)?(\w+)", str(task[module_of(task)])))


def test_every_list_is_applied_and_every_key_of_it(configuration: Lists) -> None:
    handed: dict[tuple[str, bool], set[str]] = {}
    for task in TASKS:
        handed.setdefault((list_of(task), NODES in task["loop"]), set()).update(passed_on(task))
    assert {name for name, _nodes in handed} == set(configuration)
    for task in TASKS:
        keys = {key for item in items(task, configuration) for key in item} - {NODES, "workflow"}
        assert keys, f"{task['name']}: nothing to do"
        assert keys - handed[list_of(task), NODES in task["loop"]] == set(), task["name"]


def test_tasks_hand_over_options_that_the_modules_have(options: dict[str, dict[str, Any]]) -> None:
    for task in TASKS:
        module = module_of(task)
        assert set(task[module]) - set(options[module]) == set(), task["name"]
        required = {name for name, option in options[module].items() if option.get("required")}
        assert required <= set(task[module]), task["name"]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task["name"])
def test_values_are_of_the_documented_type_and_choice(
    task: dict[str, Any], configuration: Lists, options: dict[str, dict[str, Any]]
) -> None:
    module = module_of(task)
    specification = as_specification(options[module])
    # Some options of the node are the workflow's; they are names.
    specification = {name: {**spec, "required": False} for name, spec in specification.items()}
    for item in items(task, configuration):
        given = {
            key: value for key, value in item.items() if key not in (NODES, "workflow") and value
        }
        checked = ArgumentSpecValidator(specification).validate(given)
        assert checked.error_messages == [], item["name" if "name" in item else "identifier"]
        taken = {key: checked.validated_parameters[key] for key in given}
        if "approval_node" not in given:
            assert taken == given, "a value is of another type, and only converted"


def test_a_value_that_awx_does_not_take_is_found(
    configuration: Lists, options: dict[str, dict[str, Any]]
) -> None:
    specification = as_specification(options["awx.awx.job_template"])
    template = configuration["controller_templates"][0]
    for wrong in ({"job_type": "scan"}, {"forks": "many"}, {"ask_limits_on_launch": True}):
        checked = ArgumentSpecValidator(specification).validate({**template, **wrong})
        assert len(checked.error_messages) == 1, wrong


def test_injectors_reach_awx_as_they_are_written(configuration: Lists) -> None:
    for kind in configuration["controller_credential_types"]:
        fields = {field["id"] for field in kind["inputs"]["fields"]}
        values = kind["injectors"]["extra_vars"].values()
        assert {f"{{{{ {field} }}}}" for field in fields} == set(values)


def test_the_playbook_says_what_it_lacks(collections: str) -> None:
    environment = {"ANSIBLE_COLLECTIONS_PATH": collections, "CONTROLLER_OAUTH_TOKEN": "none"}
    command = ["ansible-playbook", "awx/configure.yml"]
    told = " ".join(run(command, check=False, CONTROLLER_HOST="", **environment).split())
    assert "Fix: export CONTROLLER_HOST=https://awx.example.com" in told
    closed = "http://127.0.0.1:9"
    told = " ".join(run(command, check=False, CONTROLLER_HOST=closed, **environment).split())
    assert f"{closed}/api/v2/organizations/" in told
    assert "refused" in told
