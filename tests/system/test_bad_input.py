# SPDX-License-Identifier: Apache-2.0
"""What bad input and broken surroundings get: one clear message, nothing half-installed, and a next run that converges."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from typing import Callable

import pytest
from conftest import ROOT, STATE, Fleet, on_host

CURRENT = "readlink /opt/kvcache/mooncake/current || echo none"
LOCKS = "ls /run/kvcache/*.lock 2>/dev/null || true"
BUILDS = "ls -A /opt/kvcache/mooncake 2>/dev/null || true"


def await_(condition: Callable[[], bool], seconds: float, what: str) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds} s in vain until {what}"
        time.sleep(0.2)


def test_check_mode_on_untouched_hosts_shows_all_and_changes_nothing(fleet: Fleet) -> None:
    run = fleet.play("site.yml", "--check", "--diff")
    assert run.status == 0, run.output
    assert "+--rpc_port" in run.flat or "--rpc_port=50088" in run.flat
    assert "ExecStart=/opt/kvcache/mooncake/current/bin/mooncake_master" in run.output
    assert "Would install Mooncake 0.3.13.post1" in run.flat
    assert (
        "Not checked: this is check mode, and a run would start or restart the master" in run.flat
    )
    for name in ("sys-1", "sys-2"):
        assert on_host(name, "ls /opt /etc/kvcache 2>/dev/null || true").strip() == "/opt:"
        assert on_host(name, "getent passwd mooncake || echo none").strip() == "none"


def test_a_mistyped_inventory_is_an_error() -> None:
    done = subprocess.run(
        ["ansible-playbook", "site.yml", "-i", "prdo", "--syntax-check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "prdo" in done.stdout + done.stderr


def test_an_unknown_release_names_the_known_ones(fleet: Fleet) -> None:
    run = fleet.play("site.yml", release_name="0.11.0rc4")
    assert run.status != 0
    assert "0.11.0rc4" in run.flat
    assert "0.11.0rc3-torch2.8" in run.flat
    assert "0.23.0" in run.flat
    assert on_host("sys-1", BUILDS) == ""


def test_a_release_to_compile_names_the_missing_cann_before_anything_is_installed(
    fleet: Fleet,
) -> None:
    run = fleet.play("playbooks/mooncake.yml", release_name="0.11.0rc3")
    assert run.status != 0
    assert "can't be compiled: there is no CANN at /usr/local/Ascend/cann" in run.flat
    assert "name its folder in mooncake_cann_home" in run.flat
    run = fleet.play(
        "playbooks/mooncake.yml", release_name="0.11.0rc3", mooncake_install_method="wheel"
    )
    assert run.status != 0
    assert "not published as a wheel" in run.flat
    assert "set mooncake_install_method to source" in run.flat
    assert on_host("sys-1", BUILDS) == ""


def test_a_package_index_that_can_not_be_reached(fleet: Fleet) -> None:
    run = fleet.play("site.yml", site_package_index_url="http://127.0.0.1:9/simple")
    assert run.status != 0
    assert (
        "package index can't be reached from this host. Fix: set site_package_index_url" in run.flat
    )
    for name in ("sys-1", "sys-2"):
        assert on_host(name, CURRENT).strip() == "none"
        assert on_host(name, BUILDS) == ""


def test_a_wheel_folder_without_the_wheel(fleet: Fleet) -> None:
    wheels = fleet.folder.parent / "wheels"
    gone = fleet.play("site.yml", "--check", mooncake_wheel_dir=str(wheels))
    assert gone.status != 0
    assert f"mooncake_wheel_dir: {wheels} is not there. Fix: make the folder" in gone.flat
    wheels.mkdir()
    run = fleet.play("site.yml", "--check", mooncake_wheel_dir=str(wheels))
    assert run.status != 0
    assert "there is no mooncake_transfer_engine_non_cuda-0.3.13.post1 for cp311" in run.flat
    assert "Fix: fetch it: pip download --no-deps" in run.flat


def test_a_full_disk(fleet: Fleet) -> None:
    fleet.inventory(["sys-full"], ["sys-full"])
    run = fleet.play("playbooks/mooncake.yml")
    assert run.status != 0
    assert "the disk is full. Fix: free space below /opt/kvcache/mooncake" in run.flat
    assert on_host("sys-full", CURRENT).strip() == "none"
    assert on_host("sys-full", BUILDS) == ""


def test_a_wheel_for_npus_on_a_host_without_cann_names_the_missing_libraries(fleet: Fleet) -> None:
    run = fleet.play("playbooks/mooncake.yml", "--limit", "sys-1", release_name="0.23.0")
    assert run.status != 0
    assert "needs libascendcl.so, libllm_datadist.so, libmetadef.so of CANN" in run.flat
    assert "install CANN, and name its libraries in mooncake_environment" in run.flat
    assert "Install the wheel" not in run.output
    assert on_host("sys-1", CURRENT).strip() == "none"
    assert on_host("sys-1", BUILDS) == ""


def test_a_run_killed_in_the_middle_of_the_install_is_put_right_by_the_next(fleet: Fleet) -> None:
    command = fleet.command("playbooks/mooncake.yml", "--limit", "sys-2")
    with (ROOT / ".testbed" / "logs" / "killed-run.log").open("w") as log:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        staged = "ls -d /opt/kvcache/mooncake/.staging-*/python/mooncake 2>/dev/null || true"
        try:
            await_(lambda: bool(on_host("sys-2", staged).strip()), 240, "pip has begun to unpack")
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    # What the host itself was doing dies with it: a power cut, as far as the files are concerned.
    on_host("sys-2", "pkill -KILL -f '[/]opt/kvcache/mooncake/.staging' || true")
    assert on_host("sys-2", CURRENT).strip() == "none"
    assert ".staging-" in on_host("sys-2", BUILDS)
    assert on_host("sys-2", LOCKS) != ""

    run = fleet.play("playbooks/mooncake.yml", "--limit", "sys-2")
    assert run.status == 0, run.output
    assert ".staging-" not in on_host("sys-2", BUILDS)
    assert on_host("sys-2", LOCKS) == ""
    assert on_host(
        "sys-2", "/opt/kvcache/mooncake/current/bin/mooncake_master --version"
    ).startswith("mooncake_master version 0.3.13.post1")


def test_a_port_in_use_names_who_has_it_and_nothing_is_configured(fleet: Fleet) -> None:
    on_host(
        "sys-1",
        "systemd-run --unit squatter --quiet python3 -c "
        "\"import socket, time; s = socket.create_server(('0.0.0.0', 10022)); time.sleep(3600)\"",
    )
    try:
        run = fleet.play("site.yml")
    finally:
        on_host("sys-1", "systemctl stop squatter")
    assert run.status != 0
    assert "ERROR ports_busy sys-1 port 10022 (mooncake_master_metrics_port) is taken" in run.flat
    assert "squatter.service). Expected: a free port. Fix: stop it, or choose" in run.flat
    assert on_host("sys-1", "ls /etc/kvcache 2>/dev/null || true") == ""


def test_all_mistakes_in_the_settings_are_told_in_one_message(fleet: Fleet) -> None:
    run = fleet.play(
        "playbooks/mooncake_master.yml",
        mooncake_master_flags={"evicton_ratio": 0.1, "client_ttl": "long"},
        mooncake_master_kv_lease_ttl_ms=5000,
        mooncake_master_metrics_port=50088,
        mooncake_master_writable_paths="/srv/a",
    )
    assert run.status != 0
    assert "Mooncake 0.3.13.post1 knows no such flag" in run.flat
    assert "did you mean eviction_ratio?" in run.flat
    assert "client_ttl: 'long' is not of type int" in run.flat
    assert "not longer than the longest transfer timeout (10000 ms)" in run.flat
    assert "rpc_port and metrics_port are both 50088" in run.flat
    assert "mooncake_master_writable_paths: is '/srv/a', expected a list" in run.flat
    # As a person reads it: each once, in lines that a terminal shows, no trace.
    assert run.flat.count("did you mean") == 1
    assert max(map(len, run.output.split("fatal:")[1].split("PLAY RECAP")[0].splitlines())) <= 100
    assert "Traceback" not in run.output
    assert "Origin:" not in run.output


@pytest.mark.parametrize("flags", ["client_ttl=120", ["client_ttl"]])
def test_flags_that_are_no_dict(fleet: Fleet, flags: object) -> None:
    run = fleet.play("playbooks/mooncake_master.yml", mooncake_master_flags=flags)
    assert run.status != 0
    assert (
        "expected a dict. Fix: write it as in mooncake_master_flags: {client_ttl: 120}" in run.flat
    )


def test_two_masters(fleet: Fleet) -> None:
    fleet.inventory(["sys-1", "sys-2"], [])
    for playbook in ("site.yml", "verify.yml"):
        run = fleet.play(playbook)
        assert run.status != 0
        assert "two masters would be two pools. Fix: have one host in the group." in run.flat
        assert "PLAY [Mooncake]" not in run.output


@pytest.mark.parametrize("playbook", ["site.yml", "verify.yml"])
@pytest.mark.parametrize("group", [True, False])
def test_no_master(fleet: Fleet, playbook: str, group: bool) -> None:
    """Without the group, every host used to take itself for the master."""
    fleet.variables.pop("mooncake_master_address")
    fleet.inventory([] if group else None, ["sys-1", "sys-2"])
    for limit in ([], ["--limit", "sys-2"]):
        run = fleet.play(playbook, *limit)
        assert run.status != 0
        assert "without a master there is no pool. Fix: have one host in the group" in run.flat
        assert run.flat.count("without a master") == 1
        assert "PLAY [Mooncake]" not in run.output


def test_a_master_that_is_named_by_a_variable_alone(fleet: Fleet) -> None:
    fleet.inventory(None, ["sys-2"])
    run = fleet.play("verify.yml", mooncake_master_wait_seconds=1, mooncake_master_rpc_port=1)
    assert run.status != 0
    assert "sys-1:1 refused the connection" in run.flat
    assert "(from host sys-2)" in run.flat


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("0", "0 is no IP address"),
        ("[::ffff:0:0]", "::ffff:0:0 is an address to listen on"),
        ("127.0.0.1", "Fix: set it to a name or IP address of sys-1 that every host reaches"),
        ("sys-1:50088", "Fix: give the host alone, its port is mooncake_master_rpc_port"),
    ],
)
def test_an_address_at_which_nobody_can_be_reached(fleet: Fleet, address: str, words: str) -> None:
    run = fleet.play("verify.yml", "--limit", "sys-2", mooncake_master_address=address)
    assert run.status != 0
    assert words in run.flat


def test_an_unreachable_host_does_not_hide_the_others(fleet: Fleet) -> None:
    fleet.inventory(["sys-1"], ["sys-2", "sys-gone"])
    run = fleet.play("site.yml")
    assert run.status != 0
    assert "ERROR reachable sys-gone it could not be looked at: Failed to connect" in run.flat
    assert run.counts("sys-1")["changed"] == 0
    # Left out on purpose, the others are brought to where they should be.
    run = fleet.play("site.yml", preflight_skip=["reachable"])
    assert run.status != 0
    assert run.counts("sys-gone")["unreachable"] == 1
    assert run.counts("sys-1")["failed"] == 0
    assert run.counts("sys-2")["failed"] == 0
    assert on_host("sys-1", "systemctl is-active mooncake-master").strip() == "active"


def test_limit_and_tags(fleet: Fleet) -> None:
    run = fleet.play("site.yml", "--limit", "sys-2", "--tags", "verify")
    assert run.status == 0, run.output
    assert "sys-1 " not in run.output.split("PLAY RECAP")[1]


def main_pid() -> str:
    return on_host("sys-1", "systemctl show --value --property MainPID mooncake-master").strip()


def test_a_killed_master_comes_back_and_the_check_passes(fleet: Fleet) -> None:
    before = main_pid()
    on_host("sys-1", f"kill -9 {before}")
    await_(lambda: main_pid() not in ("0", before), 30, "systemd has started the master again")
    run = fleet.play("verify.yml")
    assert run.status == 0, run.output


def test_a_master_with_an_older_configuration_is_restarted_although_no_file_differs(
    fleet: Fleet,
) -> None:
    """As after a run that was killed between writing the files and restarting."""
    on_host(
        "sys-1",
        "cp -p /etc/kvcache/master.env /tmp/master.env"
        " && sed -i s/^KVCACHE_CONFIG=.*/KVCACHE_CONFIG=older/ /etc/kvcache/master.env"
        " && systemctl restart mooncake-master && cp -p /tmp/master.env /etc/kvcache/master.env",
    )
    before = main_pid()
    shown = fleet.play("playbooks/mooncake_master.yml", "--check")
    assert "would be restarted" in shown.flat
    assert "Not checked: this is check mode" in shown.flat
    assert main_pid() == before
    run = fleet.play("playbooks/mooncake_master.yml")
    assert run.status == 0, run.output
    assert main_pid() not in ("0", before)


def test_a_stopped_master_is_reported_with_host_port_finding_and_fix(fleet: Fleet) -> None:
    on_host("sys-1", "systemctl stop mooncake-master")
    try:
        for arguments in ([], ["--check"]):
            run = fleet.play("verify.yml", *arguments, mooncake_master_wait_seconds=3)
            assert run.status != 0
            assert run.counts("sys-2")["failed"] == 1
            assert "sys-1:50088 refused the connection" in run.flat
            assert "Fix: start it there (sudo systemctl start mooncake-master)" in run.flat
            assert (
                "On the master itself: it was stopped, by a person or another program" in run.flat
            )
            assert "null" not in run.output
    finally:
        on_host("sys-1", "systemctl start mooncake-master")


def test_a_filtered_port_is_told_from_a_refused_one(fleet: Fleet) -> None:
    on_host("sys-1", "ip route add blackhole $(getent hosts sys-2 | cut -d' ' -f1)/32")
    try:
        run = fleet.play("verify.yml", "--limit", "sys-2", mooncake_master_wait_seconds=4)
    finally:
        on_host("sys-1", "ip route del blackhole $(getent hosts sys-2 | cut -d' ' -f1)/32")
    assert run.status != 0
    assert "timed out" in run.flat or "no answer" in run.flat
    assert "firewall" in run.flat


def test_a_name_that_does_not_resolve(fleet: Fleet) -> None:
    run = fleet.play(
        "verify.yml",
        "--limit",
        "sys-2",
        mooncake_master_address="sys-9",
        mooncake_master_wait_seconds=2,
    )
    assert run.status != 0
    assert "sys-9" in run.flat
    assert "mooncake_master_address" in run.flat


def test_a_high_availability_address_is_refused_for_now(fleet: Fleet) -> None:
    run = fleet.play("verify.yml", "--limit", "sys-2", mooncake_master_address="etcd://sys-1")
    assert run.status != 0
    assert "not supported yet" in run.flat


def test_ca_files_that_are_none_are_named(fleet: Fleet) -> None:
    key = STATE / "id_ed25519"
    run = fleet.play("site.yml", site_ca_files=[str(key)])
    assert run.status != 0
    assert f"{key} on the control node is not a PEM file of certificates only" in run.flat
    assert "BEGIN OPENSSH" not in run.output


@pytest.mark.parametrize("variable", ["mooncake_install_method", "mooncake_master_rpc_port"])
def test_a_value_of_the_wrong_kind_names_the_variable(fleet: Fleet, variable: str) -> None:
    run = fleet.play("site.yml", "--limit", "sys-1", **{variable: "magic"})
    assert run.status != 0
    assert variable in run.flat
