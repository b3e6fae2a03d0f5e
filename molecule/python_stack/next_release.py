# SPDX-License-Identifier: Apache-2.0
"""Write a release of the site's own and its lock: the release cpu without one package that its vLLM starts without.

next_release.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "collections"))

from ansible_collections.kvcache.ascend.plugins.filter.release import load_tables, release_spec
from ansible_collections.kvcache.ascend.plugins.module_utils import python_lock

LEFT_OUT = "watchfiles"
LOCK = "x86_64", "3.11"


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    (row,) = [row for row in load_tables()["releases"] if row["name"] == "cpu"]
    dropped = {"package": LEFT_OUT, "reason": "to have another stack"}
    rows = [{**row, "name": "cpu-next", "overrides": [*row["overrides"], dropped]}]
    spec = release_spec("cpu-next", rows)
    source = ROOT / "roles" / "release" / "files" / "locks" / python_lock.file_name("cpu", *LOCK)
    lock = python_lock.parse(source.read_text(encoding="utf-8"))
    packages = [item for item in lock["packages"] if item["name"] != LEFT_OUT]
    head = {**lock["head"], "release": "cpu-next", "inputs": python_lock.inputs_digest(spec, *LOCK)}
    text = python_lock.render(head, packages)
    (folder / python_lock.file_name("cpu-next", *LOCK)).write_text(text, encoding="utf-8")
    (folder / "rows.yml").write_text(yaml.safe_dump(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
