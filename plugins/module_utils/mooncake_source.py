# SPDX-License-Identifier: Apache-2.0
"""What a build from source is made from and made by: its inputs, packages, options, jobs, and who compiles.

Pure functions. The data per version of Mooncake is in the role ``release``.
"""

from __future__ import annotations

import re
from typing import Any

COMMIT = re.compile(r"[0-9a-f]{40}\Z")
GIB = 1 << 30
BYTES_PER_JOB = int(6.5 * GIB)
"""What one compiler process was seen to need for Mooncake's heaviest files."""

DISTRIBUTIONS = {
    "Debian": "Debian",
    "Ubuntu": "Debian",
    "openEuler": "RedHat",
    "EulerOS": "RedHat",
    "RedHat": "RedHat",
    "CentOS": "RedHat",
    "Rocky": "RedHat",
    "AlmaLinux": "RedHat",
    "OracleLinux": "RedHat",
    "Fedora": "RedHat",
}
"""Distributions whose package names are known, by the name that Ansible gives them."""

BASE_OPTIONS = {
    "CMAKE_BUILD_TYPE": "RelWithDebInfo",
    # Upstream's own flags of this build type, without debug symbols: they are stripped anyway, and cost 3 GB of disk.
    "CMAKE_C_FLAGS_RELWITHDEBINFO": "-O2 -g0 -DNDEBUG",
    "CMAKE_CXX_FLAGS_RELWITHDEBINFO": "-O2 -g0 -DNDEBUG",
    "BUILD_UNIT_TESTS": False,
    "BUILD_EXAMPLES": False,
    "BUILD_BENCHMARK": False,
}
"""CMake options of every build; tests would be fetched from the internet."""

MPICH = {"Debian": ["mpich", "libmpich-dev"], "RedHat": ["mpich", "mpich-devel"]}
TOOLS = {"ninja": {"Debian": ["ninja-build"], "RedHat": ["ninja-build"]}}
OPENMPI = re.compile(r"^(openmpi(-bin|-devel|-common)?|libopenmpi(-dev|\d.*)?)$")


def release_facts(mooncake: dict[str, Any], platform: str) -> dict[str, Any]:
    """Return the part of a release that building needs; the whole is large, and Ansible works it out for each task anew."""
    return {"platform": platform, **{key: mooncake[key] for key in ("version", "wheel", "source")}}


def cmake_options(platform: str, site_options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a build: those of every build, those of the release's platform, those of the site."""
    return {**BASE_OPTIONS, "USE_ASCEND_DIRECT": platform == "npu", **site_options}


def is_on(value: Any) -> bool:
    """Return whether CMake takes a value as true; text comes from the command line of Ansible."""
    return value is True or str(value).strip().upper() in ("1", "ON", "YES", "TRUE", "Y")


def option_text(value: Any) -> str:
    """Return a value as CMake reads it."""
    if isinstance(value, bool):
        return "ON" if value else "OFF"
    return str(value)


def option_arguments(options: dict[str, Any]) -> list[str]:
    """Return ``-DKEY=VALUE`` for each option, sorted, so that the same options make the same command."""
    return [f"-D{key}={option_text(value)}" for key, value in sorted(options.items())]


def needs_cann(options: dict[str, Any]) -> bool:
    return any(
        is_on(options.get(key, False)) for key in ("USE_ASCEND_DIRECT", "USE_ASCEND", "USE_UBSHMEM")
    )


def needs_go(options: dict[str, Any]) -> bool:
    return any(
        is_on(options.get(key, False))
        for key in ("USE_ETCD", "STORE_USE_ETCD", "STORE_USE_K8S_LEASE", "WITH_P2P_STORE")
    )


def inputs(
    version: str,
    source: dict[str, str],
    options: dict[str, Any],
    host: dict[str, Any],
    cann: dict[str, Any] | None,
) -> dict[str, Any]:
    """Return everything that decides the bytes of a build, as a flat dict for its build id.

    `source` has ``revision``, and ``url`` or ``sha256`` (of an archive); `host` is what mooncake_source_info returns. A
    commit is the same wherever it was fetched from; a tag or branch only means something together with its repository.
    """
    found = {
        "version": version,
        "method": "source",
        "cmake_options": " ".join(option_arguments(options)),
        "yalantinglibs": source.get("yalantinglibs") or "submodule",
        "os": f"{host['os_id']} {host['os_version']}",
        "architecture": host["architecture"],
        "glibc": host["glibc"],
        "python_tag": host["python_tag"],
        "cann": None,
    }
    if source.get("sha256"):
        found["source_sha256"] = source["sha256"]
    else:
        found["revision"] = source["revision"]
        if not COMMIT.match(source["revision"]):
            found["repository"] = source["url"]
    if cann and cann.get("home"):
        found["cann"] = f"{cann['version']} at {cann['home']}"
    return found


def family(distribution: str, override: str) -> str | None:
    """Return the family whose package names fit; None when it is not known."""
    return override or DISTRIBUTIONS.get(distribution)


def packages(
    row: dict[str, Any], os_family: str, distribution: str, *, mpich: bool, generator: str
) -> list[str]:
    """Return the OS packages that a build needs, from the release table's row for this version of Mooncake."""
    table = row["packages"]
    renamed = table.get("renamed", {}).get(distribution, {})
    names = [renamed.get(name, name) for name in table[os_family]]
    names += TOOLS.get(generator, {}).get(os_family, [])
    return names + (MPICH[os_family] if mpich else [])


def jobs(cores: int, memory_bytes: int, wanted: int = 0) -> int:
    """Return how many compilers may run at once: as wanted, or as many as cores and memory allow, at least one."""
    return wanted or max(1, min(cores, memory_bytes // BYTES_PER_JOB))


def redirects(mirrors: dict[str, str]) -> str:
    """Return a git configuration that takes repositories from elsewhere: ``{mirror: original}`` as written in an inventory.

    Submodules follow it, too, and nothing in the sources is changed.
    """
    lines = []
    for original, mirror in sorted(mirrors.items()):
        lines += [f'[url "{mirror}"]', f"\tinsteadOf = {original}"]
    return "\n".join(lines) + "\n" if lines else ""


def elect(
    hosts: dict[str, dict[str, Any]],
    stored: list[str],
    failures: list[dict[str, str]],
    preferred: list[str],
    attempts: int = 2,
) -> dict[str, dict[str, Any]]:
    """Return for each build id that a host lacks how it comes to be.

    `hosts` maps each host of this play to ``build_id``, ``has`` (whether it is there) and, if its name alone is known, so
    that the host can't make it, ``named``. `stored` are the build ids in the
    store. `failures` tell ``host``, ``build_id``, ``kind`` and ``message`` of builds that did not succeed: one of kind
    source would fail on every host. `preferred` hosts compile before all others; at most `attempts` do.

    The result maps a build id to ``action`` (``ship``: the store has it; ``pack``: a host has it; ``compile``; ``none``:
    nobody is left who could), ``host`` (who packs or compiles, None otherwise), ``needing`` (who lacks it) and ``why``
    (what failed before).
    """
    result = {}
    for build_id in sorted({host["build_id"] for host in hosts.values()}):
        group = [name for name, host in hosts.items() if host["build_id"] == build_id]
        needing = [name for name in group if not hosts[name]["has"]]
        if not needing:
            continue
        failed = [failure for failure in failures if failure["build_id"] == build_id]
        out = [failure["host"] for failure in failed]
        if any(failure["kind"] == "source" for failure in failed):
            out = group
        having = [name for name in group if hosts[name]["has"] and name not in out]
        able = [name for name in preferred if name in group] + group
        able = [name for name in able if name not in out and not hosts[name].get("named")]
        able = able if len(failed) < attempts else []
        if build_id in stored:
            action, host = "ship", None
        elif having:
            action, host = "pack", having[0]
        elif able:
            action, host = "compile", able[0]
        else:
            action, host = "none", None
        result[build_id] = {
            "action": action,
            "host": host,
            "needing": needing,
            "why": [failure["message"] for failure in failed],
        }
    return result


def openmpi_in(names: list[str]) -> list[str]:
    """Return the packages of OpenMPI among `names`."""
    return [name for name in names if OPENMPI.match(name)]


def builds_to_remove(builds: list[dict[str, Any]], current: str | None, keep: int) -> list[str]:
    """Return the build ids beyond the `keep` newest that are not in use; builds are told by their manifests."""
    others = sorted(
        (build for build in builds if build["build_id"] != current),
        key=lambda build: str(build.get("created", "")),
        reverse=True,
    )
    return [build["build_id"] for build in others[max(0, keep) :]]
