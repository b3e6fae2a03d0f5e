# SPDX-License-Identifier: Apache-2.0
"""What is in the way of a build on a host, and what runs do that meet each other. Needs what test_bad_input installed."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any, Iterator

import pytest
from conftest import OCTETS, ROOT, RUN_SECONDS, Fleet, Run, connection, has_mooncake, on_host

BUILDS = "/opt/kvcache/mooncake"
LOCK = "/run/kvcache/opt-kvcache-mooncake.lock"
SERVICE_SEES = (
    "setpriv --reuid=65534 --regid=65534 --clear-groups sh -c "
    f"'{BUILDS}/current/bin/mooncake_master --version"
    f' && PYTHONPATH={BUILDS}/current/python python3 -c "import mooncake.engine"\''
)


def mooncake(fleet: Fleet, *arguments: str, **extra: Any) -> Run:
    return fleet.play("playbooks/mooncake.yml", "--limit", "sys-2", *arguments, **extra)


@pytest.fixture(scope="module")
def installed(hosts: None, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A host with Mooncake; returns the id of its build."""
    if not has_mooncake("sys-2"):
        fleet = Fleet(tmp_path_factory.mktemp("installed"), connection())
        fleet.inventory(["sys-1"], ["sys-2"])
        run = mooncake(fleet)
        assert run.status == 0, run.output
    return on_host("sys-2", f"readlink {BUILDS}/current").strip()


@pytest.fixture
def saved(installed: str) -> Iterator[str]:
    """The host's builds are put back as they were, whatever a test does to them."""
    on_host("sys-2", f"rm -rf /opt/saved && cp -a {BUILDS} /opt/saved")
    yield installed
    on_host("sys-2", f"chmod 755 /opt/kvcache; rm -rf /opt/kvcache/* && mv /opt/saved {BUILDS}")


def test_two_runs_at_once_both_succeed_and_one_of_them_installs(
    fleet: Fleet, saved: str, tmp_path: Path
) -> None:
    on_host("sys-2", f"rm -rf {BUILDS}")
    command = fleet.command("playbooks/mooncake.yml", "--limit", "sys-2")
    logs = [tmp_path / "one.log", tmp_path / "two.log"]
    started = []
    for path in logs:
        with path.open("w") as log:
            started.append(
                subprocess.Popen(
                    command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=log
                )
            )
    statuses = [process.wait(timeout=RUN_SECONDS) for process in started]
    outputs = [path.read_text() for path in logs]
    assert statuses == [0, 0], "\n".join(outputs)
    assert sum("Install the wheel" in output for output in outputs) == 1
    assert on_host("sys-2", f"ls -A {BUILDS}").split() == [saved, "current"]
    assert on_host("sys-2", f"ls {LOCK} 2>/dev/null || true") == ""


def hold_lock(**holder: Any) -> None:
    known = {"token": "x", "user": "ops", "controller": "ctl-9", "pid": 7, "started": 1}
    text = json.dumps({**known, **holder})
    on_host("sys-2", f"mkdir -p /run/kvcache && echo '{text}' > {LOCK}")


def test_a_lock_of_another_control_node_is_waited_for_and_named(fleet: Fleet, saved: str) -> None:
    on_host("sys-2", f"rm -rf {BUILDS}")
    hold_lock()
    try:
        run = mooncake(fleet, mooncake_lock_timeout=1)
    finally:
        on_host("sys-2", f"rm {LOCK}")
    assert run.status != 0
    assert "sys-2: another run installs Mooncake into /opt/kvcache/mooncake" in run.flat
    assert "ops on control node ctl-9 (process 7), since 20" in run.flat
    assert (
        f"Fix: let it end, then run again. If there is no such run any more, remove {LOCK}"
        in run.flat
    )
    assert on_host("sys-2", f"ls -A {BUILDS}") == ""


def copies(saved: str, damage: dict[str, str]) -> dict[str, dict[str, Any]]:
    """Copy the host's builds for each name and damage the copy; return settings of hosts of these names."""
    for name, command in damage.items():
        root = f"/opt/kvcache/{name}"
        on_host("sys-2", f"cp -a {BUILDS} {root} && cd {root} && {command.format(root=root)}")
    return {name: {"mooncake_root": f"/opt/kvcache/{name}"} for name in damage}


def test_a_build_that_services_can_not_read_is_shown_and_opened(fleet: Fleet, saved: str) -> None:
    closed = {"files": "chmod -R go-rwx current/", "folder": "chmod 700 ."}
    fleet.one_machine(OCTETS["sys-2"], copies(saved, closed))
    sees = [SERVICE_SEES.replace(BUILDS, f"/opt/kvcache/{name}") for name in closed]
    for command in sees:
        on_host("sys-2", f"! {command} 2>/dev/null")
    shown = fleet.play("playbooks/mooncake.yml", "--check", "--diff")
    assert shown.status == 0, shown.output
    assert shown.flat.count(f"The build in use, {saved}, ") == len(closed)
    run = fleet.play("playbooks/mooncake.yml")
    assert run.status == 0, run.output
    again = fleet.play("playbooks/mooncake.yml")
    for name, command in zip(closed, sees):
        assert shown.counts(name)["changed"] == 1
        assert shown.output.count(f"-/opt/kvcache/{name}") <= 10
        assert on_host("sys-2", command).startswith("mooncake_master version")
        assert again.counts(name)["changed"] == 0


def test_verify_alone_does_not_call_a_closed_build_proven(fleet: Fleet, saved: str) -> None:
    on_host("sys-2", f"chmod 600 {BUILDS}/current/manifest.json")
    run = mooncake(fleet, "--tags", "mooncake_verify")
    assert run.status != 0
    assert f"services can't read or run {BUILDS}/{saved}/manifest.json" in run.flat


def test_a_folder_above_that_is_closed_is_named(fleet: Fleet, saved: str) -> None:
    on_host("sys-2", "chmod 700 /opt/kvcache")
    for arguments in (["--check"], []):
        run = mooncake(fleet, *arguments)
        assert run.status != 0
        assert "/opt/kvcache has mode 0700" in run.flat
        assert "Fix: sudo chmod o+x /opt/kvcache" in run.flat


IN_THE_WAY = {
    "directory": ("rm current && mkdir current", "/current is a directory that this role did not"),
    "file": ("rm current && touch current", "/current is a file that this role did not make"),
    "empty": (": > current/manifest.json", "its manifest.json is empty"),
    "no-json": ("echo '{{' > current/manifest.json", "its manifest.json is not JSON"),
    "no-file": (
        "rm current/manifest.json && mkdir current/manifest.json",
        "its manifest.json is a directory",
    ),
    "no-root": ("cd / && rm -rf {root} && touch {root}", "(mooncake_root) is not a directory"),
}


def test_what_is_in_the_way_is_found_before_anything_is_done(fleet: Fleet, saved: str) -> None:
    damage = {name: command for name, (command, _message) in IN_THE_WAY.items()}
    fleet.one_machine(OCTETS["sys-2"], copies(saved, damage))
    # What --check says without --check, too, the folder above that is closed shows.
    run = fleet.play("playbooks/mooncake.yml", "--check")
    for name, (_command, message) in IN_THE_WAY.items():
        assert message in run.said_of(name), run.output
        assert f"Fix: move it away (sudo mv /opt/kvcache/{name}" in run.said_of(name)
        assert run.counts(name)["changed"] == 0


def test_a_link_to_nothing_is_set_anew(fleet: Fleet, saved: str) -> None:
    on_host("sys-2", f"rm -rf {BUILDS}/{saved}")
    shown = mooncake(fleet, "--check", "--diff")
    assert shown.status == 0, shown.output
    assert f"current points to {saved}, which is not there" in shown.flat
    assert f"No build is in use yet. This run would change it; {saved} is proven" in shown.flat
    assert mooncake(fleet).status == 0
    assert on_host("sys-2", SERVICE_SEES).startswith("mooncake_master version")


def test_a_root_that_services_can_not_see(fleet: Fleet, installed: str) -> None:
    run = mooncake(fleet, mooncake_root="/home/ops/mooncake")
    assert run.status != 0
    assert "mooncake_root: /home/ops/mooncake is below /home, which the services" in run.flat
    assert "Fix: choose a folder elsewhere, such as /opt/kvcache/mooncake" in run.flat


def test_check_mode_says_which_build_it_proved(fleet: Fleet, installed: str) -> None:
    run = mooncake(fleet, "--check")
    assert f"The build in use, {installed}, works: mooncake_master version 0.3.13" in run.flat


def test_a_damaged_wheel_on_the_control_node(fleet: Fleet, saved: str, tmp_path: Path) -> None:
    on_host("sys-2", f"rm -rf {BUILDS}")
    name = "mooncake_transfer_engine_non_cuda-0.3.13.post1-cp311-cp311-manylinux_2_28_x86_64.whl"
    (tmp_path / name).write_bytes(b"PK\x03\x04 cut")
    run = mooncake(fleet, "--check", mooncake_wheel_dir=str(tmp_path))
    assert run.status != 0
    assert f"{name}: it is damaged (8 bytes" in run.flat
    command = run.flat.split("fetch it anew: ")[1].split("==0.3.13.post1")[0] + "==0.3.13.post1"
    (tmp_path / name).unlink()
    done = subprocess.run(command.split(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    run = mooncake(fleet, "--check", mooncake_wheel_dir=str(tmp_path))
    assert run.status == 0, run.output


def test_an_installation_past_an_abandoned_lock_and_roots_umask_shows_the_build_alone(
    fleet: Fleet, saved: str
) -> None:
    """The umask hides nothing from services; what is shown is the build, not its thousand files."""
    sudoers = "/etc/sudoers.d/umask"
    on_host("sys-2", f"rm -rf {BUILDS} && echo 'Defaults umask=0077, umask_override' > {sudoers}")
    hold_lock()
    on_host("sys-2", f"touch -d '1 hour ago' {LOCK}")
    try:
        run = mooncake(fleet, "--diff", mooncake_lock_timeout=1)
    finally:
        on_host("sys-2", f"rm {sudoers}")
    assert run.status == 0, run.output
    assert on_host("sys-2", f"ls {LOCK} 2>/dev/null || true") == ""
    assert on_host("sys-2", SERVICE_SEES).startswith("mooncake_master version")
    assert on_host("sys-2", f"find {BUILDS} -not -type l -not -perm -o+r") == ""
    assert "+version: 0.3.13.post1" in run.output
    assert f"+++ after: {BUILDS}/{saved}" in run.output
    assert ".pyc" not in run.output
    assert len(run.output.splitlines()) < 400


@pytest.fixture
def full() -> Iterator[str]:
    """A file system with a build that was made and never switched to, and with no room for the link."""
    root = "/srv/small/mooncake"
    on_host("sys-2", "mkdir -p /srv/small && mount -t tmpfs -o size=2g,mode=755 none /srv/small")
    try:
        on_host("sys-2", f"cp -a {BUILDS} {root} && rm {root}/current")
        used = on_host("sys-2", "df --output=iused /srv/small | tail -n 1").strip()
        on_host("sys-2", f"mount -o remount,nr_inodes={used} /srv/small")
        yield root
    finally:
        on_host("sys-2", "umount /srv/small")


def test_a_file_system_that_is_full_at_the_switch(fleet: Fleet, saved: str, full: str) -> None:
    run = mooncake(fleet, mooncake_root=full)
    assert run.status != 0
    assert '(at "Switch to the build"), "current" is as it was: the disk is full' in run.flat
    assert f"Fix: free space below {full}" in run.flat
    assert on_host("sys-2", f"ls -A {full}").strip() == saved
    on_host("sys-2", "mount -o remount,nr_inodes=1m /srv/small")
    run = mooncake(fleet, mooncake_root=full)
    assert run.status == 0, run.output
    assert on_host("sys-2", f"readlink {full}/current").strip() == saved
