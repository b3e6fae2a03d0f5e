# SPDX-License-Identifier: Apache-2.0
"""What the end of a master's journal says of its cause, in the words of real masters, the linker and systemd."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.kvcache.ascend.plugins.module_utils import mooncake_master_journal

ROOT = "/srv/mooncake"
UNIT = "mooncake-master.service"

# As a real 0.3.13 writes when it starts: information only, whatever happens then.
START = f"""\
Starting {UNIT} - Mooncake master...
Started {UNIT} - Mooncake master.
WARNING: Logging before InitGoogleLogging() is written to STDERR
I1130 10:17:11.928558  5063 master.cpp:1522] Master service started on port 50088, max_threads=32
I1130 10:17:12.035315  5081 master_admin_service.cpp:301] Master Admin Metrics: role=leader, state=serving
"""
STOP = f"""\
Stopping {UNIT} - Mooncake master...
I1130 10:16:57.591969  4711 master.cpp:1683] Shutdown signal received, exiting gracefully
I1130 10:16:57.593286  4720 master_service.cpp:2619] Task cleanup thread stopped
{UNIT}: Deactivated successfully.
Stopped {UNIT} - Mooncake master.
"""
END = f"""\
{UNIT}: Main process exited, code=exited, status=1/FAILURE
{UNIT}: Failed with result 'exit-code'.
{UNIT}: Scheduled restart job, restart counter is at 1.
Stopped {UNIT} - Mooncake master.
"""
NO_EXEC = f"""\
Starting {UNIT} - Mooncake master...
{UNIT}: Failed to execute /srv/mooncake/current/bin/mooncake_master: Permission denied
{UNIT}: Failed at step EXEC spawning /srv/mooncake/current/bin/mooncake_master: Permission denied
{UNIT}: Main process exited, code=exited, status=203/EXEC
{UNIT}: Failed with result 'exit-code'.
Failed to start {UNIT} - Mooncake master.
"""
TOO_OFTEN = f"""\
{UNIT}: Start request repeated too quickly.
{UNIT}: Failed with result 'exit-code'.
Failed to start {UNIT} - Mooncake master.
"""
FATAL = f"""\
F1130 10:17:32.956437  5386 master.cpp:173] Mem eviction ratio must be between 0.0 and 1.0
*** Check failure stack trace: ***
    @     0x7f9e56d1  google::LogMessage::Fail()
{UNIT}: Main process exited, code=killed, status=6/ABRT
{UNIT}: Failed with result 'signal'.
"""


def explain(journal: str, **service: Any) -> str:
    text = mooncake_master_journal.explain(journal, ROOT, service)
    assert "Fix: " in text
    return text


@pytest.mark.parametrize(
    ("journal", "words"),
    [
        ("ERROR: unknown command line flag 'no_such_flag'", "does not know the flag no_such_flag"),
        (
            "mooncake_master: error while loading shared libraries: libibverbs.so.1: cannot open",
            "does not find the library libibverbs.so.1",
        ),
        (
            "m: /lib/libc.so.6: version `GLIBC_2.38' not found (required by m)",
            "C library is too old for it (version `GLIBC_2.38' not found)",
        ),
        (
            "E1130 Failed to start master admin server on 0.0.0.0:10022: Address already in use",
            "another process took its port",
        ),
        ("bind error: Cannot assign requested address", "mooncake_master_bind_address"),
        ("Main process exited, code=exited, status=203/EXEC", "look at /srv/mooncake/current"),
        (f"{UNIT}: Failed to load environment files: No such file", "master.env is missing"),
        (f"{UNIT}: Main process exited, code=exited, status=217/USER", "its user does not exist"),
        (f"{UNIT}: Main process exited, code=killed, status=9/KILL", "killed by signal 9"),
        (f"{UNIT}: Failed with result 'oom-kill'.", "memory ran out"),
        (f"{UNIT}: Main process exited, code=dumped, status=11/SEGV", "it crashed"),
        (
            START + FATAL,
            "refuses to start: Mem eviction ratio must be between 0.0 and 1.0. Fix: correct",
        ),
        (START + STOP, "it was stopped, by a person or another program. Fix: start it (sudo"),
        ("Stopping Mooncake master...\nStopped Mooncake master.\n", "it was stopped"),
        (START + END, "ends with status 1 and gives no reason"),
        ("first\nlast words\n\n", 'last line of its journal that tells anything is "last words"'),
        (f"last words\n{START}", 'that tells anything is "last words"'),
        (START, "its journal tells no cause"),
        ("", "its journal is empty"),
    ],
)
def test_cause_and_fix(journal: str, words: str) -> None:
    assert words in explain(journal)


def test_the_latest_cause_counts() -> None:
    journal = "ERROR: unknown command line flag 'old'\nbind: Address already in use\n"
    assert "took its port" in explain(journal)


def test_a_folder_that_its_user_may_not_enter_is_named() -> None:
    text = explain(NO_EXEC)
    assert "can't execute /srv/mooncake/current/bin/mooncake_master: Permission denied" in text
    assert "each folder of /srv/mooncake (namei -l)" in text
    assert "/opt/" not in text


def test_the_cause_of_failing_too_often_is_the_cause_before() -> None:
    text = explain(NO_EXEC + TOO_OFTEN, active="failed")
    assert "can't execute" in text
    assert "failed so often that systemd no longer restarts it" in text


def test_what_was_before_a_stop_has_been_dealt_with() -> None:
    assert "it was stopped" in explain(NO_EXEC + START + STOP, active="inactive")
    assert "no reason" in explain(NO_EXEC + START + STOP + START + END)


def test_a_service_that_runs_is_not_explained_by_its_past() -> None:
    text = explain(NO_EXEC + START, active="active", main_pid=7, main_state="S")
    assert "its service runs, and its journal tells nothing of it" in text


def test_a_halted_process_is_named() -> None:
    text = explain(NO_EXEC + START, active="active", main_pid=7, main_state="T")
    assert "its process 7 is halted" in text
    assert "--signal=CONT" in text


def test_who_has_the_port_now_counts_more_than_the_journal() -> None:
    taken = ["m-1: port 50088 is taken by nginx. Fix: stop it."]
    text = mooncake_master_journal.explain(START + END, ROOT, {"active": "activating"}, taken)
    assert text == taken[0]


def test_drop_ins_are_named() -> None:
    text = explain(START, active="active", drop_ins=["/etc/systemd/system/m.service.d/x.conf"])
    assert text.endswith("Its unit is changed by /etc/systemd/system/m.service.d/x.conf.")
