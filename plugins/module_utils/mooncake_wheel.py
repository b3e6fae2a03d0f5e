# SPDX-License-Identifier: Apache-2.0
"""The wheels in a folder on the control node: which one is for a host, and why none of them is.

pip on the host could only say that it found nothing; here, before any host is touched, the file itself is looked at.
"""

from __future__ import annotations

import os
import re
import zipfile
from typing import Any

from ansible_collections.kvcache.ascend.plugins.module_utils import host_files

LISTED = 4
"""How many files of the folder a message names."""


def python_version(tag: str) -> str:
    """Return ``3.11`` for ``cp311``."""
    return f"{tag[2:3]}.{tag[3:]}"


def file_version(name: str, package: str) -> str:
    """Return the version in the name of a wheel of `package`; empty when it is none of it."""
    match = re.match(re.escape(package.replace("-", "_")) + r"-([^-]+)-", name)
    return match.group(1) if match else ""


def download_command(
    wheel: dict[str, Any], version: str, platform: dict[str, Any], folder: str
) -> str:
    """Return the command that fetches the right wheel, on a machine of any kind."""
    return (
        f"pip download --no-deps --only-binary :all: --python-version {python_version(platform['python_tag'])} "
        f"--platform {wheel['platform_tag']}_{platform['architecture']} --dest {folder} {wheel['package']}=={version}"
    )


def fits_name(name: str, version: str, wheel: dict[str, Any], platform: dict[str, Any]) -> bool:
    """Return whether the name of a file is that of the wheel for `platform`."""
    parts = name[: -len(".whl")].split("-")
    return (
        len(parts) == 5
        and file_version(name, wheel["package"]) == version
        and platform["python_tag"] in parts[2].split(".")
        and any(tag.endswith(f"_{platform['architecture']}") for tag in parts[4].split("."))
    )


def fitting(
    folder: str, wheel: dict[str, Any], version: str, platform: dict[str, Any]
) -> list[str]:
    """Return the paths in `folder` whose names are those of the wheel for `platform`."""
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    return [
        os.path.join(folder, name)
        for name in names
        if name.endswith(".whl") and fits_name(name, version, wheel, platform)
    ]


def folder_reason(folder: str) -> str:
    """Return why `folder` is no folder that can be read; empty when it is one."""
    if not os.path.isabs(folder):
        return "is not an absolute path"
    if not os.path.lexists(folder):
        return "is not there"
    if not os.path.isdir(folder):
        return "is not a directory"
    if not os.access(folder, os.R_OK | os.X_OK):
        return "can't be read by you"
    return ""


def damage(path: str) -> str:
    """Return why the file is not a whole zip archive; empty when it is one."""
    try:
        with zipfile.ZipFile(path) as archive:
            bad = archive.testzip()
            return f"its member {bad} is damaged" if bad else ""
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        size = os.path.getsize(path)
        return f"it is damaged ({size} bytes, {error})"
    except Exception as error:  # zlib.error and whatever else a damaged archive leads to
        return f"it is damaged ({error})"


def inner_tags(path: str) -> list[str]:
    """Return the tags that a whole wheel says of itself, such as ``cp311-cp311-manylinux_2_28_x86_64``."""
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            if name.endswith(".dist-info/WHEEL"):
                return re.findall(r"^Tag: (\S+)", archive.read(name).decode(), re.MULTILINE)
    return []


def file_reason(path: str, wheel: dict[str, Any], platform: dict[str, Any]) -> str:
    """Return why the file is not the published wheel for `platform`; empty when it is."""
    try:
        digest = host_files.sha256(path)
    except OSError as error:
        return f"it can't be read ({error.strerror})"
    if f"sha256:{digest}" not in wheel["hashes"]:
        return damage(path) or (
            f"it is not the published wheel: its sha256 is {digest}, which the release does not know"
        )
    tags = inner_tags(path)
    if tags and not any(
        tag.startswith(f"{platform['python_tag']}-")
        and tag.endswith(f"_{platform['architecture']}")
        for tag in tags
    ):
        return f"it was renamed: inside it is for {', '.join(tags)}"
    return ""


def others(folder: str, package: str) -> str:
    """Return what the folder holds instead, in few words."""
    names = sorted(name for name in os.listdir(folder) if name.endswith(".whl"))
    own = [name for name in names if file_version(name, package)] or names
    if not own:
        return "It holds no wheel."
    more = f" and {len(own) - LISTED} more" if len(own) > LISTED else ""
    return f"It holds {', '.join(own[:LISTED])}{more}."


def problem(folder: str, wheel: dict[str, Any], version: str, platform: dict[str, Any]) -> str:
    """Return why a host of `platform` can't take its wheel from `folder`, with the fix; empty when it can."""
    reason = folder_reason(folder)
    if reason == "is not an absolute path":
        return f"{folder!r} {reason}. Fix: name it from / on, such as {os.path.abspath(folder)}."
    command = download_command(wheel, version, platform, folder)
    if reason:
        return f"{folder} {reason}. Fix: make the folder and fetch the wheel: {command}"
    files = fitting(folder, wheel, version, platform)
    if not files:
        return (
            f"there is no {wheel['package'].replace('-', '_')}-{version} for {platform['python_tag']} on "
            f"{platform['architecture']} in {folder}. {others(folder, wheel['package'])} Fix: fetch it: {command}"
        )
    reasons = {path: file_reason(path, wheel, platform) for path in files}
    if not all(reasons.values()):
        return ""
    path, reason = next(iter(reasons.items()))
    return f"{path}: {reason}. Fix: remove it and fetch it anew: {command}"


def usable(folder: str, wheel: dict[str, Any], version: str, platform: dict[str, Any]) -> list[str]:
    """Return the paths of the published wheel for `platform` in `folder`: one, or none."""
    files = fitting(folder, wheel, version, platform)
    return [path for path in files if not file_reason(path, wheel, platform)][:1]
