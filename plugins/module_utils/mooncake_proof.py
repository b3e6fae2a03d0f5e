# SPDX-License-Identifier: Apache-2.0
"""Proof that a Mooncake build works on a host: its libraries resolve, its master starts, Python imports it.

The commands are run by a callable that is passed in, so that tests can hand over canned answers or real processes.
"""

from __future__ import annotations

import glob
import os
import re
from typing import Any, Callable

from ansible_collections.kvcache.ascend.plugins.module_utils import finding

Runner = Callable[["list[str]", "dict[str, str]"], "tuple[int, str, str]"]
"""Runs a command with additional environment variables; returns exit status, standard output, standard error."""

CANN_LIBRARIES = ("libascendcl", "libllm_datadist", "libmetadef", "libgraph", "libascend_hal")
"""Libraries that come with CANN or the NPU driver, not with an OS package."""

OUT_OF_TIME = (124, 137, -9)
"""Exit statuses of coreutils' timeout when it ended or had to kill a program: -9 is 137 as subprocess tells it."""

IMPORT_SCRIPT = "import mooncake, mooncake.engine, mooncake.store"


def tolerant(run_command: Callable[..., tuple[int, str, str]]) -> Runner:
    """Return a Runner over AnsibleModule's run_command for which a program that can't be run is an answer, not an error."""

    def run(command: list[str], environment: dict[str, str]) -> tuple[int, str, str]:
        try:
            return run_command(command, environ_update=environment, handle_exceptions=False)
        except OSError as error:
            return 127, "", f"it can't be run: {error.strerror}"

    return run


def elf_files(tree: str) -> list[str]:
    """Return the programs and shared objects of a build that must find their libraries."""
    patterns = ("bin/mooncake_*", "lib/*.so*", "python/mooncake/*.so")
    found = {
        os.path.realpath(path)
        for pattern in patterns
        for path in glob.glob(os.path.join(tree, pattern))
    }
    return sorted(found)


def libraries_not_found(ldd_output: str) -> list[str]:
    """Return the names of the libraries of which ldd says ``NAME => not found``."""
    return re.findall(r"^\s*(\S+) => not found", ldd_output, re.MULTILINE)


def library_fix(missing: list[str]) -> str:
    """Return what to do about missing libraries, in one sentence."""
    if any(name.startswith(CANN_LIBRARIES) for name in missing):
        return (
            "install CANN and name its libraries in mooncake_environment (LD_LIBRARY_PATH as set_env.sh sets it), "
            "or choose a release whose master runs without CANN"
        )
    return "install the OS packages that hold them, then run again"


def last_line(text: str) -> str:
    """Return the last line of `text` that is not empty; programs put their reason there."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no message"


def check_libraries(tree: str, host: str, run: Runner, environment: dict[str, str]) -> list[Any]:
    """Return a finding that names every library that ldd cannot find for the build in `tree`."""
    missing = set()
    for path in elf_files(tree):
        missing.update(libraries_not_found(run(["ldd", path], environment)[1]))
    if not missing:
        return []
    return [
        finding.make(
            check="mooncake_libraries",
            severity="error",
            host=host,
            observed=f"Mooncake in {tree} does not find {', '.join(sorted(missing))}",
            expected="every library of Mooncake is found",
            fix=library_fix(sorted(missing)),
        )
    ]


def run_in_time(
    command: list[str], environment: dict[str, str], run: Runner, seconds: int = 20
) -> tuple[int, str, str]:
    """Run a command that should end at once, up to three times: mooncake_master 0.3.8 was seen to hang while it ends.

    timeout signals its whole process group, and stays to reap the program unless that ignores the first signal.
    """
    result = (0, "", "")
    for _attempt in range(3):
        result = run(["timeout", "--kill-after=2", str(seconds), *command], environment)
        if result[0] not in OUT_OF_TIME:
            break
    return result


def check_command(
    check: str, host: str, result: tuple[int, str, str], what: str, fix: str
) -> list[Any]:
    """Return a finding for a command that did not end with status 0; `result` is what a Runner returned."""
    status, output, error = result
    if status == 0:
        return []
    return [
        finding.make(
            check=check,
            severity="error",
            host=host,
            observed=f"{what} ended with status {status}: {last_line(error or output)}",
            expected="it ends with status 0",
            fix=fix,
        )
    ]


def prove(
    tree: str, python: str, host: str, run: Runner, environment: dict[str, str]
) -> dict[str, Any]:
    """Run the three proofs on the build in `tree`.

    Returns ``version_line`` (what ``mooncake_master --version`` printed, None when it failed) and ``findings``.
    Libraries come first: when some are missing, the other two proofs could only say so in worse words.
    """
    findings = check_libraries(tree, host, run, environment)
    if findings:
        return {"version_line": None, "findings": findings}
    master = os.path.join(tree, "bin", "mooncake_master")
    started = run_in_time([master, "--version"], environment, run)
    imported = run(
        [python, "-c", IMPORT_SCRIPT], dict(environment, PYTHONPATH=os.path.join(tree, "python"))
    )
    printed = started[1].strip().splitlines() if started[0] == 0 else []
    return {
        "version_line": printed[0] if printed else None,
        "findings": check_command(
            "mooncake_master_starts",
            host,
            started,
            f"{master} --version",
            f"run it by hand on {host}; if the file is damaged, remove {tree} and run again",
        )
        + check_command(
            "mooncake_imports",
            host,
            imported,
            f"{python} importing Mooncake from {tree}/python",
            "check that mooncake_python is the Python for which this build was made, then run again",
        ),
    }
