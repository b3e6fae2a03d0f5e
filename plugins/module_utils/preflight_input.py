# SPDX-License-Identifier: Apache-2.0
"""Turns the results of the preflight's tasks into hosts, also those of hosts that could not be asked."""

from __future__ import annotations

import re
from typing import Any, Callable, Mapping, Sequence

from ansible_collections.kvcache.ascend.plugins.module_utils.preflight_model import Host

SpecOf = Callable[[str, "list[Any]"], "dict[str, Any]"]
"""Looks a release up; raises ValueError, with the fix in its text, when there is none."""

MAXIMUM_TROUBLE = 300


def report_file_problem(name: str, reason: str) -> str:
    """That the findings can't be written where they are wanted, with the fix."""
    return (
        f"preflight_report_file: {name} on the control node can't be written: {reason}. "
        "Fix: name a file in a folder that is there and that you may write to."
    )


def trouble_of(result: Mapping[str, Any] | None) -> str:
    """Why a task that should have looked at a host did not: the words of Ansible, without line breaks."""
    if not result:
        return "the run did not come so far"
    text = result.get("msg") or result.get("module_stderr") or result.get("exception") or ""
    plain = re.sub(r"\s+", " ", str(text)).strip()
    plain = re.sub(r"\A(?:(?:Task failed|Action failed|Module failed): )+", "", plain)
    return (plain[:MAXIMUM_TROUBLE] or "no reason was given").rstrip(". ")


def plain(value: Any) -> Any:
    """The value without the tags that Ansible puts on what it reads: by their types, checks name what they were given."""
    if isinstance(value, Mapping):
        return {plain(key): plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    for kind in (bool, int, float, str):
        if isinstance(value, kind):
            return value if kind is bool else kind(value)
    return value


def read_hosts(
    results: Sequence[Mapping[str, Any]], spec_of: SpecOf, inventory: Mapping[str, Sequence[str]]
) -> list[Host]:
    """The hosts, each release looked up once. inventory: all groups, by name."""
    specs: dict[str, tuple[dict[str, Any] | None, str]] = {}
    groups = {str(name): [str(each) for each in names] for name, names in inventory.items()}
    hosts = [_read(result, specs, spec_of) for result in results]
    for host in hosts:
        host.inventory = groups
    return hosts


def _read(
    result: Mapping[str, Any],
    specs: dict[str, tuple[dict[str, Any] | None, str]],
    spec_of: SpecOf,
) -> Host:
    told = plain(result.get("settings") or {})
    settings = dict(told.get("settings") or {})
    settings["__preflight_known"] = told.get("known") or []
    settings["__preflight_ca_problems"] = told.get("ca_problems") or []
    name, rows = settings.get("release_name"), settings.get("release_extra_rows") or []
    key = repr((name, rows))
    if key not in specs:
        specs[key] = _look_up(name, rows, spec_of)
    spec, problem = specs[key]
    looked = result.get("host") or {}
    npu = result.get("npu") or {}
    seen = looked.get("host")
    return Host(
        name=str(result["name"]),
        groups=list(result.get("groups") or []),
        settings=settings,
        broken=dict(told.get("broken") or {}),
        names=list(told.get("names") or []),
        spec=spec,
        release_problem=problem,
        seen=seen,
        npu=npu.get("npu"),
        trouble="" if seen else trouble_of(looked),
        npu_trouble=trouble_of(npu) if seen and _was_asked(npu) and "npu" not in npu else "",
    )


def _was_asked(result: Mapping[str, Any]) -> bool:
    return bool(result) and not result.get("skipped")


def _look_up(name: Any, rows: Any, spec_of: SpecOf) -> tuple[dict[str, Any] | None, str]:
    if name is None:
        return None, (
            "release_name is not set. Fix: choose a release of docs/releases.md in group_vars/all.yml."
        )
    try:
        return spec_of(str(name), list(rows)), ""
    except (ValueError, TypeError, LookupError) as problem:
        return None, str(problem)
