# SPDX-License-Identifier: Apache-2.0
"""From what ``make install`` left behind to the tree of a build: bin, lib, python, stripped, and finding its own libraries.

Mooncake's install rules put Python modules into the first entry of sys.path that has "packages" in its name, whatever the
prefix is; the role lets that entry be PACKAGES below the prefix. Static libraries and headers are left out.
"""

from __future__ import annotations

import os
import re
import shutil
from typing import Any

from ansible_collections.kvcache.ascend.plugins.module_utils import mooncake_proof
from ansible_collections.kvcache.ascend.plugins.module_utils.mooncake_proof import Runner

PACKAGES = "packages"
PROGRAMS = re.compile(r"mooncake_\w+|transfer_engine_\w+")
SHARED = re.compile(r".+\.so(\.[\d.]+)?")
RESOLVED = re.compile(r"^\s*\S+ => (/\S+) \(", re.MULTILINE)


class AssembleError(Exception):
    """The installed tree is not one of Mooncake's; the message says what is missing."""


def copy_matching(source: str, target: str, pattern: re.Pattern[str]) -> list[str]:
    """Copy the entries of a folder whose whole name matches; return their names."""
    names = sorted(os.listdir(source)) if os.path.isdir(source) else []
    names = [name for name in names if pattern.fullmatch(name)]
    os.makedirs(target, mode=0o755, exist_ok=True)
    for name in names:
        shutil.copy2(os.path.join(source, name), os.path.join(target, name), follow_symlinks=False)
    return names


def assemble(prefix: str, staging: str) -> None:
    """Make the tree of a build in `staging` out of what was installed below `prefix`."""
    shutil.rmtree(staging, ignore_errors=True)
    programs = copy_matching(f"{prefix}/bin", f"{staging}/bin", PROGRAMS)
    if "mooncake_master" not in programs:
        raise AssembleError(f"{prefix}/bin has no mooncake_master: is WITH_STORE off?")
    libraries = []
    for folder in ("lib", "lib64"):
        libraries += copy_matching(f"{prefix}/{folder}", f"{staging}/lib", SHARED)
    package = f"{prefix}/{PACKAGES}/mooncake"
    if not os.path.isdir(package):
        raise AssembleError(
            f"{package} is missing: did make install put the Python package elsewhere?"
        )
    shutil.copytree(package, f"{staging}/python/mooncake", symlinks=True)
    # The modules look for libraries beside themselves (their RUNPATH is $ORIGIN in some releases).
    for name in libraries:
        beside = f"{staging}/python/mooncake/{name}"
        if not os.path.lexists(beside):
            os.symlink(f"../../lib/{name}", beside)


def strip(staging: str, run: Runner) -> None:
    """Drop symbols and debug information from programs and libraries."""
    for path in mooncake_proof.elf_files(staging):
        run(["strip", "--strip-unneeded", path], {})


def libraries_used(staging: str, run: Runner, environment: dict[str, str]) -> set[str]:
    """Return the paths of all libraries outside of the tree that the loader takes for it."""
    used = set()
    for path in mooncake_proof.elf_files(staging):
        used.update(RESOLVED.findall(run(["ldd", path], environment)[1]))
    inside = os.path.realpath(staging)
    return {path for path in used if not os.path.realpath(path).startswith(f"{inside}/")}


def spellings(path: str) -> list[str]:
    """Return the ways in which a package may name a file: dpkg knows /lib and /usr/lib apart, the host may not."""
    found = [path, os.path.realpath(path)]
    for each in list(found):
        found.append(each[4:] if each.startswith("/usr/") else f"/usr{each}")
    return list(dict.fromkeys(found))


def owner(path: str, manager: str, run: Runner) -> str | None:
    """Return the OS package that a file belongs to; None when there is none."""
    for spelling in spellings(path):
        if manager == "apt":
            status, output, _error = run(["dpkg-query", "-S", spelling], {"LC_ALL": "C"})
            match = re.match(r"(?!diversion)([a-z0-9][a-z0-9+.-]*)(?::\w+)?[,:]", output)
        else:
            status, output, _error = run(
                ["rpm", "-qf", "--qf", "%{NAME}\\n", spelling], {"LC_ALL": "C"}
            )
            match = re.match(r"(\S+)$", output.strip())
        if status == 0 and match:
            return match.group(1)
    return None


def runtime_packages(
    staging: str, manager: str, run: Runner, environment: dict[str, str]
) -> list[str]:
    """Return the OS packages that hold the libraries of a build, for hosts that do not compile."""
    owners = (owner(path, manager, run) for path in libraries_used(staging, run, environment))
    return sorted({name for name in owners if name})


def first_line(command: list[str], run: Runner) -> str | None:
    status, output, _error = run(command, {"LC_ALL": "C"})
    return output.splitlines()[0].strip() if status == 0 and output.strip() else None


def tools(run: Runner, compiler: str) -> dict[str, Any]:
    """Return the versions of what compiled, for the manifest."""
    return {
        "compiler": first_line([compiler, "--version"], run),
        "cmake": first_line(["cmake", "--version"], run),
    }
