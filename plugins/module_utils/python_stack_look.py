# SPDX-License-Identifier: Apache-2.0
"""Looks at stacks on a host: their packages and files, and what happens when their modules are imported.

Commands are run by a callable that is passed in, so that tests can hand over canned answers or real processes.
"""

from __future__ import annotations

import json
import os
from typing import Any

from ansible_collections.kvcache.ascend.plugins.module_utils import (
    python_lock,
    python_stack,
    python_stack_scripts,
)
from ansible_collections.kvcache.ascend.plugins.module_utils.mooncake_proof import Runner, last_line

IMPORTS = {
    "cpu": ["torch", "platform"],
    "npu": ["torch", "torch_npu", "vllm_ascend.vllm_ascend_C", "platform"],
}
"""What must be importable on each platform. vllm_ascend's operators need both torches loaded before them."""

DRIVER_FOLDERS = (
    "/usr/local/Ascend/driver/lib64",
    "/usr/local/Ascend/driver/lib64/common",
    "/usr/local/Ascend/driver/lib64/driver",
)

SOURCING = (
    'words=("$@"); set --; '
    'for file in $KVCACHE_SET_ENV; do [ -r "$file" ] && . "$file" >/dev/null 2>&1; done; '
    'for folder in $KVCACHE_DRIVER; do [ -d "$folder" ] && '
    "LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$folder; done; "
    'export LD_LIBRARY_PATH; exec "${words[@]}"'
)
"""Shell program that runs its arguments in CANN's environment: as an operator does who sources set_env.sh first."""


def python_of(path: str) -> str:
    return os.path.join(path, "bin", "python")


def in_cann(command: list[str], files: list[str]) -> tuple[list[str], dict[str, str]]:
    """Return a command, and variables for it, that run `command` with the environment that CANN's `files` set."""
    variables = {"KVCACHE_SET_ENV": " ".join(files), "KVCACHE_DRIVER": " ".join(DRIVER_FOLDERS)}
    return ["bash", "-c", SOURCING, "_", *command], variables


def inspect(path: str, run: Runner, deep: bool = False) -> dict[str, Any]:
    """Return what is in the environment `path`; ``error`` says why when that can't be told."""
    mode = "deep" if deep else "quick"
    status, output, error = run(
        [python_of(path), "-I", "-c", python_stack_scripts.INSPECT, mode], {}
    )
    if status != 0:
        return {
            "error": f"{python_of(path)} ended with status {status}: {last_line(error or output)}"
        }
    return dict(json.loads(output), error=None)


def read_lock(path: str) -> list[dict[str, Any]]:
    """Return the packages of the lock that a stack was made from."""
    with open(os.path.join(path, python_stack.LOCK), encoding="utf-8") as handle:
        return python_lock.parse(handle.read())["packages"]


def look_at(root: str, manifest: dict[str, Any], run: Runner, deep: bool = False) -> dict[str, Any]:
    """Return a stack's manifest with what was seen of it, and whether it is still as its lock says."""
    path = os.path.join(root, manifest["place"])
    seen = inspect(path, run, deep)
    if seen["error"] is None:
        try:
            seen.update(
                python_stack.compare(
                    read_lock(path), manifest["release"]["alias"], seen["packages"]
                )
            )
        except (OSError, ValueError) as error:
            seen = {"error": f"{os.path.join(path, python_stack.LOCK)}: {error}"}
    clean = seen["error"] is None and not any(
        seen[key] for key in ("missing", "extra", "different", "twice", "damaged_count")
    )
    return {**manifest, **seen, "usable": clean}


def read_answers(output: str, wanted: list[str], status: int, error: str) -> dict[str, Any]:
    """Return for each name what IMPORT printed; one that had begun and printed no answer has ended the program."""
    lines = [json.loads(line) for line in output.splitlines() if line.startswith('{"')]
    answers = {
        line["name"]: {"value": line["value"], "error": line["error"]}
        for line in lines
        if "name" in line
    }
    began = [line["begins"] for line in lines if "begins" in line]
    for name in wanted:
        if name in answers:
            continue
        words = (
            f"it ended Python with status {status}: {last_line(error)}"
            if name in began
            else "not reached"
        )
        answers[name] = {"value": None, "error": words}
    return answers


def import_all(
    path: str,
    platform: str,
    run: Runner,
    *,
    environment: dict[str, str],
    files: list[str],
    mooncake: str,
) -> dict[str, Any]:
    """Return what came of each import, and of ``vllm --version``; `mooncake` is where Mooncake's package lies, if at all."""
    wanted = list(IMPORTS[platform])
    if mooncake and os.path.isdir(os.path.join(mooncake, "mooncake")):
        wanted.append("mooncake.store")
    # torch loads torch_npu by itself, so that a missing CANN would be laid to torch.
    variables = {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0", "VLLM_NO_USAGE_STATS": "1", **environment}

    def run_one(command: list[str]) -> tuple[int, str, str]:
        command = ["timeout", "--signal=KILL", "600", *command]
        if platform != "npu":
            return run(command, variables)
        sourced, more = in_cann(command, files)
        return run(sourced, {**more, **variables})

    status, output, error = run_one([python_of(path), "-c", python_stack_scripts.IMPORT, *wanted])
    answers = read_answers(output, wanted, status, error)
    status, output, error = run_one([os.path.join(path, "bin", "vllm"), "--version"])
    printed = last_line(output)
    answers["vllm --version"] = (
        {"value": printed, "error": None}
        if status == 0
        else {
            "value": None,
            "error": f"it ended with status {status}: {last_line(error or output)}",
        }
    )
    return answers
