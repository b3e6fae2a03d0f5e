# SPDX-License-Identifier: Apache-2.0
"""Reads a host's variables as the roles will read them, each on its own, so that one that is broken hides no other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible.errors import AnsibleError
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.plugins.action import ActionBase
from ansible_collections.kvcache.ascend.plugins.module_utils import (
    preflight_model,
    preflight_network,
    preflight_settings,
)

ROLES = Path(__file__).resolve().parents[2] / "roles"


def _type_problem(name: str, value: Any, option: dict[str, Any] | None) -> str:
    """Why a role would refuse the value; empty when it would not."""
    # The message would show the value of a secret.
    if option is None or value is None or option.get("no_log"):
        return ""
    checked = ArgumentSpecValidator({name: option}).validate({name: value})
    return " ".join("; ".join(checked.error_messages).split())


def _ports(host: preflight_model.Host) -> list[int]:
    """The ports that the host's services will listen on, as far as the variables can be read."""
    try:
        listed = preflight_network.ports_of(host).values()
    except (TypeError, ValueError):
        return []
    return sorted({port for _name, variables in listed for port in variables.values()})


class ActionModule(ActionBase):
    _supports_check_mode = True
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        result = super().run(tmp, task_vars)
        variables = task_vars or {}
        templar = self._templar.copy_with_new_env(
            available_variables={
                **self._of_roles("defaults"),
                **variables,
                **self._of_roles("vars"),
            }
        )
        options = self._options()
        # What the host sets is checked, and what the checks need is read.
        wanted = {*self._task.args["names"], *(name for name in variables if name in options)}
        settings, broken = {}, {}
        for name in sorted(wanted & set(templar.available_variables)):
            try:
                value = templar.template(templar.available_variables[name])
            except AnsibleError as error:
                broken[name] = " ".join(str(error).split())
                continue
            problem = _type_problem(name, value, options.get(name))
            if problem:
                broken[name] = problem
            elif name in self._task.args["names"]:
                settings[name] = value
        host = preflight_model.Host(
            str(variables.get("inventory_hostname")),
            groups=list(variables.get("group_names") or []),
            settings=settings,
        )
        names = [name for name in variables if name.startswith(preflight_settings.PREFIXES)]
        names += [name for name in variables if name in preflight_settings.RENAMED]
        return {
            **result,
            "changed": False,
            "settings": settings,
            "broken": broken,
            "ports": _ports(host),
            "known": sorted({*options, *self._published()}),
            "names": sorted({str(name) for name in names}),
        }

    def _of_roles(self, kind: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for path in sorted(ROLES.glob(f"*/{kind}/main.yml")):
            found.update(self._loader.load_from_file(str(path), trusted_as_template=True) or {})
        return found

    def _options(self) -> dict[str, dict[str, Any]]:
        """The documented options of every role."""
        found: dict[str, dict[str, Any]] = {}
        for path in sorted(ROLES.glob("*/meta/argument_specs.yml")):
            specs = self._loader.load_from_file(str(path)) or {}
            for entry in specs["argument_specs"].values():
                found = {**(entry.get("options") or {}), **found}
        return found

    def _published(self) -> list[str]:
        """What roles publish for each other."""
        return [name for name in self._of_roles("vars") if not name.startswith("__")]
