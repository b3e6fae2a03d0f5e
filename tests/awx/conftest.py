# SPDX-License-Identifier: Apache-2.0
"""AWX's own collection, and awx/configuration.yml as Ansible reads it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
# The package "ansible" is where awx.awx can be had from a Python index; its wheel holds all other collections, too.
ANSIBLE = "12.3.0"


def run(command: list[str], cwd: Path = ROOT, check: bool = True, **environment: str) -> str:
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, "ANSIBLE_NOCOLOR": "1", **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0 or not check, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="session")
def collections(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A search path with awx.awx, brought once into .cache, and with this collection."""
    folder = ROOT / ".cache" / "awx" / ANSIBLE
    if not (folder / "ansible_collections").is_dir():
        download = tmp_path_factory.mktemp("wheel")
        fetch = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        run([*fetch, "--dest", str(download), f"ansible=={ANSIBLE}"])
        (wheel,) = download.glob("*.whl")
        unpacked = download / "unpacked"
        with zipfile.ZipFile(wheel) as archive:
            names = archive.namelist()
            archive.extractall(
                unpacked, [name for name in names if name.startswith("ansible_collections/awx/")]
            )
        wheel.unlink()
        folder.parent.mkdir(parents=True, exist_ok=True)
        run(["mv", str(unpacked), str(folder)])
    return f"{folder}:{ROOT / 'collections'}"


@pytest.fixture(scope="session")
def configuration(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """The lists of awx/configuration.yml, each with the values that Ansible gives it; with a webhook."""
    folder = tmp_path_factory.mktemp("configuration")
    source = ROOT / "awx" / "configuration.yml"
    keys = [
        line.split(":")[0]
        for line in source.read_text().splitlines()
        if line.startswith(("aap_", "controller_"))
    ]
    content = "{{ {" + ", ".join(f"'{key}': {key}" for key in keys) + "} | to_json }}"
    copy = {"dest": str(folder / "rendered.json"), "content": content, "mode": "0600"}
    play = {
        "hosts": "localhost",
        "connection": "local",
        "gather_facts": False,
        "vars_files": [str(source)],
        "tasks": [{"ansible.builtin.copy": copy}],
    }
    (folder / "play.yml").write_text(yaml.safe_dump([play]))
    webhook = "kvcache_awx_notification_url=https://hooks.example.com/kvcache"
    run(["ansible-playbook", "play.yml", "-e", webhook], folder)
    rendered: dict[str, list[dict[str, Any]]] = json.loads((folder / "rendered.json").read_text())
    return rendered
