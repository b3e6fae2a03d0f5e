# SPDX-License-Identifier: Apache-2.0
"""Driver, firmware and CANN as their files tell them. What is on disk is not always what runs."""

from __future__ import annotations

from typing import Any, Iterable, Mapping

from ansible_collections.kvcache.ascend.plugins.module_utils import ascend_versions
from ansible_collections.kvcache.ascend.plugins.module_utils.npu_files import Files

DEFAULT_ROOT = "/usr/local/Ascend"
# Variables that name the CANN in use, the more telling first (set_env.sh sets both).
HOME_VARIABLES = ("ASCEND_TOOLKIT_HOME", "ASCEND_HOME_PATH")


def install_root(files: Files) -> str:
    """Where driver and firmware are."""
    text = files.read("/etc/ascend_install.info")
    told = ascend_versions.parse_ascend_install_info(text or "")
    return told["driver_install_path"] or DEFAULT_ROOT


def driver(files: Files, root: str) -> dict[str, Any]:
    """The driver on disk; None for each field that its version.info does not tell."""
    path = f"{root}/driver/version.info"
    told = ascend_versions.parse_version_info(files.read(path) or "", path)
    return {
        "path": f"{root}/driver" if files.is_folder(f"{root}/driver") else None,
        "installed": told["package_version"] or told["driver"],
        "compatible_firmware": told["compatible_firmware"],
    }


def firmware(files: Files, root: str) -> dict[str, Any]:
    """The firmware package on disk."""
    path = f"{root}/firmware/version.info"
    told = ascend_versions.parse_version_info(files.read(path) or "", path)
    return {"installed": told["firmware"], "package_version": told["package_version"]}


def library_path(root: str) -> str:
    """Folders of the driver's libraries, as LD_LIBRARY_PATH has them."""
    return ":".join(f"{root}/driver/lib64{part}" for part in ("", "/common", "/driver"))


def _info_files(files: Files, root: str) -> Iterable[str]:
    """Files that describe an installed CANN package, below all homes that a root may hold."""
    homes = [f"{root}/{name}" for name in files.names(root, "cann*")]
    for product in ("ascend-toolkit", "nnae", "nnrt"):
        homes += [f"{root}/{product}/{name}" for name in files.names(f"{root}/{product}")]
    for home in [root, *homes]:
        for folder in [home, *(f"{home}/{name}" for name in files.names(home, "*-linux"))]:
            for name in files.names(folder, "ascend_*_install.info"):
                yield f"{folder}/{name}"


def _home(info_path: str) -> str:
    """The tree that an install.info describes: the folder above the architecture's."""
    folder = info_path.rsplit("/", 1)[0]
    return folder.rsplit("/", 1)[0] if folder.endswith("-linux") else folder


def _set_env(files: Files, home: str) -> str | None:
    candidates = (f"{home}/set_env.sh", f"{home.rsplit('/', 1)[0]}/set_env.sh")
    return next((path for path in candidates if files.is_file(path)), None)


def cann(files: Files, roots: Iterable[str], environment: Mapping[str, str]) -> dict[str, Any]:
    """All CANN packages below the roots and in the environment, and which one is active.

    installed: package, version, path (links resolved), set_env, active; active: version, path, set_env and `by`, the
    variable or link that names it. None when there is none.
    """
    variables = {name: environment[name] for name in HOME_VARIABLES if environment.get(name)}
    homes = list(dict.fromkeys([*roots, *variables.values()]))
    found: dict[str, dict[str, Any]] = {}
    for root in homes:
        for path in _info_files(files, root.rstrip("/")):
            told = ascend_versions.parse_cann_install_info(files.read(path) or "")
            home = files.resolved(_home(path))
            entry = {
                "package": path.rsplit("/", 1)[1][len("ascend_") : -len("_install.info")],
                "version": told["cann"],
                "path": _home(files.resolved(path)),
                "set_env": _set_env(files, home),
                "active": False,
            }
            found.setdefault(files.resolved(path), entry)
    installed = sorted(found.values(), key=lambda entry: (entry["path"], entry["package"]))
    active = _active(files, installed, variables, homes)
    return {"installed": installed, "active": active}


def _active(
    files: Files,
    installed: list[dict[str, Any]],
    variables: Mapping[str, str],
    roots: Iterable[str],
) -> dict[str, Any] | None:
    links = [(f"{root}/cann", f"{root}/ascend-toolkit/latest") for root in roots]
    named = list(variables.items())
    named += [(path, path) for pair in links for path in pair if files.is_folder(path)]
    for by, path in named:
        # `latest` is a link, or a folder of links into the tree.
        inside = [path, *(f"{path}/{name}" for name in files.names(path, "*-linux"))]
        targets = {files.resolved(each) for each in inside}
        targets |= {_home(f"{target}/x") for target in targets}
        for entry in installed:
            if entry["path"] in targets and entry["package"] == "toolkit":
                entry["active"] = True
                return {**{key: entry[key] for key in ("version", "path", "set_env")}, "by": by}
    return None
