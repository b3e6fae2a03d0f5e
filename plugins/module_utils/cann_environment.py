# SPDX-License-Identifier: Apache-2.0
"""The variables that CANN's set_env.sh sets, captured so that a systemd unit, which sources nothing, can have them."""

from __future__ import annotations

from typing import Any, Iterable

from ansible_collections.kvcache.ascend.plugins.module_utils import (
    host_files,
    npu_software,
    python_stack_look,
)
from ansible_collections.kvcache.ascend.plugins.module_utils.mooncake_proof import Runner, last_line
from ansible_collections.kvcache.ascend.plugins.module_utils.npu_files import Files

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
NNAL = "nnal/atb/set_env.sh"

# Of the shell that sources the files, not of CANN.
_OF_THE_SHELL = ("HOME", "PWD", "OLDPWD", "SHLVL", "_", "KVCACHE_SET_ENV", "KVCACHE_DRIVER")


def find(files: Files) -> list[str]:
    """Return the set_env.sh of the CANN in use, and that of nnal where it is installed."""
    root = npu_software.install_root(files)
    roots = list(dict.fromkeys([npu_software.DEFAULT_ROOT, root]))
    active = npu_software.cann(files, roots, {})["active"]
    found = [active["set_env"]] if active and active["set_env"] else []
    nnal = [f"{each}/{NNAL}" for each in roots if files.is_file(f"{each}/{NNAL}")]
    return found + nnal[:1]


def parse(output: str) -> dict[str, str]:
    """Return the variables in the output of ``env -0``, without those of the shell."""
    # A shell function is exported under a name that is none of a variable.
    return {
        name: value
        for name, value in host_files.variables(output).items()
        if name not in _OF_THE_SHELL and "%" not in name and "\n" not in value
    }


def capture(paths: Iterable[str], programs: str, run: Runner) -> dict[str, Any]:
    """Source `paths` in an empty environment and return ``variables``, or in ``error`` why that failed.

    `programs` is the folder of the stack's programs: nnal's file asks the first Python for the ABI of its torch.
    """
    command, told = python_stack_look.in_cann(["env", "-0"], list(paths))
    clean = {"PATH": f"{programs}:{SYSTEM_PATH}" if programs else SYSTEM_PATH, "HOME": "/root"}
    words = [f"{name}={value}" for name, value in {**clean, **told}.items()]
    status, output, error = run(["timeout", "120", "env", "-i", *words, *command], {})
    if status != 0:
        return {
            "variables": {},
            "error": f"sourcing ended with status {status}: {last_line(error)}",
        }
    return {"variables": parse(output), "error": None}
