# SPDX-License-Identifier: Apache-2.0
"""Lets a test host's own Python compile each source of a zip file once.

An Ansible module arrives as a zip file, and Python keeps no bytecode of what it imports from one: each task compiles
Ansible's part anew, which is a quarter of its time. The image of the test hosts has this in a .pth file, for the system's
Python alone. The bytecode lies in a folder of its user's in /run, under a digest of the source; whatever goes wrong there,
Python compiles as ever.
"""

from __future__ import annotations

import _imp
import marshal
import os
import sys
import zipimport
from types import CodeType

ROOT = "/run/testbed-python"


def folder() -> str:
    """Return the user's folder, made when it is missing; a folder that is another's is an OSError."""
    path = os.path.join(ROOT, f"{os.geteuid()}-{sys.implementation.cache_tag}")
    if not os.path.isdir(path):
        os.makedirs(path, mode=0o700, exist_ok=True)
    if os.lstat(path).st_uid != os.geteuid():
        raise PermissionError(path)
    return path


def kept(path: str) -> CodeType | None:
    try:
        with open(path, "rb") as file:
            return marshal.load(file)
    except (OSError, EOFError, ValueError, TypeError):
        return None


def keep(path: str, code: CodeType) -> None:
    part = f"{path}.{os.getpid()}"
    with open(part, "wb") as file:
        marshal.dump(code, file)
    os.replace(part, path)


def compile_source(pathname: str, source: bytes) -> CodeType:
    """As the function of zipimport that it stands in for."""
    try:
        path = os.path.join(folder(), _imp.source_hash(zipimport_key, source).hex())
        code = kept(path)
        if code is None:
            code = compiled(pathname, source)
            keep(path, code)
        return code
    except OSError:
        return compiled(pathname, source)


zipimport_key = 0x6B76
compiled = zipimport._compile_source  # type: ignore[attr-defined]
zipimport._compile_source = compile_source  # type: ignore[attr-defined]
