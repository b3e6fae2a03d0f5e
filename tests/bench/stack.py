# SPDX-License-Identifier: Apache-2.0
"""How long uv and pip take to install the stack of the release cpu from one folder with wheels, in turns.

tests/bench/stack.py [RUNS]
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measure import ROOT, ratio, show

sys.path.insert(0, str(ROOT / "collections"))

from ansible_collections.kvcache.ascend.plugins.filter.python_stack import plan
from ansible_collections.kvcache.ascend.plugins.filter.release import release_spec
from ansible_collections.kvcache.ascend.plugins.module_utils import (
    python_lock,
    python_stack_install,
    python_stack_look,
    python_wheels,
)

WHEELS = Path.home() / ".cache" / "kvcache" / "wheels"
# The installers are compared, not the disk, which takes as long for either: wheels and environment are in memory.
MEMORY = Path("/dev/shm")
NEEDED_BYTES = 8 << 30
PYTHON = "3.11"
PLATFORM = {
    "architecture": "x86_64",
    "glibc": "2.36",
    "python_version": f"{PYTHON}.0",
    "python_tag": "cp311",
}


def run(command: list[str], environment: dict[str, str]) -> tuple[int, str, str]:
    inherited = {
        key: value for key, value in os.environ.items() if not key.startswith(("PIP_", "UV_"))
    }
    clean = {**inherited, "PIP_CONFIG_FILE": os.devnull, **environment}
    done = subprocess.run(command, env=clean, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def fetch(command: list[str], environment: dict[str, str]) -> tuple[int, str, str]:
    """As `run`, with this machine's own pip settings: they say where packages come from."""
    done = subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


def install_seconds(wanted: dict, installer: str) -> float:
    """Make the environment as the role does, without compiling, which is the same for both; return the seconds."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        order = python_stack_install.Order(
            root=folder,
            stack_id=wanted["stack_id"],
            lock=wanted["lock"],
            release=wanted["release"],
            inputs=wanted["inputs"],
            python=sys.executable,
            installer=installer,
            wheel_dir=str(WHEELS),
            compile=False,
        )
        site = python_stack_install.Site(order, os.path.join(folder, wanted["stack_id"]), run)
        python_stack_install.make_environment(site)
        lock = os.path.join(site.tools, "lock.txt")
        python_stack_install.write_text(lock, order.lock)
        # Both are brought before the clock starts.
        pip = python_stack_install.bring_pip(site)
        uv = str(ROOT / ".venv" / "bin" / "uv")
        started = time.monotonic()
        if installer == "uv":
            python_stack_install.install_with_uv(site, uv, lock)
        else:
            site.call([*pip, *python_stack_install.pip_options(site, lock)], "installing with pip")
        taken = time.monotonic() - started
        installed = python_stack_look.inspect(site.path, run)["packages"]
        assert len(installed) == len(wanted["wheels"]), "the installation is not complete"
        return taken


def main() -> None:
    if sys.version_info[:2] != (3, 11):
        sys.exit(
            f"bench: the lock is for Python {PYTHON}, .venv has another. Fix: make .venv with it."
        )
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    if shutil.disk_usage(MEMORY).free < NEEDED_BYTES:
        sys.exit(f"bench: {MEMORY} has less than 8 GiB free. Fix: use a machine with more memory.")
    wanted = plan(release_spec("cpu", []), PLATFORM)
    packages = python_lock.parse(wanted["lock"])["packages"]
    lacking = [item for item in packages if not python_wheels.is_whole(str(WHEELS), item)]
    python_wheels.fetch(lacking, PYTHON, str(WHEELS), sys.executable, fetch)
    for item in packages:
        (WHEELS / item["wheel"]).read_bytes()
    times: dict[str, list[float]] = {"uv": [], "pip": []}
    for _number in range(runs):
        for installer, taken in times.items():
            taken.append(install_seconds(wanted, installer))
    for installer, taken in times.items():
        show(f"stack by {installer}", taken)
    times_uv = ratio(times["pip"], times["uv"])
    print(
        f"{len(packages)} packages from the same folder into memory: pip takes {times_uv:.1f} times as long as uv"
    )


if __name__ == "__main__":
    main()
