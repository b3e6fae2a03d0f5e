# SPDX-License-Identifier: Apache-2.0
"""All that is seen of a host's stacks, in the form that the modules return."""

from __future__ import annotations

import json
import os
import platform
from typing import Any, Callable

from ansible_collections.kvcache.ascend.plugins.module_utils import (
    finding,
    host_files,
    mooncake_build,
    mooncake_proof,
    python_stack,
    python_stack_findings,
    python_stack_look,
)

SPEC: dict[str, dict[str, Any]] = {
    "root": {"type": "path", "default": "/opt/kvcache/stack"},
    "python": {"type": "path", "default": "/usr/bin/python3"},
    "place": {"type": "str", "default": ""},
    "deep": {"type": "bool", "default": False},
    "prove": {"type": "bool", "default": False},
    "mooncake": {"type": "path", "default": ""},
    "set_env_files": {"type": "list", "elements": "path", "default": []},
    "environment": {"type": "dict", "default": {}},
}


def platform_of(
    python: str, run: mooncake_proof.Runner
) -> tuple[dict[str, str] | None, list[dict[str, str]]]:
    """Ask the configured Python for the platform; None and a finding when it can't be run."""
    result = run([python, "-c", mooncake_build.PLATFORM_SCRIPT], {})
    if result[0] == 0:
        return json.loads(result[1]), []
    fix = "install it, or set python_stack_python to one that is there"
    return None, mooncake_proof.check_command(
        "python_stack_python", platform.node(), result, python, fix
    )


def nothing_here(root: str) -> dict[str, str]:
    """Return the finding for a host that has no stack in use."""
    return finding.make(
        "python_stack_current",
        finding.ERROR,
        platform.node(),
        observed=f"{root}/current is missing or points to no stack",
        expected="a link to a complete stack",
        fix="run playbooks/python_stack.yml",
    )


def not_here(root: str, place: str, host: str) -> dict[str, str]:
    """Return the finding for a place that holds no complete stack."""
    return finding.make(
        "python_stack_place",
        finding.ERROR,
        host,
        observed=f"{root}/{place} is no complete stack",
        expected="a folder with a manifest.json that names it",
        fix=python_stack_findings.REBUILD,
    )


def link_findings(root: str) -> list[dict[str, str]]:
    """Return a finding when ``current`` is something else than a link: it could not be switched."""
    path = os.path.join(root, "current")
    if os.path.islink(path) or not os.path.lexists(path):
        return []
    return [
        finding.make(
            "python_stack_current",
            finding.ERROR,
            platform.node(),
            observed=f"{path} is not a link",
            expected="a link to a stack, or nothing",
            fix=f"look what it holds and move it away (mv {path} {path}.old), then run again",
        )
    ]


def look(params: dict[str, Any], run_command: Callable[..., Any]) -> dict[str, Any]:
    """Return what the modules return, for their parameters."""
    root, host = params["root"], platform.node()
    run = mooncake_proof.tolerant(run_command)
    seen_platform, findings = platform_of(params["python"], run)
    findings += link_findings(root)
    current = mooncake_build.current_build(root)
    subject = params["place"] or current
    stacks = [
        python_stack_look.look_at(
            root, manifest, run, params["deep"] and manifest["place"] == subject
        )
        for manifest in python_stack.read_stacks(root)
    ]
    imports = None
    if params["place"] and params["place"] not in [stack["place"] for stack in stacks]:
        findings.append(not_here(root, params["place"], host))
    for stack in stacks:
        if stack["place"] != subject:
            continue
        path = os.path.join(root, subject)
        wrong = python_stack_findings.stack_findings(stack, path, host)
        findings += wrong
        if params["prove"] and not wrong:
            imports = python_stack_look.import_all(
                path,
                stack["release"]["platform"],
                run,
                environment={key: str(value) for key, value in params["environment"].items()},
                files=params["set_env_files"],
                mooncake=params["mooncake"],
            )
            findings += python_stack_findings.import_findings(imports, stack, path, host)
    return {
        "platform": seen_platform,
        "current": current if current in [stack["place"] for stack in stacks] else None,
        "free_bytes": host_files.free_bytes(root),
        "stacks": stacks,
        "imports": imports,
        "findings": findings,
    }
