# SPDX-License-Identifier: Apache-2.0
"""The commands that make Mooncake out of its sources, and the environment that they run in. Pure."""

from __future__ import annotations

from typing import Any

from ansible_collections.kvcache.ascend.plugins.module_utils import mooncake_source
from ansible_collections.kvcache.ascend.plugins.module_utils.mooncake_assemble import PACKAGES
from ansible_collections.kvcache.ascend.plugins.module_utils.mooncake_fetch import YALANTINGLIBS

GENERATORS = {"make": "Unix Makefiles", "ninja": "Ninja"}
RPATH = "$ORIGIN;$ORIGIN/../lib;$ORIGIN/../../lib"
"""Programs, libraries and Python modules of a build find its libraries wherever the build lies, without ldconfig."""

YALANTINGLIBS_OPTIONS = {
    "BUILD_EXAMPLES": False,
    "BUILD_BENCHMARK": False,
    "BUILD_UNIT_TESTS": False,
}


def steps(
    work: str,
    options: dict[str, Any],
    *,
    python: str,
    jobs: int,
    generator: str = "make",
    ccache: str | None = None,
    cann_include: str | None = None,
) -> list[dict[str, Any]]:
    """Return the steps for the module mooncake_compile; `work` holds ``source`` and gets ``prefix``, ``build``, ``install``.

    yalantinglibs goes into a prefix of this build's own: another version in /usr/local is not touched, nor taken. Parts of
    Mooncake include it without saying so to CMake, and releases before 0.3.8 know two places of CANN only, so that both are
    named to the compiler itself.
    """
    prefix, build, source = f"{work}/prefix", f"{work}/build", f"{work}/source"
    given = {key: value for key, value in options.items() if key != "CMAKE_PREFIX_PATH"}
    prefixes = [
        prefix,
        *([str(options["CMAKE_PREFIX_PATH"])] if options.get("CMAKE_PREFIX_PATH") else []),
    ]
    headers = [f"{prefix}/include", *([cann_include] if cann_include else [])]
    flags = [f"-isystem {folder}" for folder in headers]
    own = {
        "CMAKE_CXX_FLAGS": " ".join(
            [*flags, *([given.pop("CMAKE_CXX_FLAGS")] if "CMAKE_CXX_FLAGS" in given else [])]
        ),
        "CMAKE_INSTALL_PREFIX": f"{work}/install",
        "CMAKE_PREFIX_PATH": ";".join(prefixes),
        "CMAKE_INSTALL_RPATH": RPATH,
        "CMAKE_INSTALL_RPATH_USE_LINK_PATH": True,
        "Python3_EXECUTABLE": python,
        "Python_EXECUTABLE": python,
        "PYTHON_EXECUTABLE": python,
    }
    launcher = (
        {"CMAKE_C_COMPILER_LAUNCHER": ccache, "CMAKE_CXX_COMPILER_LAUNCHER": ccache}
        if ccache
        else {}
    )
    configure = ["cmake", "-G", GENERATORS[generator]]
    return [
        step(
            "configure yalantinglibs",
            [*configure, "-S", f"{source}/{YALANTINGLIBS}", "-B", f"{work}/yalantinglibs"],
            {"CMAKE_INSTALL_PREFIX": prefix, **YALANTINGLIBS_OPTIONS},
        ),
        step(
            "install yalantinglibs",
            ["cmake", "--build", f"{work}/yalantinglibs", "--target", "install"],
        ),
        step(
            "configure Mooncake",
            [*configure, "-S", source, "-B", build],
            {**own, **launcher, **given},
        ),
        step("compile Mooncake", ["cmake", "--build", build, "--parallel", str(jobs)]),
        step("install Mooncake", ["cmake", "--install", build]),
    ]


def step(name: str, argv: list[str], options: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"name": name, "argv": [*argv, *mooncake_source.option_arguments(options or {})]}


def environment(
    work: str,
    cann: dict[str, Any] | None,
    *,
    ccache_dir: str = "",
    go: dict[str, str] | None = None,
    site: dict[str, Any] | None = None,
) -> dict[str, str]:
    """Return the environment of the steps.

    CANN's libraries are named to the linker itself, as its headers are to the compiler; see above.
    """
    found = {
        # Where Mooncake's install rules put the Python package; see mooncake_assemble.
        "PYTHONPATH": f"{work}/install/{PACKAGES}",
        "CCACHE_BASEDIR": work,
        "CCACHE_NOHASHDIR": "1",
        "CCACHE_SLOPPINESS": "locale",
        "LC_ALL": "C",
    }
    if ccache_dir:
        found["CCACHE_DIR"] = ccache_dir
    if cann and cann.get("home"):
        found.update(cann["environment"])
        found.update(LIBRARY_PATH=cann["lib"])
    if go:
        found.update(GOTOOLCHAIN="local", **go)
    found.update({key: str(value) for key, value in (site or {}).items()})
    return found
