# SPDX-License-Identifier: Apache-2.0
"""Reads a host's variables as the roles will read them, each on its own, so that one that is broken hides no other."""

from __future__ import annotations

import difflib
import re
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleError
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.plugins.action import ActionBase
from ansible_collections.kvcache.ascend.plugins.module_utils import (
    control_files,
    preflight_input,
    preflight_model,
    preflight_ports,
    preflight_settings,
)

CONVERSION = re.compile(r"unable to convert to (\w+)")
ROLES = Path(__file__).resolve().parents[2] / "roles"


def _as_documented(name: str, value: Any, option: dict[str, Any] | None) -> tuple[str, Any]:
    """Why a role would refuse the value, empty when it would not; and the value as its type makes it."""
    # The message would show the value of a secret.
    if option is None or value is None or option.get("no_log"):
        return "", value
    given = preflight_input.plain(value)
    checked = ArgumentSpecValidator({name: option}).validate({name: given})
    message = " ".join("; ".join(checked.error_messages).split())
    if not message:
        return "", checked.validated_parameters[name]
    wanted = CONVERSION.search(message)
    if wanted:
        return f"{given!r} is no {wanted[1]}", value
    return _choice_problem(checked.validated_parameters.get(name, given), option) or message, value


def _choice_problem(given: Any, option: dict[str, Any]) -> str:
    """Which value is none of those that there are, in few words; empty when all are."""
    choices = [str(each) for each in option.get("choices") or []]
    for each in given if isinstance(given, list) else [given]:
        if choices and str(each) not in choices:
            close = difflib.get_close_matches(str(each), choices, n=1)
            return f"{each!r} is none of its values" + (
                f"; did you mean {close[0]}?" if close else f": {', '.join(choices)}"
            )
    return ""


def _report_problem(path: Any) -> str:
    """Why the file for the findings can't be written; empty when it can, or when none is wanted."""
    reason = control_files.unwritable(str(Path(str(path)).expanduser())) if path else ""
    return preflight_input.report_file_problem(str(path), reason) if reason else ""


def _ports(host: preflight_model.Host) -> list[int]:
    """The ports that the host's services will listen on, as far as the variables can be read."""
    try:
        listed = preflight_ports.ports_of(host).values()
    except (TypeError, ValueError):
        return []
    return sorted({port for _name, variables in listed for port in variables.values()})


class ActionModule(ActionBase):
    _supports_check_mode = True
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        result = super().run(tmp, task_vars)
        variables = task_vars or {}
        defaults = self._of_roles("defaults")
        templar = self._templar.copy_with_new_env(
            available_variables={
                **defaults,
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
            problem, coerced = _as_documented(name, value, options.get(name))
            if problem:
                broken[name] = problem
            if name.startswith("preflight_"):
                # What the preflight itself reads must be usable, so that it can tell what is not.
                settings[name] = defaults[name] if problem else coerced
            elif not problem and name in self._task.args["names"]:
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
            "ca_problems": self._ca_problems(settings.get("site_ca_files")),
            "report_problem": _report_problem(settings.get("preflight_report_file")),
            "known": sorted({*options, *self._published()}),
            "names": sorted({str(name) for name in names}),
        }

    def _ca_problems(self, paths: Any) -> list[str]:
        """What is wrong with CA files of the control node, which are looked for as the role site does it."""
        found = []
        for name in paths if isinstance(paths, list) else [paths] if paths else []:
            try:
                path = self._find_needle("files", str(name))
            except AnsibleError:
                path = str(name)
            problem = control_files.ca_problem(path)
            found += [f"site_ca_files: {problem}"] if problem else []
        return found

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
