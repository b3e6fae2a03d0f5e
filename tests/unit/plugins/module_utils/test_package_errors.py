# SPDX-License-Identifier: Apache-2.0
"""Causes in what apt and dnf printed on real hosts."""

from __future__ import annotations

import pytest
from ansible_collections.kvcache.ascend.plugins.module_utils import os_packages, package_errors

LISTS = (
    "Failed to lock apt for exclusive operation: Failed to lock directory /var/lib/apt/lists/: "
    "E:Could not get lock /var/lib/apt/lists/lock. It is held by process 5737 (python3)"
)
FRONTEND = (
    "'/usr/bin/apt-get -y install 'libnuma1=2.0.16-1'' failed: E: Unable to acquire the dpkg frontend lock "
    "(/var/lib/dpkg/lock-frontend), is another process using it?\n"
)
INTERRUPTED = (
    "'/usr/bin/apt-get -y install 'libnuma1=2.0.16-1'' failed: E: dpkg was interrupted, you must manually run "
    "'sudo dpkg --configure -a' to correct the problem. \n"
)


@pytest.mark.parametrize(
    ("text", "cause", "fix"),
    [
        (LISTS, "another package manager is at work on the host (waited 30 s)", "ps -ef"),
        (FRONTEND, "another package manager is at work", "site_package_lock_timeout"),
        (INTERRUPTED, "packages on the host are half installed", "dpkg --configure -a"),
        (
            "E: You don't have enough free space in /var/cache/apt/archives/.",
            "the disk is full",
            "df -h",
        ),
        ("No package matching 'libnuma9' is available", "no repository of the host has", "mirror"),
        ("E: Unable to locate package libnuma9", "no repository of the host has", "mirror"),
        (
            "E: Failed to fetch http://m/x.deb  Temporary failure resolving 'm'\nE: Unable to fetch some archives",
            "a repository can't be reached",
            "site_http_proxy",
        ),
        (
            "W: GPG error: http://m x: NO_PUBKEY 0E98404D386FA1D9",
            "is not signed by a key",
            "signed_by",
        ),
        (
            "Curl error (6): Couldn't resolve host name for http://m/repodata",
            "can't be reached",
            "mirror",
        ),
        ("something new", "something new. Fix: make these packages reachable", "mirror"),
    ],
)
def test_cause_and_fix(text: str, cause: str, fix: str) -> None:
    told = package_errors.explain(text, 30)
    assert cause in told
    assert fix in told.split("Fix: ")[1]


def test_the_programs_own_words_are_kept_without_the_command() -> None:
    told = package_errors.explain(FRONTEND, 30)
    assert "is another process using it?" in told
    assert "/usr/bin/apt-get" not in told


def test_only_a_lock_is_worth_waiting_for() -> None:
    assert package_errors.is_locked(LISTS)
    assert package_errors.is_locked(FRONTEND)
    assert not package_errors.is_locked(INTERRUPTED)


def test_dpkgs_journal() -> None:
    assert os_packages.dpkg_was_interrupted(["tmp.i", "0003"])
    assert not os_packages.dpkg_was_interrupted(["tmp.i"])
    assert not os_packages.dpkg_was_interrupted([])
