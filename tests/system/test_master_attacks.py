# SPDX-License-Identifier: Apache-2.0
"""What people and other programs do to a running master, and what the next run makes of it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Iterator

import pytest
from conftest import Fleet, connection, has_mooncake, on_host

ROLE = "playbooks/mooncake_master.yml"
UNIT = "mooncake-master.service"
DROP_IN = f"/etc/systemd/system/{UNIT}.d/by-hand.conf"


def state(property_name: str) -> str:
    return on_host("sys-1", f"systemctl show --value --property {property_name} {UNIT}").strip()


@contextmanager
def on_master(do: str, undo: str) -> Iterator[None]:
    """Do something to the master's host as root, and put it right whatever comes."""
    on_host("sys-1", do)
    try:
        yield
    finally:
        on_host("sys-1", undo)


@pytest.fixture(scope="module", autouse=True)
def installed(hosts: None, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The master as the tests before leave it, or installed here when this file runs alone."""
    if has_mooncake("sys-1", "sys-2") and state("ActiveState") == "active":
        return
    made = Fleet(tmp_path_factory.mktemp("installed"), connection())
    made.inventory(["sys-1"], ["sys-1", "sys-2"])
    run = made.play("site.yml")
    assert run.status == 0, run.output


def test_a_user_that_was_removed_is_made_again_and_the_master_restarted(fleet: Fleet) -> None:
    before = state("MainPID")
    on_host("sys-1", "userdel --force mooncake; ! id mooncake")
    run = fleet.play(ROLE)
    assert run.status == 0, run.output
    assert state("MainPID") != before
    assert on_host("sys-1", f"stat --format=%U /proc/{state('MainPID')}").strip() == "mooncake"


def test_a_master_that_is_halted_is_named_as_such(fleet: Fleet) -> None:
    signal = f"systemctl kill --kill-who=main --signal={{}} {UNIT}"
    with on_master(signal.format("STOP"), signal.format("CONT")):
        run = fleet.play(ROLE, mooncake_master_wait_seconds=2)
    assert run.status != 0
    assert "accepts connections but gives no answer" in run.flat
    assert "is halted by a signal or a debugger. Fix: let it go on" in run.flat


def test_a_folder_that_the_service_may_not_enter_is_found_before_the_restart(fleet: Fleet) -> None:
    before = state("MainPID")
    with on_master("chmod 0700 /opt/kvcache", "chmod 0755 /opt/kvcache"):
        run = fleet.play(ROLE, mooncake_master_rpc_thread_num=8)
    assert run.status != 0
    assert "user mooncake can not run /opt/kvcache/mooncake/current/bin/mooncake_master" in run.flat
    assert "Permission denied" in run.flat
    assert state("MainPID") == before


def test_an_address_of_another_host_is_not_bound(fleet: Fleet) -> None:
    before = state("MainPID")
    run = fleet.play(ROLE, mooncake_master_bind_address="192.0.2.9")
    assert run.status != 0
    assert (
        "the host can not listen on 192.0.2.9 (Cannot assign requested address). Fix:" in run.flat
    )
    assert state("MainPID") == before


def test_a_masked_unit_is_left_alone_and_named(fleet: Fleet) -> None:
    unit = f"/etc/systemd/system/{UNIT}"
    mask = f"systemctl stop {UNIT}; mv {unit} /root/; systemctl mask {UNIT}"
    unmask = f"systemctl unmask {UNIT}; mv /root/{UNIT} {unit}; systemctl daemon-reload; systemctl start {UNIT}"
    with on_master(mask, unmask):
        run = fleet.play(ROLE)
        assert on_host("sys-1", f"readlink {unit}").strip() == "/dev/null"
    assert run.status != 0
    assert f"{UNIT} is masked, so nobody can start it. Fix: sudo systemctl unmask" in run.flat


def test_a_drop_in_that_breaks_the_service_is_named(fleet: Fleet) -> None:
    write = f"mkdir -p $(dirname {DROP_IN}) && printf '[Service]\\nUser=nobody-here\\n' > {DROP_IN}"
    remove = f"rm -r $(dirname {DROP_IN}); systemctl daemon-reload; systemctl reset-failed {UNIT}; systemctl restart {UNIT}"
    with on_master(write, remove):
        run = fleet.play(ROLE, mooncake_master_rpc_thread_num=16, mooncake_master_wait_seconds=4)
    assert run.status != 0
    assert "On the master itself: its user does not exist" in run.flat
    assert f"Its unit is changed by {DROP_IN}." in run.flat


def test_a_port_that_is_taken_after_the_check_names_who_took_it(fleet: Fleet) -> None:
    """The master has the ports at the check, and loses them to a quicker program when it is restarted."""
    take = (
        'systemd-run --unit squatter --quiet python3 -c "\nimport socket, time\nwhile True:\n  try:\n'
        "    s = socket.create_server(('0.0.0.0', 50088))\n    time.sleep(3600)\n  except OSError:\n    pass\n\""
    )
    end = f"systemctl stop squatter; systemctl reset-failed {UNIT}; systemctl restart {UNIT}"
    with on_master(take, end):
        run = fleet.play(ROLE, mooncake_master_rpc_thread_num=8, mooncake_master_wait_seconds=4)
    assert run.status != 0
    assert "port 50088 (mooncake_master_rpc_port) is taken by python3" in run.flat
    assert "squatter.service). Fix: stop it" in run.flat


def test_another_rpc_port_closes_the_old_one(fleet: Fleet) -> None:
    run = fleet.play(ROLE, mooncake_master_rpc_port=50099)
    assert run.status == 0, run.output
    assert "sys-1:50099 is a Mooncake master and serves" in run.flat
    listening = on_host("sys-1", "awk '$4 == \"0A\" {print $2}' /proc/net/tcp")
    assert f":{50099:04X}" in listening
    assert f":{50088:04X}" not in listening


def test_after_all_this_one_run_puts_it_right_and_the_next_changes_nothing(fleet: Fleet) -> None:
    run = fleet.play(ROLE)
    assert run.status == 0, run.output
    assert "sys-1:50088 is a Mooncake master and serves" in run.flat
    again = fleet.play(ROLE, "--check")
    assert again.counts("sys-1")["changed"] == 0, again.output
