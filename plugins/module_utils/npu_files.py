# SPDX-License-Identifier: Apache-2.0
"""Files, folders and device nodes of a host, below a root that tests set to a folder of theirs. Nothing here raises."""

from __future__ import annotations

import fnmatch
import grp
import os
import pwd
import stat
from dataclasses import dataclass
from typing import Any

MAXIMUM_FILE_BYTES = 1024 * 1024


def _name_of(lookup: Any, number: int) -> str:
    """A user's or group's name; its number as text where it has no name."""
    try:
        return str(lookup(number)[0])
    except KeyError:
        return str(number)


@dataclass(frozen=True)
class Files:
    root: str = "/"

    def real(self, path: str) -> str:
        """Where the file is on the machine."""
        return os.path.join(self.root, path.lstrip("/"))

    def read(self, path: str) -> str | None:
        """The text of a file; None when it can't be read."""
        try:
            with open(self.real(path), "rb") as handle:
                return handle.read(MAXIMUM_FILE_BYTES).decode("utf-8", "replace")
        except OSError:
            return None

    def names(self, folder: str, pattern: str = "*") -> list[str]:
        """The names in a folder that fit a pattern, sorted; none when it can't be listed."""
        try:
            return sorted(fnmatch.filter(os.listdir(self.real(folder)), pattern))
        except OSError:
            return []

    def resolved(self, path: str) -> str:
        """The path without links."""
        root = os.path.realpath(self.root)
        return "/" + os.path.relpath(os.path.realpath(self.real(path)), root)

    def is_file(self, path: str) -> bool:
        return os.path.isfile(self.real(path))

    def is_folder(self, path: str) -> bool:
        return os.path.isdir(self.real(path))

    def is_program(self, path: str) -> bool:
        return self.is_file(path) and os.access(self.real(path), os.X_OK)

    def node(self, path: str) -> dict[str, Any] | None:
        """Owner, group, mode of a device node, and whether the caller may open it; None for everything else."""
        try:
            seen = os.stat(self.real(path))
        except OSError:
            return None
        if not stat.S_ISCHR(seen.st_mode):
            return None
        return {
            "owner": _name_of(pwd.getpwuid, seen.st_uid),
            "group": _name_of(grp.getgrgid, seen.st_gid),
            "mode": f"{stat.S_IMODE(seen.st_mode):04o}",
            "accessible": self.may_open(path),
        }

    def may_open(self, path: str) -> bool:
        """Whether owner, mode and capabilities let the caller read and write. Opening an NPU would take it."""
        effective = os.access in os.supports_effective_ids
        return os.access(self.real(path), os.R_OK | os.W_OK, effective_ids=effective)
