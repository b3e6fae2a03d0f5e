# SPDX-License-Identifier: Apache-2.0
"""Test hosts and playbook runs for the tests of bad input and failures.

The hosts are real systemd hosts in containers (tests/testbed), reached over SSH as in production. Tests run in the
order in which they stand: installing is what takes time, so those that need an installed master share one.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Iterator

import pytest
import yaml

ROOT = Path(__file__).parents[2]
TESTBED = ROOT / "tests" / "testbed" / "testbed"
STATE = Path(os.environ.get("KVCACHE_TESTBED_STATE", ROOT / ".testbed"))
PREFIX = os.environ.get("KVCACHE_TESTBED_PREFIX", "172.31.88")
RUN_SECONDS = 1200
"""What takes longer hangs; its test fails instead of waiting for ever."""
OCTETS = {"sys-1": 41, "sys-2": 42, "sys-full": 43, "sys-stack": 44}


def testbed(*arguments: str) -> str:
    done = subprocess.run(
        [str(TESTBED), *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=RUN_SECONDS,
    )
    assert done.returncode == 0, f"testbed {arguments}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def on_host(name: str, command: str, check: bool = True) -> str:
    """Run a shell command as root on a test host, past Ansible; return its standard output."""
    done = subprocess.run(
        ["docker", "exec", f"kvcache-{name}", "sh", "-c", command],
        capture_output=True,
        text=True,
        check=False,
        timeout=RUN_SECONDS,
    )
    assert done.returncode == 0 or not check, f"{name}: {command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@dataclass
class Run:
    """A finished ansible-playbook."""

    status: int
    output: str

    @property
    def flat(self) -> str:
        """The output with every run of white space as one blank, since messages are wrapped."""
        return " ".join(self.output.split())

    def counts(self, host: str) -> dict[str, int]:
        """Return ok, changed, unreachable, failed, … of the recap's line for a host."""
        (line,) = [
            line
            for line in self.output.splitlines()
            if line.startswith(f"{host} ") and "ok=" in line
        ]
        return {key: int(value) for key, value in (item.split("=") for item in line.split()[2:])}

    def said_of(self, host: str) -> str:
        """Return what the run says of the host's failures, as one line."""
        failures = re.findall(
            rf"^fatal: \[{host}\].*?(?=^TASK|^PLAY|^\w+: \[)", self.output, re.MULTILINE | re.DOTALL
        )
        return " ".join(" ".join(failures).split())


@dataclass
class Fleet:
    """An inventory of test hosts in a folder of its own, and runs against it."""

    folder: Path
    variables: dict[str, Any] = field(default_factory=dict)

    def inventory(self, masters: list[str] | None, others: list[str]) -> None:
        """Write the inventory; with None for the masters it has no such group."""
        network = {
            name: {"ansible_host": f"{PREFIX}.{OCTETS.get(name, 250)}"}
            for name in [*(masters or []), *others]
        }
        groups: dict[str, Any] = {"vllm": {"hosts": {name: {} for name in others}}}
        if masters is not None:
            groups["mooncake_master"] = {"hosts": {name: {} for name in masters}}
        content = {
            "all": {
                "children": groups,
                "hosts": network,
                "vars": self.variables,
            }
        }
        (self.folder / "hosts").write_text(yaml.safe_dump(content))

    def one_machine(self, octet: int, hosts: dict[str, dict[str, Any]]) -> None:
        """Write an inventory of hosts of these names and settings, all of which are one machine.

        So one run shows many causes, and that a host's fault is no other host's.
        """
        members = {
            name: {"ansible_host": f"{PREFIX}.{octet}", **settings}
            for name, settings in hosts.items()
        }
        content = {"all": {"vars": self.variables, "children": {"vllm": {"hosts": members}}}}
        (self.folder / "hosts").write_text(yaml.safe_dump(content))

    def one_of_each(self, name: str, more: dict[str, Any]) -> None:
        """Write an inventory of one host that is master and runs instances, with further groups."""
        host = {name: {"ansible_host": f"{PREFIX}.{OCTETS[name]}"}}
        groups = {"vllm": {"hosts": host}, "mooncake_master": {"hosts": {name: {}}}, **more}
        content = {"all": {"vars": self.variables, "children": groups}}
        (self.folder / "hosts").write_text(yaml.safe_dump(content))

    def command(self, playbook: str, *arguments: str, **extra: Any) -> list[str]:
        options = (
            [f"--extra-vars={yaml.safe_dump(extra, default_flow_style=True)}"] if extra else []
        )
        return ["ansible-playbook", playbook, "-i", str(self.folder), *arguments, *options]

    def play(self, playbook: str, *arguments: str, **extra: Any) -> Run:
        environment = dict(os.environ, ANSIBLE_NOCOLOR="1")
        done = subprocess.run(
            self.command(playbook, *arguments, **extra),
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=RUN_SECONDS,
        )
        return Run(done.returncode, done.stdout)


def connection() -> dict[str, Any]:
    """How the test hosts are reached, and the network that they share with this machine."""
    return {
        "ansible_user": "ops",
        "ansible_ssh_private_key_file": str(STATE / "id_ed25519"),
        "ansible_ssh_common_args": f"-o UserKnownHostsFile={STATE / 'known_hosts'} -o ConnectTimeout=5",
        "release_name": "cpu",
        "python_stack_enabled": False,
        "mooncake_master_address": "sys-1",
        "site_ca_files": sorted(
            str(path) for path in Path("/usr/local/share/ca-certificates").glob("*.crt")
        ),
        "site_http_proxy": os.environ.get("http_proxy", ""),
        "site_package_index_url": os.environ.get("PIP_INDEX_URL", ""),
    }


@pytest.fixture(scope="session")
def hosts() -> Iterator[None]:
    """Two fresh hosts, and one whose /opt/kvcache is too small for anything."""
    testbed("down", "--group", "system")
    testbed("up", "--group", "system", "sys-1=41", "sys-2=42")
    testbed("up", "--group", "system", "--tmpfs", "/opt/kvcache:20m", "sys-full=43")
    yield
    testbed("down", "--group", "system")


def has_mooncake(*names: str) -> bool:
    """Return whether the tests before have installed Mooncake on these hosts; a file that runs alone does it itself."""
    link = "readlink /opt/kvcache/mooncake/current || true"
    return all(on_host(name, link).strip() for name in names)


@pytest.fixture
def fleet(hosts: None, tmp_path: Path) -> Fleet:
    """The two hosts, the first of them the master."""
    made = Fleet(tmp_path, connection())
    made.inventory(["sys-1"], ["sys-1", "sys-2"])
    return made
