# SPDX-License-Identifier: Apache-2.0
"""Bundles: what a folder of the control node has for a release and for a system, and what is wrong with it.

``<bundle>/manifest.json`` says what the folder holds; it is written when all is there, so that a first bundle that was not
finished has none. OS packages lie in ``<bundle>/packages/<system>``. A system is one OS, version and architecture: packages
of another one do not fit.
"""

from __future__ import annotations

import hashlib
import os
import re
from typing import Any

from ansible_collections.kvcache.ascend.plugins.module_utils import host_files

MAKE = "playbooks/bundle.yml on a machine with internet (docs/offline.md)"
HIDDEN = re.compile(r"(^|/)\.")
"""What an interrupted download left, and what the control node packs to ship it."""
SERVICE_PACK = re.compile(r"\bSP(\d+)\b")


def system(release: dict[str, str], architecture: str) -> str:
    """Return the name of a system from its os-release: ``ubuntu-22.04-aarch64``, ``openeuler-24.03-sp1-aarch64``."""
    version = release.get("VERSION_ID") or release.get("VERSION_CODENAME") or "unknown"
    # openEuler keeps its service pack, whose packages differ, out of VERSION_ID.
    pack = SERVICE_PACK.search(release.get("VERSION", ""))
    words = [release.get("ID", "unknown"), version, *([f"sp{pack[1]}"] if pack else [])]
    return re.sub(r"[^a-z0-9._-]+", "-", "-".join([*words, architecture]).lower())


def manifest(bundle: str) -> dict[str, Any]:
    """Return what a bundle says it holds; empty when it says nothing, or nothing that has the shape of a manifest."""
    found = host_files.read_dict(os.path.join(bundle, "manifest.json")) or {}
    kinds = {"releases": dict, "wheels": list, "sources": list, "packages": dict}
    return found if all(isinstance(found.get(key), kind) for key, kind in kinds.items()) else {}


def problem(bundle: str, release: str, architecture: str) -> str:
    """Return why a bundle is not one for this release and architecture; empty when it is."""
    content = manifest(bundle)
    if not content:
        there = "no manifest.json that can be read" if os.path.isdir(bundle) else "no such folder"
        return (
            f"bundle_dir is {bundle}: the control node has {there} there, so it is no whole bundle. "
            f"Fix: bring the whole folder that {MAKE} made, or correct bundle_dir."
        )
    if release not in content["releases"]:
        return (
            f"the bundle {bundle} is for release {', '.join(sorted(content['releases'])) or 'none'}, "
            f"this host's release_name is {release}. Fix: run {MAKE} with this release (one bundle can hold several), "
            "or correct release_name."
        )
    known = sorted({item["architecture"] for item in content["releases"][release]})
    if architecture not in known:
        return (
            f"the bundle {bundle} has release {release} for {', '.join(known)}, this host is {architecture}. "
            f"Fix: add it to bundle_platforms, and run {MAKE} again."
        )
    return ""


def is_whole(folder: str, item: dict[str, Any]) -> bool:
    path = os.path.join(folder, item["file"])
    return (
        os.path.isfile(path)
        and os.path.getsize(path) == item["size_bytes"]
        and host_files.sha256(path) == item["sha256"]
    )


def present(bundle: str) -> dict[str, dict[str, Any]]:
    """Return for each system what the bundle holds and what of it is whole: ``{system: {names, files}}``."""
    found = {}
    for name, part in manifest(bundle).get("packages", {}).items():
        folder = os.path.join(bundle, "packages", name)
        whole = [item for item in part["files"] if is_whole(folder, item)]
        found[name] = {"names": part["names"], "files": whole}
    return found


def strangers(bundle: str, name: str, files: list[dict[str, Any]]) -> list[str]:
    """Return the paths of files in a system's folder that are none of `files`: of replaced versions, or half brought."""
    folder = os.path.join(bundle, "packages", name)
    wanted = {os.path.join(folder, item["file"]) for item in files}
    found = [os.path.join(top, item) for top, _folders, names in os.walk(folder) for item in names]
    return sorted(
        path for path in found if path not in wanted and os.path.basename(path) != "Packages"
    )


def _package(file: str) -> str:
    """Return the package's name from the name of its file."""
    if file.endswith(".rpm"):
        return os.path.basename(file).rsplit("-", 2)[0]
    return os.path.basename(file).split("_")[0]


def package_problem(bundle: str, name: str, wanted: list[str]) -> str:
    """Return why a bundle's OS packages can't serve a host of this system; empty when they can."""
    systems = manifest(bundle).get("packages", {})
    if name not in systems:
        return (
            f"the bundle {bundle} has no OS packages for {name} (there are: {', '.join(sorted(systems)) or 'none'}). "
            f"Fix: run {MAKE}, with a host of this system in the group bundle_hosts."
        )
    known = {*systems[name]["names"], *(_package(item["file"]) for item in systems[name]["files"])}
    lacking = [item for item in wanted if item not in known]
    if lacking:
        return (
            f"the bundle {bundle} has no package {', '.join(lacking)} for {name}. Fix: run {MAKE} again, with the "
            "release and the variables that this host has."
        )
    return ""


def file_problem(bundle: str, name: str, files: list[str]) -> str:
    """Return which of a system's files are not as the manifest says; empty when all are."""
    folder = os.path.join(bundle, "packages", name)
    items = {item["file"]: item for item in manifest(bundle)["packages"][name]["files"]}
    absent = [file for file in files if not os.path.isfile(os.path.join(folder, file))]
    damaged = [
        file
        for file in files
        if file not in absent and not (file in items and is_whole(folder, items[file]))
    ]
    told = [
        f"{len(wrong)} of {len(files)} files {what}: {', '.join(wrong[:3])}{' …' if len(wrong) > 3 else ''}"
        for wrong, what in (
            (absent, "are missing"),
            (damaged, "are damaged (their sha256 differs)"),
        )
        if wrong
    ]
    if not told:
        return ""
    return f"{folder}: {'; '.join(told)}. Fix: copy the bundle again (sha256sum --check SHA256SUMS names all that differ)."


def files_of(bundle: str, name: str) -> list[str]:
    """Return the files that the bundle has for a system."""
    return [item["file"] for item in manifest(bundle)["packages"][name]["files"]]


def archive(bundle: str, name: str, files: list[str]) -> str:
    """Return the path of the archive of these files beside them: another one when a file was brought anew."""
    folder = os.path.join(bundle, "packages", name)
    known = {item["file"]: item["sha256"] for item in manifest(bundle)["packages"][name]["files"]}
    stamps = "\n".join(f"{file} {known[file]}" for file in sorted(files))
    return os.path.join(folder, f".ship-{hashlib.sha256(stamps.encode()).hexdigest()[:16]}.tar")


def source_sha256(bundle: str, file: str) -> str:
    """Return the sha256 that the bundle gives for an archive of sources; empty when it has none of that name."""
    return next((i["sha256"] for i in manifest(bundle).get("sources", []) if i["file"] == file), "")


def listed(files: list[dict[str, Any]], bundle: str) -> dict[str, list[dict[str, Any]]]:
    """Return all files that ``find`` has seen in a bundle; wheels and sources also by the names in their own folders."""
    every = [
        {
            "file": os.path.relpath(item["path"], bundle),
            "sha256": item["checksum"],
            "size_bytes": item["size"],
        }
        for item in files
        if not HIDDEN.search(os.path.relpath(item["path"], bundle))
    ]
    every.sort(key=lambda item: str(item["file"]))
    found: dict[str, list[dict[str, Any]]] = {"all": every}
    for folder in ("wheels", "sources"):
        inside = [item for item in every if item["file"].startswith(f"{folder}/")]
        found[folder] = [{**item, "file": item["file"][len(folder) + 1 :]} for item in inside]
    return found
