# SPDX-License-Identifier: Apache-2.0
"""The callback that loads the filters loads them all, and ansible.cfg and Molecule's configuration enable it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
LOAD = """
import sys
from ansible.plugins.loader import callback_loader, init_plugin_loader

init_plugin_loader()
for plugin in map(callback_loader.get, ["kvcache.ascend.preload"]):
    plugin.v2_playbook_on_start(None)
print(*sorted(name for name in sys.modules if ".ascend.plugins.filter." in name))
"""


def test_every_file_of_filters_is_loaded() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOAD], cwd=ROOT, capture_output=True, text=True, check=False
    )
    files = {path.stem for path in (ROOT / "plugins" / "filter").glob("*.py")}
    assert {name.rpartition(".")[2] for name in done.stdout.split()} == files, done.stderr


def test_it_is_enabled_where_playbooks_run() -> None:
    for file in ("ansible.cfg", ".config/molecule/config.yml"):
        assert "kvcache.ascend.preload" in (ROOT / file).read_text()
