# SPDX-License-Identifier: Apache-2.0
"""What dpkg and rpm answer, and which packages are missing by it."""

from __future__ import annotations

import shutil
import subprocess

from ansible_collections.kvcache.ascend.plugins.module_utils import os_packages

DPKG = (
    "bash\tinstalled\t\n"
    "libcurl4t64\tinstalled\tlibcurl4 (= 8.5.0-2ubuntu10)\n"
    "mailx\tinstalled\tmail-reader, imap-client\n"
    "removed\tconfig-files\t\n"
)


def test_dpkg_installed_provided_removed_and_absent() -> None:
    names = ["bash", "libcurl4", "imap-client", "removed", "absent"]
    assert os_packages.missing_from_dpkg(DPKG, names) == ["removed", "absent"]


def test_dpkg_for_real() -> None:
    assert shutil.which("dpkg-query"), "this test machine must be a Debian or Ubuntu"
    text = subprocess.run(os_packages.DPKG_QUERY, check=True, capture_output=True, text=True).stdout
    assert os_packages.missing_from_dpkg(text, ["dpkg", "no-such-package"]) == ["no-such-package"]


def test_rpm_answers() -> None:
    text = "bash\nno package provides libibverbs\nnumactl-libs\n"
    names = ["bash", "libibverbs", "numactl-libs"]
    assert os_packages.missing_from_rpm(text, names) == ["libibverbs"]
    assert os_packages.rpm_query(["bash"])[-1] == "bash"
