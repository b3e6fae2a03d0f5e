# SPDX-License-Identifier: Apache-2.0
"""Whether the folder of the builds is as services need it: its link, its manifests, and who may read it.

The proof of a build runs as root, who reads everything; the master and the instances run as users of their own. So this
asks of every folder from ``/`` down, and of every file of a build, whether *others* may enter, read and run it.
"""

from __future__ import annotations

import json
import os
import re
import stat
from typing import Any

from ansible_collections.kvcache.ascend.plugins.module_utils import finding
from ansible_collections.kvcache.ascend.plugins.module_utils.mooncake_build import MANIFEST

HIDDEN = re.compile(r"/(home|root|run/user|tmp|var/tmp)(/|$)")
"""Folders that a unit with ProtectHome= and PrivateTmp= does not see."""

ABSENT, LINK, DANGLING, DIRECTORY, OTHER = "absent", "link", "dangling", "directory", "other"
SHOWN = 3
"""How many paths a message names before it says how many more there are."""


def hidden_from_services(path: str) -> str:
    """Return why a service can't see `path`, with the fix; empty when it can."""
    if not path.startswith("/"):
        return f"{path!r} is not an absolute path. Fix: begin it with /"
    match = HIDDEN.match(re.sub("^//+", "/", os.path.normpath(path)))
    if not match:
        return ""
    return (
        f"{path} is below /{match.group(1)}, which the services of this collection can't see "
        "(ProtectHome, PrivateTmp). Fix: choose a folder elsewhere, such as /opt/kvcache/mooncake"
    )


def link_state(root: str) -> dict[str, Any]:
    """Return what ``current`` is, and where it points to when it is a link."""
    path = os.path.join(root, "current")
    if os.path.islink(path):
        return {"state": LINK if os.path.exists(path) else DANGLING, "target": os.readlink(path)}
    if not os.path.lexists(path):
        return {"state": ABSENT, "target": None}
    return {"state": DIRECTORY if os.path.isdir(path) else OTHER, "target": None}


def manifest_reason(path: str, name: str) -> str:
    """Return why `path` is not the manifest of the build `name`; empty when it is."""
    if os.path.isdir(path):
        return "is a directory"
    try:
        with open(path, encoding="utf-8") as handle:
            return text_reason(handle.read(), name)
    except FileNotFoundError:
        return "is missing"
    except (OSError, ValueError) as error:
        return f"can't be read ({error.strerror if isinstance(error, OSError) else 'not UTF-8'})"


def text_reason(text: str, name: str) -> str:
    """Return why `text` is not that of the manifest of the build `name`; empty when it is."""
    if not text.strip():
        return "is empty"
    try:
        manifest = json.loads(text)
    except ValueError:
        return "is not JSON"
    named = manifest.get("build_id") if isinstance(manifest, dict) else None
    if named != name:
        return f"names the build {named}, not {name}" if named else "names no build"
    return ""


def broken_builds(root: str) -> list[dict[str, str]]:
    """Return the folders below `root` that are no complete build, each with the reason; hidden ones are not looked at."""
    broken = []
    for name in sorted(os.listdir(root)) if os.path.isdir(root) else []:
        path = os.path.join(root, name)
        if name.startswith(".") or name == "current" or os.path.islink(path):
            continue
        if not os.path.isdir(path):
            broken.append({"build_id": name, "reason": "it is not a directory"})
            continue
        reason = manifest_reason(os.path.join(path, MANIFEST), name)
        if reason:
            broken.append({"build_id": name, "reason": f"its {MANIFEST} {reason}"})
    return broken


def others_may(mode: int) -> bool:
    """Return whether a user who is neither owner nor in the group may use a file of this mode as its owner does."""
    needed = stat.S_IROTH
    if stat.S_ISDIR(mode) or mode & stat.S_IXUSR:
        needed |= stat.S_IXOTH
    return mode & needed == needed


def closed_folders(root: str) -> list[dict[str, str]]:
    """Return the folders from ``/`` down to `root` that others can't enter, with their modes; missing ones are not."""
    closed = []
    path = os.path.realpath(root)
    while True:
        if os.path.isdir(path):
            mode = os.stat(path).st_mode
            if not mode & stat.S_IXOTH:
                closed.append({"path": path, "mode": f"{stat.S_IMODE(mode):04o}"})
        if path == "/":
            return closed[::-1]
        path = os.path.dirname(path)


def closed_paths(tree: str) -> list[str]:
    """Return the paths of a build that others can't enter, read or run; links count as what they point to."""
    closed = [] if others_may(os.lstat(tree).st_mode) else [tree]
    for folder, folders, names in os.walk(tree):
        for name in [*folders, *names]:
            path = os.path.join(folder, name)
            if not os.path.islink(path) and not others_may(os.lstat(path).st_mode):
                closed.append(path)
    return closed


def look(root: str, build_ids: list[str]) -> dict[str, Any]:
    """Return what the functions above say of `root` and of its complete builds."""
    builds = {name: closed_paths(os.path.join(root, name)) for name in build_ids}
    return {
        "root": root,
        "root_is_file": os.path.lexists(root) and not os.path.isdir(root),
        "link": link_state(root),
        "broken_builds": broken_builds(root),
        "closed_folders": closed_folders(root),
        "closed_builds": [
            {"build_id": name, "count": len(paths), "first": paths[:SHOWN]}
            for name, paths in builds.items()
            if paths
        ],
    }


def findings(
    seen: dict[str, Any], host: str, wanted: str, *, before_install: bool = True
) -> list[dict[str, str]]:
    """Return what stands in the way of the build `wanted`, from what :func:`look` returned.

    Before an installation, what the installation mends by itself is a warning; afterwards it is an error.
    """
    mended = finding.WARNING if before_install else finding.ERROR
    return [
        *_root_findings(seen, host, mended),
        *_link_findings(seen, host, mended),
        *_build_findings(seen, host, wanted, mended),
    ]


def _root_findings(seen: dict[str, Any], host: str, mended: str) -> list[dict[str, str]]:
    root = seen["root"]
    found = []
    hidden = hidden_from_services(os.path.realpath(root))
    if hidden:
        observed, fix = hidden.split(". Fix: ")
        found.append(
            finding.make("mooncake_root", finding.ERROR, host, observed=observed, fix=f"{fix}.")
        )
    if seen["root_is_file"]:
        found.append(
            finding.make(
                "mooncake_root",
                finding.ERROR,
                host,
                observed=f"{root} (mooncake_root) is not a directory",
                expected="a folder of builds, or nothing",
                fix=f"move it away (sudo mv {root} {root}.old), then run again.",
            )
        )
    for folder in seen["closed_folders"]:
        path = folder["path"]
        found.append(
            finding.make(
                "mooncake_permissions",
                mended if path == os.path.realpath(root) else finding.ERROR,
                host,
                observed=f"{path} has mode {folder['mode']}, so that no service can reach what is below it",
                expected="a folder that everybody may enter",
                fix=f"sudo chmod o+x {path}, or choose another mooncake_root.",
            )
        )
    return found


def _link_findings(seen: dict[str, Any], host: str, mended: str) -> list[dict[str, str]]:
    path = f"{seen['root']}/current"
    state, target = seen["link"]["state"], seen["link"]["target"]
    if state == DANGLING:
        return [
            finding.make(
                "mooncake_current",
                mended,
                host,
                observed=f"{path} points to {target}, which is not there",
                expected="a link to a build",
                fix="run the role kvcache.ascend.mooncake, which makes the build and sets the link anew.",
            )
        ]
    if state not in (DIRECTORY, OTHER):
        return []
    return [
        finding.make(
            "mooncake_current",
            finding.ERROR,
            host,
            observed=f"{path} is a {'directory' if state == DIRECTORY else 'file'} that this role did not make",
            expected="a link to a build, or nothing",
            fix=f"move it away (sudo mv {path} {path}.old), then run again.",
        )
    ]


def _build_findings(
    seen: dict[str, Any], host: str, wanted: str, mended: str
) -> list[dict[str, str]]:
    root = seen["root"]
    found = []
    for build in seen["broken_builds"]:
        path = f"{root}/{build['build_id']}"
        in_the_way = build["build_id"] == wanted
        found.append(
            finding.make(
                "mooncake_manifest",
                finding.ERROR if in_the_way else finding.WARNING,
                host,
                observed=f"{path} is no complete build: {build['reason']}",
                expected=f"builds with a {MANIFEST} that names them",
                fix=f"move it away (sudo mv {path} {root}/.old-{build['build_id']}), then run again."
                if in_the_way
                else f"nothing uses it; remove it (sudo rm -r {path}).",
            )
        )
    for build in seen["closed_builds"]:
        if build["build_id"] != wanted:
            continue
        more = build["count"] - len(build["first"])
        found.append(
            finding.make(
                "mooncake_permissions",
                mended,
                host,
                observed=f"services can't read or run {', '.join(build['first'])}"
                + (f" and {more} more" if more else ""),
                expected="a build that every user may read and run",
                fix="run the role kvcache.ascend.mooncake (tag mooncake_install), which sets the modes.",
            )
        )
    return found
