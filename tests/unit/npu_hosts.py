# SPDX-License-Identifier: Apache-2.0
"""Hosts in the states of the simulated Ascend host, as folders: real files, real programs, no root needed.

A device node is a file here, since only root may make nodes; its owner and mode stand in for those of a real one.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ansible_collections.kvcache.ascend.plugins.module_utils import (
    limited_command,
    npu_observation,
)
from ansible_collections.kvcache.ascend.plugins.module_utils.npu_files import Files
from ansible_collections.kvcache.ascend.tests.testbed.ascend import states

# The services of processes in the samples, which run on no machine.
UNITS = {717872: "vllm@a.service", 951828: "other.service"}
ASCEND = Path(states.__file__).parent


@dataclass(frozen=True)
class Folder(Files):
    """The files of a host below a folder."""

    accessible: bool = True

    def node(self, path: str) -> dict[str, Any] | None:
        if not self.is_file(path):
            return None
        return {
            "owner": "HwHiAiUser",
            "group": "HwHiAiUser",
            "mode": "0660",
            "accessible": self.accessible,
        }


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", errors="surrogateescape")


def make(root: Path, state: states.State, *cann: str, accessible: bool = True) -> Folder:
    """The folder of a host in a state, with CANN trees of these versions."""
    for name in [f"davinci{n}" for n in state.nodes] + (states.MANAGERS if state.nodes else []):
        _write(root / "dev" / name, "")
    for number in range(state.pci_count):
        folder = root / "sys/bus/pci/devices" / f"0000:{0x81 + number:02x}:00.0"
        _write(folder / "vendor", "0x19e5\n")
        _write(folder / "device", f"{state.pci_device}\n")
        _write(folder / "class", "0x120000\n")
    if state.driver:
        version_info = states.sample("96").replace("23.0.7", state.driver)
        _write(root / "usr/local/Ascend/driver/version.info", version_info)
        _write(root / "usr/local/Ascend/firmware/version.info", states.sample("97"))
        _write(root / "etc/ascend_install.info", states.sample("109"))
    _write(
        root / "etc/hccn.conf",
        "".join(f"address_{device}={a}\n" for device, a in state.addresses.items()),
    )
    _write(root / "state.json", json.dumps(state.as_dict()))
    if state.has_tools:
        for tool in ("usr/local/sbin/npu-smi", "usr/local/Ascend/driver/tools/hccn_tool"):
            _write(
                root / tool,
                f"#!/bin/sh\nTESTBED_ASCEND_STATE={root}/state.json exec {sys.executable} -S {ASCEND}/tool.py "
                '"${0##*/}" "$@"\n',
            )
            (root / tool).chmod(0o755)
    for version in cann:
        subprocess.run(
            ["bash", str(ASCEND / "install"), str(root / "usr/local/Ascend"), version],
            check=True,
            stdout=subprocess.DEVNULL,
        )
    return Folder(str(root), accessible=accessible)


def look(
    files: Folder,
    *,
    is_root: bool = True,
    environment: dict[str, str] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """What is seen of a host, by the real runner and the simulated tools."""
    return npu_observation.observe(
        npu_observation.Options(**{"seconds": 20.0, **options}),
        files,
        limited_command.run,
        {"PATH": "/usr/bin:/bin", **(environment or {})},
        is_root=is_root,
        unit_of=UNITS.get,
    )
