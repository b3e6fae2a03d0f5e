# SPDX-License-Identifier: Apache-2.0
"""The package manager of a host in a bad moment: its lock is held, or it was killed at its work."""

from __future__ import annotations

import subprocess
from typing import Iterator

import pytest
from conftest import Fleet, Run, has_mooncake, on_host

HOLD = "import fcntl, sys, time; f = open(sys.argv[1], 'w'); fcntl.lockf(f, fcntl.LOCK_EX); time.sleep(3600)"
JOURNAL = "/var/lib/dpkg/updates/0001"
REMOVE = "! dpkg -s tree >/dev/null 2>&1 || dpkg -r tree"


def install(fleet: Fleet, *arguments: str, wait: int = 5) -> Run:
    """Let the role bring one package that the host lacks."""
    on_host("sys-2", REMOVE)
    return fleet.play(
        "playbooks/mooncake.yml",
        "--limit",
        "sys-2",
        "--tags",
        "mooncake_install",
        *arguments,
        mooncake_extra_packages=["tree"],
        site_package_lock_timeout=wait,
    )


@pytest.fixture(autouse=True)
def installed(fleet: Fleet) -> None:
    """Mooncake itself is there, with its own packages and the trust of the network: one package is all that is missing."""
    if not has_mooncake("sys-2"):
        run = fleet.play("playbooks/mooncake.yml", "--limit", "sys-2")
        assert run.status == 0, run.output


@pytest.fixture(params=["/var/lib/dpkg/lock-frontend", "/var/lib/apt/lists/lock"])
def held(hosts: None, request: pytest.FixtureRequest) -> Iterator[str]:
    """A lock that another process holds on the host."""
    on_host("sys-2", f'systemd-run --quiet --unit holder python3 -c "{HOLD}" {request.param}')
    yield request.param
    on_host("sys-2", "systemctl stop holder || true")


def test_a_lock_that_another_holds_is_named_with_what_to_do(fleet: Fleet, held: str) -> None:
    run = install(fleet)
    assert run.status != 0
    assert "apt could not install tree" in run.flat
    assert "another package manager is at work on the host (waited 5 s)" in run.flat
    assert "or wait longer with site_package_lock_timeout, then run again." in run.flat


def test_a_lock_that_is_given_back_is_waited_for(fleet: Fleet, held: str) -> None:
    command = ["docker", "exec", "kvcache-sys-2", "sh", "-c", "sleep 25; systemctl stop holder"]
    with subprocess.Popen(command) as release:
        run = install(fleet, wait=300)
        assert release.wait() == 0
    assert run.status == 0, run.output


def test_a_dpkg_that_was_killed_is_told_to_finish(fleet: Fleet) -> None:
    # Any work of dpkg would settle the journal, so the package goes first.
    on_host("sys-2", REMOVE)
    on_host("sys-2", f": > {JOURNAL}")
    shown = install(fleet, "--check")
    assert shown.status == 0, shown.output
    assert "Would install for Mooncake: tree" in shown.flat
    assert on_host("sys-2", f"ls {JOURNAL}").strip() == JOURNAL
    run = install(fleet)
    assert run.status == 0, run.output
    assert on_host("sys-2", "dpkg -s tree | grep ^Status").strip() == "Status: install ok installed"


def test_a_package_that_does_not_exist(fleet: Fleet) -> None:
    run = fleet.play(
        "playbooks/mooncake.yml",
        "--limit",
        "sys-2",
        "--tags",
        "mooncake_install",
        mooncake_extra_packages=["no-such-package"],
    )
    assert run.status != 0
    assert "no repository of the host has a package of that name" in run.flat
