# SPDX-License-Identifier: Apache-2.0
"""Where CANN's toolkit is, as far as a compiler needs it: headers, libraries to link, version, environment.

CMake takes no notice of a CANN that is missing, and the compiler stops much later; so this looks first. Whether the
loader finds CANN's libraries at run time is another question (mooncake_cann).
"""

from __future__ import annotations

import glob
import os
from typing import Any

from ansible_collections.kvcache.ascend.plugins.module_utils import (
    ascend_versions,
    finding,
    host_files,
    release,
)
from ansible_collections.kvcache.ascend.plugins.module_utils.mooncake_proof import Runner

PLACES = (
    "/usr/local/Ascend/cann",
    "/usr/local/Ascend/ascend-toolkit/latest",
    "/usr/local/Ascend/latest",
    "/usr/local/Ascend/cann-*",
    "/usr/local/Ascend/ascend-toolkit/*",
    "/root/Ascend/cann",
    "/root/Ascend/ascend-toolkit/latest",
    "/home/*/Ascend/cann",
    "/home/*/Ascend/ascend-toolkit/latest",
)
"""Where CANN's installers put the toolkit: below ascend-toolkit up to 8.3, cann-VERSION from 8.5 on; in a user's home when
it was installed by one. The first that has all that is needed is taken."""

SET_ENV = ("set_env.sh", "../set_env.sh", "bin/setenv.bash")
CAPTURE = '. "$0" >/dev/null 2>&1; env -0'
KEPT_OUT = ("PYTHONPATH", "PATH", "PWD", "OLDPWD", "SHLVL", "HOME", "_")
"""PYTHONPATH of set_env.sh leads Mooncake's CMake to install into CANN's own tree."""


def candidates(home: str, environment_home: str, places: tuple[str, ...] = PLACES) -> list[str]:
    """Return the folders to look at, in order: the one that the site names alone, or all that are known."""
    if home:
        return [home]
    found = [environment_home] if environment_home else []
    for place in places:
        found += [path for path in sorted(glob.glob(place), reverse=True) if os.path.isdir(path)]
    return list(dict.fromkeys(found))


def parts(home: str, architecture: str) -> dict[str, str]:
    """Return where headers and libraries of this toolkit are."""
    below = os.path.join(home, f"{architecture}-linux")
    base = below if os.path.isdir(below) else home
    return {"include": os.path.join(base, "include"), "lib": os.path.join(base, "lib64")}


def lacks(home: str, architecture: str, headers: list[str], libraries: list[str]) -> list[str]:
    """Return the paths that are needed and not there; a library may be written as ``one.so|other.so``."""
    where = parts(home, architecture)
    missing = [
        os.path.join(where["include"], name)
        for name in headers
        if not os.path.isfile(os.path.join(where["include"], name))
    ]
    for names in libraries:
        if not any(
            os.path.isfile(os.path.join(folder, name))
            for name in names.split("|")
            for folder in (where["lib"], where["lib"].replace("lib64", "devlib"))
        ):
            missing.append(os.path.join(where["lib"], names.replace("|", " or ")))
    return missing


def version(home: str, architecture: str) -> str | None:
    """Return the toolkit's version as its own files tell it; None when they do not."""
    for name, parse in (
        (
            f"{architecture}-linux/ascend_toolkit_install.info",
            ascend_versions.parse_cann_install_info,
        ),
        ("ascend_toolkit_install.info", ascend_versions.parse_cann_install_info),
        ("version.cfg", ascend_versions.parse_version_cfg),
    ):
        try:
            with open(os.path.join(home, name), encoding="utf-8", errors="replace") as handle:
                told = parse(handle.read())["cann"]
        except OSError:
            continue
        if told:
            return told
    return None


def is_older(seen: str | None, wanted: str | None) -> bool:
    """Return whether `seen` is known to be older than `wanted`; what can't be compared is not."""
    try:
        return bool(seen and wanted) and release.version_key(seen) < release.version_key(wanted)
    except ValueError:
        return False


def environment(home: str, run: Runner) -> dict[str, str]:
    """Return what this toolkit's set_env.sh sets, as a program needs it."""
    for name in SET_ENV:
        script = os.path.normpath(os.path.join(os.path.realpath(home), name))
        if os.path.isfile(script):
            break
    else:
        return {}
    clean = ["env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LC_ALL=C"]
    status, output, _error = run([*clean, "bash", "-c", CAPTURE, script], {})
    if status != 0:
        return {}
    told = host_files.variables(output).items()
    return {key: value for key, value in told if key not in KEPT_OUT and key != "LC_ALL"}


def look(
    needs: dict[str, Any],
    architecture: str,
    homes: list[str],
    run: Runner,
) -> dict[str, Any]:
    """Return the toolkit to compile with, or why there is none.

    `needs` has ``headers``, ``libraries`` and ``min``; `homes` are the :func:`candidates`. The result has ``home``,
    ``include``, ``lib``, ``version`` and ``environment`` (None and {} when none will do) and ``rejected``: path and reason
    of each that won't.
    """
    rejected: list[dict[str, Any]] = []
    for path in homes:
        seen = version(path, architecture)
        missing = lacks(path, architecture, needs["headers"], needs["libraries"])
        if not os.path.isdir(path):
            rejected.append({"path": path, "reason": "is not there"})
        elif missing:
            rejected.append({"path": path, "reason": f"lacks {missing[0]}", "version": seen})
        elif is_older(seen, needs.get("min")):
            rejected.append(
                {
                    "path": path,
                    "reason": f"is CANN {seen}, older than {needs['min']}",
                    "version": seen,
                }
            )
        else:
            return dict(
                parts(path, architecture),
                home=path,
                version=seen,
                environment=dict({"ASCEND_HOME_PATH": path}, **environment(path, run)),
                rejected=rejected,
            )
    return {
        "home": None,
        "include": None,
        "lib": None,
        "version": None,
        "environment": {},
        "rejected": rejected,
    }


def findings(
    seen: dict[str, Any], needs: dict[str, Any], host: str, what: str
) -> list[dict[str, str]]:
    """Return one finding when no toolkit will do, with each path that was looked at."""
    if seen["home"]:
        return []
    looked = "; ".join(f"{item['path']} {item['reason']}" for item in seen["rejected"])
    wanted = f"CANN toolkit {needs['min']} or newer" if needs.get("min") else "CANN's toolkit"
    return [
        finding.make(
            "mooncake_cann_toolkit",
            finding.ERROR,
            host,
            observed=f"{what} can't be compiled: "
            + (looked or f"there is no CANN at {', '.join(PLACES[:3])} nor in a user's home"),
            expected=f"{wanted} with {', '.join(needs['headers'])} and {', '.join(needs['libraries'])}",
            fix="install the toolkit (not only the runtime), or name its folder in mooncake_cann_home; for a host without "
            "NPUs choose a release for CPU, or mooncake_cmake_options {USE_ASCEND_DIRECT: false}.",
        )
    ]
