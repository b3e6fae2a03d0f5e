# Copyright The kvcache.ascend authors
# SPDX-License-Identifier: Apache-2.0
"""Files that tell the installed versions of driver, firmware and CANN as dicts.

All are `key=value` lines with `#` comments and no quotes; keys differ in case between files. What
a file tells is installed, not loaded: the running driver's version is in the table of npu-smi.
Versions are opaque texts ("24.1.RC2", "8.0.RC3"); compare them without regard to case.
"""

from __future__ import annotations

import re
from typing import Any, Tuple

from ansible_collections.kvcache.ascend.plugins.module_utils import npu_smi_text as text

_GROUP = re.compile(r"\[([^\[\]]*)\]")
_COMPONENT = re.compile(r"(?P<name>.+)_running_version\Z")
_YES_NO = {"yes": True, "no": False}


def settings(content: str) -> dict[str, str]:
    """The `key=value` lines of a file: keys in lower case, the first of a key counts."""
    found: dict[str, str] = {}
    for line in text.lines(content):
        key, equals, value = line.strip().partition("=")
        if equals and key.strip() and not key.startswith("#"):
            found.setdefault(key.strip().lower(), value.strip())
    return found


def _value(found: dict[str, str], key: str) -> str | None:
    return text.text_or_none(found.get(key, ""))


def groups(raw: str | None) -> list[list[str]] | None:
    """`[a,b],[c]` as [["a", "b"], ["c"]]; None if there is no bracket."""
    found = _GROUP.findall(raw or "")
    return [[part.strip() for part in group.split(",")] for group in found] or None


def _compatible_versions(raw: str | None) -> list[Any] | None:
    """Single versions as text, ranges as [low, high]."""
    found = groups(raw)
    return None if found is None else [each[0] if len(each) == 1 else each for each in found]


def parse_version_info(content: str, path: str = "") -> dict[str, Any]:
    """version.info of the driver or of the firmware: told apart by the path, else by the keys."""
    found = settings(content)
    if "/firmware/" in path or (
        "/driver/" not in path and {"firmware_version", "compatible_version_drv"} & set(found)
    ):
        return _firmware(found)
    if "/driver/" in path or {"ascendhal_version", "compatible_version_fw"} & set(found):
        return _driver(found)
    return {
        "version": _value(found, "version"),
        "package_version": _value(found, "package_version"),
        "innerversion": _value(found, "innerversion"),
    }


def _driver(found: dict[str, str]) -> dict[str, Any]:
    """compatible_firmware is the one range [low, high], or a list of ranges if there are more."""
    firmware = groups(found.get("compatible_version_fw"))
    return {
        "driver": _value(found, "version"),
        "package_version": _value(found, "package_version"),
        "ascendhal": _value(found, "ascendhal_version"),
        "innerversion": _value(found, "innerversion"),
        "compatible_version": _compatible_versions(found.get("compatible_version")),
        "compatible_firmware": firmware[0] if firmware and len(firmware) == 1 else firmware,
    }


def _firmware(found: dict[str, str]) -> dict[str, Any]:
    """compatible_driver is a list of ranges [low, high]."""
    return {
        "firmware": _value(found, "version"),
        "firmware_version_field": _value(found, "firmware_version"),
        "package_version": _value(found, "package_version"),
        "compatible_driver": groups(found.get("compatible_version_drv")),
    }


def parse_cann_install_info(content: str) -> dict[str, Any]:
    """ascend_toolkit_install.info and those of nnae and nnrt; None for keys of other releases."""
    found = settings(content)
    return {
        "package_name": _value(found, "package_name"),
        "cann": _value(found, "version"),
        "innerversion": _value(found, "innerversion"),
        "compatible_version": _compatible_versions(found.get("compatible_version")),
        "arch": _value(found, "arch"),
        "os": _value(found, "os"),
        "path": _value(found, "path"),
    }


def parse_ascend_install_info(content: str) -> dict[str, Any]:
    """ascend_install.info: where driver and firmware are, and the user that may use them."""
    found = settings(content)
    return {
        "user": _value(found, "username"),
        "group": _value(found, "usergroup"),
        "driver_install_type": _value(found, "driver_install_type"),
        "driver_install_path": _value(found, "driver_install_path_param"),
        "driver_for_all": _YES_NO.get(found.get("driver_install_for_all", "").lower()),
        "driver_install_mode": _value(found, "driver_install_mode"),
        "firmware_install_type": _value(found, "firmware_install_type"),
        "firmware_install_path": _value(found, "firmware_install_path_param"),
    }


def parse_version_cfg(content: str) -> dict[str, Any]:
    """version.cfg of CANN: components, each [its own version, CANN's version].

    cann is the version that all components name, None if they differ (an upgrade in part).
    """
    components: dict[str, list[str | None]] = {}
    for key, value in settings(content).items():
        match = _COMPONENT.match(key)
        found = groups(value)
        if match and found:
            own, _colon, cann = found[0][0].partition(":")
            components[match.group("name")] = [text.text_or_none(own), text.text_or_none(cann)]
    named = {versions[1] for versions in components.values()}
    return {"cann": named.pop() if len(named) == 1 else None, "components": components}


_PART = re.compile(r"(?P<phase>rc|beta|alpha|b)?(?P<number>[0-9]{1,9})\Z")
VersionKey = Tuple[Tuple[int, ...], Tuple[Tuple[int, int], ...]]


def version_key(raw: str | None) -> VersionKey | None:
    """A key that orders versions of driver, firmware and CANN (24.1.rc3.3, 25.0.rc1.b033, 8.3.RC2); None for other texts.

    A release candidate is older than its release: 24.1.rc3 < 24.1.0 and 8.3.RC2 < 8.3.0. A build (b033) counts last.
    """
    plain = re.sub(r"(rc|beta|alpha|b)[.\-_](?=[0-9])", r"\1", (raw or "").strip().lower())
    release: list[int] = []
    rest: list[tuple[int, int]] = []
    for part in re.split(r"[.\-_]", plain):
        match = _PART.match(part)
        if match is None:
            return None
        number = int(match.group("number"))
        if match.group("phase") or rest:
            is_candidate = match.group("phase") in ("rc", "beta", "alpha")
            rest.append((0 if is_candidate else 1, number))
        else:
            release.append(number)
    while release and release[-1] == 0:
        release.pop()
    return tuple(release), (*rest, (1, -1))


def is_older(version: str | None, than: str) -> bool | None:
    """Whether a version is older than another; None when one of them can't be read."""
    first, second = version_key(version), version_key(than)
    return None if first is None or second is None else first < second


def belongs_to(version: str | None, family: str) -> bool:
    """Whether a version is of a family: 25.5.2 and 25.5.rc1 are of 25.5 and of 25.5.X, 8.3.RC2 is of 8.3."""
    have = re.split(r"[.\-_]", (version or "").strip().lower())
    want = [part for part in re.split(r"[.\-_]", family.strip().lower()) if part != "x"]
    return have[: len(want)] == want
