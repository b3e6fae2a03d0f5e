# SPDX-License-Identifier: Apache-2.0
"""Make the locks of the releases: every package, exact, with the hash of the wheel that fits.

python tests/tools/locks.py [--all] [--jobs N] [--rows FILE] [--output FOLDER] [RELEASE…]

Resolves with uv for each architecture and Python of a release, from the public index; UV_INDEX, UV_DEFAULT_INDEX and
UV_FIND_LINKS name others. A lock that fits its row is kept as it is; --all makes it anew. What can't be resolved is
written to index.yml with the resolver's reason. --output writes the locks to a folder of yours instead, and --rows adds
the releases of a file that holds release_extra_rows.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Iterator
from urllib.parse import unquote, urlsplit

import tomllib
import yaml
from packaging import tags
from packaging.utils import parse_wheel_filename
from uv import find_uv_bin  # type: ignore[import-untyped]

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "collections"))

from ansible_collections.kvcache.ascend.plugins.filter.release import load_tables, release_spec
from ansible_collections.kvcache.ascend.plugins.module_utils import python_lock, release

LOCKS = ROOT / "roles" / "release" / "files" / "locks"
INDEX = "index.yml"
UV = find_uv_bin()
INDEX_HEAD = """\
---
# Made by "make lock" from the release table; do not edit. Which locks there are, and why there is none for the others.
"""


@dataclass(frozen=True)
class Target:
    """One lock: a release on one architecture and Python."""

    spec: dict[str, Any]
    architecture: str
    python: str
    folder: Path

    @property
    def path(self) -> Path:
        return self.folder / python_lock.file_name(
            self.spec["name"], self.architecture, self.python
        )

    @property
    def digest(self) -> str:
        return python_lock.inputs_digest(self.spec, self.architecture, self.python)


def targets(folder: Path, extra_rows: list[dict[str, Any]]) -> Iterator[Target]:
    """Every lock that the table and the site's own rows ask for."""
    for name in release.known_names(load_tables()["releases"] + extra_rows):
        spec = release_spec(name, extra_rows)
        for architecture in python_lock.ARCHITECTURES:
            for python in python_lock.pythons(spec):
                yield Target(spec, architecture, python, folder)


def supported_tags(target: Target) -> dict[tags.Tag, int]:
    """Every wheel tag that fits, with its rank: a host of that glibc takes the wheel with the lowest."""
    _major, newest = map(int, target.spec["glibc_min"].split("."))
    arch = target.architecture
    legacy = {17: "manylinux2014", 12: "manylinux2010", 5: "manylinux1"}
    platforms = []
    for minor in range(newest, 4, -1):
        platforms.append(f"manylinux_2_{minor}_{arch}")
        if minor in legacy and (arch == "x86_64" or minor == 17):
            platforms.append(f"{legacy[minor]}_{arch}")
    platforms.append(f"linux_{arch}")
    major, minor = map(int, target.python.split("."))
    found = [
        *tags.cpython_tags((major, minor), platforms=platforms),
        *tags.compatible_tags((major, minor), f"cp{major}{minor}", platforms),
    ]
    return {tag: rank for rank, tag in reversed(list(enumerate(found)))}


def choose_wheel(package: dict[str, Any], ranks: dict[tags.Tag, int]) -> dict[str, Any]:
    """Return the one wheel of a resolved package that a host takes, as python_lock.render wants it."""
    best: tuple[int, dict[str, Any]] | None = None
    for wheel in package["wheels"]:
        # A wheel of an index has an address, one of a folder a path.
        name = wheel.get("name") or unquote(urlsplit(wheel.get("url") or wheel["path"]).path)
        name = name.rsplit("/", 1)[-1]
        fitting = [ranks[tag] for tag in parse_wheel_filename(name)[3] if tag in ranks]
        if fitting and (best is None or min(fitting) < best[0]):
            best = (min(fitting), dict(wheel, name=name))
    if best is None:
        raise ValueError(f"{package['name']}: none of its wheels fits")
    wheel = best[1]
    size = (
        wheel.get("size") or Path(wheel.get("path") or urlsplit(wheel["url"]).path).stat().st_size
    )
    return {
        "name": python_lock.normal_name(package["name"]),
        "version": package["version"],
        "sha256": wheel["hashes"]["sha256"],
        "wheel": wheel["name"],
        "size_bytes": size,
    }


def reason(error: str) -> str:
    """Return the resolver's cause in one line, without the advice that follows it."""
    match = re.search(r"cause: (.*)", error)
    text = match.group(1) if match else error.strip().splitlines()[-1]
    text = re.sub(r"^Because ", "", text)
    text = re.split(r"(?:,| and) (?:you require|we can conclude)", text)[0]
    return re.sub(r" \(e\.g\., .*?\)", "", text).replace("`", "")


def resolve(target: Target) -> tuple[list[dict[str, Any]], str]:
    """Ask uv for a lock; return its packages and, when there are none, why."""
    spec = target.spec
    glibc = spec["glibc_min"].replace(".", "_")
    with tempfile.TemporaryDirectory() as folder:
        asked, instead, answer = (
            Path(folder, name) for name in ("asked.in", "overrides.txt", "pylock.toml")
        )
        asked.write_text("\n".join(python_lock.requirements(spec)) + "\n")
        instead.write_text("\n".join(python_lock.overrides(spec)) + "\n")
        command = [
            *(UV, "pip", "compile", str(asked), "--override", str(instead)),
            *("--python-platform", f"{target.architecture}-manylinux_{glibc}"),
            *("--python-version", target.python, "--only-binary", ":all:"),
            *("--no-config", "--no-header", "--no-progress", "--quiet"),
            *("--format", "pylock.toml", "--output-file", str(answer)),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
        if done.returncode != 0:
            return [], reason(done.stderr)
        found = tomllib.loads(answer.read_text())["packages"]
    ranks = supported_tags(target)
    return [choose_wheel(package, ranks) for package in found], ""


def read_index(folder: Path) -> dict[str, dict[str, Any]]:
    """What the folder's index.yml says of each lock's file, by the file's name."""
    path = folder / INDEX
    if not path.exists():
        return {}
    return {item["file"]: item for item in yaml.safe_load(path.read_text())["locks"]}


def write_index(folder: Path, entries: list[dict[str, Any]]) -> None:
    """Write index.yml, and remove the locks that it does not name."""
    lines = ["locks:"]
    for item in entries:
        pairs = [f"{key}: {json.dumps(value)}" for key, value in item.items()]
        lines += [f"  - {pairs[0]}", *(f"    {pair}" for pair in pairs[1:])]
    (folder / INDEX).write_text(INDEX_HEAD + "\n".join(lines) + "\n", encoding="utf-8")
    names = {item["file"] for item in entries if not item["reason"]}
    for path in folder.glob("*.txt"):
        if path.name not in names:
            path.unlink()


def entry(target: Target, why: str) -> dict[str, Any]:
    return {
        "file": target.path.name,
        "release": target.spec["name"],
        "architecture": target.architecture,
        "python": target.python,
        "inputs": target.digest,
        "reason": why or None,
    }


def make(target: Target) -> dict[str, Any]:
    """Resolve one lock and write it; return its entry of locks.yml."""
    packages, why = resolve(target)
    if why:
        target.path.unlink(missing_ok=True)
        print(f"no lock  {target.path.name}: {why}", flush=True)
        return entry(target, why)
    head = {
        "release": target.spec["name"],
        "architecture": target.architecture,
        "python": target.python,
        "glibc": target.spec["glibc_min"],
        "inputs": target.digest,
        "bytes": str(sum(item["size_bytes"] for item in packages)),
    }
    target.path.write_text(python_lock.render(head, packages), encoding="utf-8")
    print(f"lock     {target.path.name}: {len(packages)} packages", flush=True)
    return entry(target, "")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--all", action="store_true", help="make also those anew that fit their row"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--rows", type=Path, help="YAML file that holds release_extra_rows")
    parser.add_argument("--output", type=Path, default=LOCKS, help="folder for the locks")
    parser.add_argument("releases", nargs="*", metavar="RELEASE")
    options = parser.parse_args()
    extra = yaml.safe_load(options.rows.read_text())["release_extra_rows"] if options.rows else []
    folder = options.output.expanduser().resolve()
    folder.mkdir(parents=True, exist_ok=True)
    known = read_index(folder)
    wanted = list(targets(folder, extra))
    chosen = [
        target
        for target in wanted
        if (not options.releases or target.spec["name"] in options.releases)
        and (options.all or known.get(target.path.name, {}).get("inputs") != target.digest)
    ]
    with ThreadPoolExecutor(options.jobs) as pool:
        known.update({item["file"]: item for item in pool.map(make, chosen)})
    write_index(folder, [known[item.path.name] for item in wanted if item.path.name in known])
    print(f"{len(chosen)} made, {len(wanted) - len(chosen)} kept or not asked for")


if __name__ == "__main__":
    main()
