# SPDX-License-Identifier: Apache-2.0
"""Whether the loader finds the libraries of CANN, before a wheel is fetched that needs them.

``ldd`` says the same of an installed build, and more (it follows what CANN's libraries need themselves). This looks at
names only, so that a host without CANN is told so before anything is brought to it.
"""

from __future__ import annotations

import glob
import os
import re
from typing import Any

from ansible_collections.kvcache.ascend.plugins.module_utils import finding
from ansible_collections.kvcache.ascend.plugins.module_utils.mooncake_proof import Runner

INSTALLED = (
    "/usr/local/Ascend/cann*/lib64",
    "/usr/local/Ascend/ascend-toolkit/latest/lib64",
    "/usr/local/Ascend/latest/lib64",
    "/usr/local/Ascend/nnae/latest/lib64",
)
"""Where CANN's installers put libraries (ascend-toolkit up to 8.3, cann from 8.5 on)."""

SYSTEM_FOLDERS = ("/lib64", "/usr/lib64", "/lib", "/usr/lib")


def loader_cache(run: Runner) -> set[str]:
    """Return the names in the loader's cache; empty when ldconfig can't be run."""
    for program in ("ldconfig", "/sbin/ldconfig"):
        status, output, _error = run([program, "-p"], {})
        if status == 0:
            return set(re.findall(r"^\s+(\S+) \(", output, re.MULTILINE))
    return set()


def look(
    libraries: list[str],
    environment: dict[str, str],
    run: Runner,
    installed: tuple[str, ...] = INSTALLED,
) -> dict[str, list[str]]:
    """Return which of `libraries` the loader would not find, where it looked, and in which folders they lie instead."""
    named = [folder for folder in environment.get("LD_LIBRARY_PATH", "").split(":") if folder]
    if not libraries:
        return {"missing": [], "looked_in": [], "elsewhere": []}
    known = loader_cache(run)
    folders = [*named, *SYSTEM_FOLDERS]
    missing = [
        name
        for name in libraries
        if name not in known and not any(os.path.isfile(f"{folder}/{name}") for folder in folders)
    ]
    elsewhere = [
        folder
        for pattern in installed
        for folder in sorted(glob.glob(pattern))
        if folder not in named and any(os.path.isfile(f"{folder}/{name}") for name in missing)
    ]
    return {"missing": missing, "looked_in": folders, "elsewhere": elsewhere}


def findings(seen: dict[str, Any], host: str, what: str) -> list[dict[str, str]]:
    """Return one finding that names the missing libraries and the places looked at; `what` needs them."""
    if not seen["missing"]:
        return []
    if seen["elsewhere"]:
        fix = (
            f"they are in {seen['elsewhere'][0]}: set mooncake_environment, LD_LIBRARY_PATH: "
            f"{seen['elsewhere'][0]}:/usr/local/Ascend/driver/lib64/driver:/usr/local/Ascend/driver/lib64/common."
        )
    else:
        fix = (
            "install CANN, and name its libraries in mooncake_environment (LD_LIBRARY_PATH, as CANN's set_env.sh sets it); "
            "on a host without NPUs choose a release for CPU."
        )
    return [
        finding.make(
            "mooncake_cann",
            finding.ERROR,
            host,
            observed=f"{what} needs {', '.join(seen['missing'])} of CANN, which is not in "
            f"{', '.join(seen['looked_in'])} nor in the loader's cache",
            expected="CANN's libraries are where the loader looks",
            fix=fix,
        )
    ]
