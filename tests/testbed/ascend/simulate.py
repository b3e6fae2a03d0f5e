# SPDX-License-Identifier: Apache-2.0
"""Makes this host look like an Ascend host in a state: simulate STATE. Runs as root, in a test host only.

Device nodes are those of /dev/null under other names, since a container may open no others; PCI devices are folders,
mounted over the machine's own in this host's mount namespace. Run again, with the same or another state, it puts all right.
"""

from __future__ import annotations

import grp
import json
import os
import pwd
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import states

USER = "HwHiAiUser"
HERE = Path(__file__).resolve().parent
STATE_FILE = Path("/var/lib/testbed-ascend/state.json")
PCI = Path("/var/lib/testbed-ascend/pci")
PCI_DEVICES = Path("/sys/bus/pci/devices")
ROOT = Path("/usr/local/Ascend")
NULL = os.makedev(1, 3)


def write(path: Path, text: str, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", errors="surrogateescape")
    path.chmod(mode)


def user_ids() -> tuple[int, int]:
    try:
        pwd.getpwnam(USER)
    except KeyError:
        subprocess.run(["useradd", "--system", "--user-group", USER], check=True)
    return pwd.getpwnam(USER).pw_uid, grp.getgrnam(USER).gr_gid


def nodes(state: states.State) -> None:
    for old in [*Path("/dev").glob("davinci[0-9]*"), *(Path("/dev", n) for n in states.MANAGERS)]:
        old.unlink(missing_ok=True)
    if not state.nodes:
        return
    uid, gid = user_ids()
    for name in [f"davinci{number}" for number in state.nodes] + states.MANAGERS:
        path = f"/dev/{name}"
        os.mknod(path, 0o020600, NULL)
        os.chown(path, uid, gid)
        os.chmod(path, int(state.node_mode, 8))


def pci_device(address: str, **files: str) -> None:
    for name, value in files.items():
        write(PCI / address / name, f"{value}\n")


def pci(state: states.State) -> None:
    """A management controller's graphics stands beside the NPUs: it is of the same vendor, and no NPU."""
    if PCI.exists() and PCI_DEVICES.exists() and os.path.samefile(PCI_DEVICES, PCI):
        subprocess.run(["umount", str(PCI_DEVICES)], check=True)
    shutil.rmtree(PCI, ignore_errors=True)
    PCI.mkdir(parents=True)
    pci_device(
        "0000:03:00.0", vendor="0x19e5", device="0x1711", subsystem_device="0x0000", **{"class": "0x030000"}
    )  # fmt: skip
    for number in range(state.pci_count):
        pci_device(
            f"0000:{0x81 + number:02x}:00.0",
            vendor="0x19e5",
            device=state.pci_device,
            subsystem_device="0x0100",
            **{"class": "0x120000"},
        )
    if not PCI_DEVICES.exists():
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/sys/bus"], check=True)
        PCI_DEVICES.mkdir(parents=True)
    subprocess.run(["mount", "--bind", str(PCI), str(PCI_DEVICES)], check=True)


def software(state: states.State) -> None:
    """Driver, firmware, hccn.conf and the tools. CANN is not touched: that is what `install` makes."""
    for path in (ROOT / "driver", ROOT / "firmware"):
        shutil.rmtree(path, ignore_errors=True)
    for name in ("/etc/ascend_install.info", "/etc/hccn.conf", "/usr/local/sbin/npu-smi"):
        Path(name).unlink(missing_ok=True)
    if state.driver:
        version_info = states.sample("96").replace("23.0.7", state.driver)
        write(ROOT / "driver" / "version.info", version_info)
        write(ROOT / "firmware" / "version.info", states.sample("97"))
        write(Path("/etc/ascend_install.info"), states.sample("109"))
        for part in ("common", "driver"):
            (ROOT / "driver" / "lib64" / part).mkdir(parents=True, exist_ok=True)
    if state.addresses:
        lines = [
            f"address_{device}={address}\nnetmask_{device}=255.255.255.0\n"
            for device, address in state.addresses.items()
        ]
        write(Path("/etc/hccn.conf"), "".join(lines))
    if state.has_tools:
        script = f'#!/bin/sh\nexec python3 -S {HERE}/tool.py "${{0##*/}}" "$@"\n'
        write(Path("/usr/local/sbin/npu-smi"), script, 0o755)
        write(ROOT / "driver" / "tools" / "hccn_tool", script, 0o755)


def main() -> int:
    if len(sys.argv) != 2 or sys.argv[1] not in states.STATES:
        print(f"usage: simulate STATE, one of: {', '.join(states.STATES)}", file=sys.stderr)
        return 2
    state = states.STATES[sys.argv[1]]()
    nodes(state)
    pci(state)
    software(state)
    write(STATE_FILE, json.dumps({"name": sys.argv[1], **state.as_dict()}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
