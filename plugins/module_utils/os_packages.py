# SPDX-License-Identifier: Apache-2.0
"""Which OS packages are missing, read from the answers of dpkg-query and rpm.

Pure: text in, names out. A package counts as present when it is installed itself or when an installed package
provides its name (Ubuntu 24.04 installs ``libcurl4t64``, which provides ``libcurl4``).
"""

from __future__ import annotations

DPKG_QUERY = ["dpkg-query", "-W", "-f", "${Package}\\t${db:Status-Status}\\t${Provides}\\n"]
"""Command that lists every package that dpkg knows, in the form that :func:`missing_from_dpkg` reads."""


DPKG_JOURNAL = "/var/lib/dpkg/updates"
"""Folder in which dpkg notes what it has not finished; apt refuses to work while a note is there."""


def dpkg_was_interrupted(names: list[str]) -> bool:
    """Return whether these are names of files in dpkg's journal of unfinished work, as apt recognises them."""
    return any(name.isdigit() for name in names)


def rpm_query(names: list[str]) -> list[str]:
    """Command that asks rpm for each name in turn, in the form that :func:`missing_from_rpm` reads."""
    return ["rpm", "-q", "--whatprovides", "--qf", "%{NAME}\\n", *names]


def missing_from_dpkg(text: str, names: list[str]) -> list[str]:
    """Return those of `names` that no installed package is or provides, in their order."""
    present = set()
    for line in text.splitlines():
        package, status, provides = [*line.split("\t"), "", ""][:3]
        if status != "installed":
            continue
        present.add(package)
        present.update(item.split("(")[0].strip() for item in provides.split(",") if item.strip())
    return [name for name in names if name not in present]


def missing_from_rpm(text: str, names: list[str]) -> list[str]:
    """Return those of `names` of which rpm says ``no package provides NAME``, in their order."""
    prefix = "no package provides "
    absent = {line[len(prefix) :].strip() for line in text.splitlines() if line.startswith(prefix)}
    return [name for name in names if name in absent]
