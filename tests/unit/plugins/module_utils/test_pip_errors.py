# SPDX-License-Identifier: Apache-2.0
"""The cause and fix that are read from pip's output. The outputs are in pip's words, shortened."""

from __future__ import annotations

import pytest
from ansible_collections.kvcache.ascend.plugins.module_utils import pip_errors

NO_NETWORK = """\
WARNING: Retrying (Retry(total=1, ...)) after connection broken by 'NewConnectionError(...): Name or service not known'
ERROR: Could not find a version that satisfies the requirement x==1 (from versions: none)
ERROR: No matching distribution found for x==1
"""


@pytest.mark.parametrize(
    ("output", "cause", "fix"),
    [
        (
            "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device",
            "the disk is full",
            "df -h /opt/kvcache/mooncake",
        ),
        (NO_NETWORK, "can't be reached", "mooncake_wheel_dir"),
        (
            NO_NETWORK.replace("Name or service not known", "CERTIFICATE_VERIFY_FAILED"),
            "certificate",
            "site_ca_files",
        ),
        (
            "ERROR: No matching distribution found for x==1",
            "has no such wheel",
            "site_package_index_url",
        ),
        (
            "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.",
            "sha256 differs",
            "never skip",
        ),
        ("ERROR: HTTP error 403 Client Error: Forbidden", "refused access", "password"),
        ("The virtual environment ... ensurepip is not available.", "virtual env", "python3-venv"),
    ],
)
def test_known_causes(output: str, cause: str, fix: str) -> None:
    text = pip_errors.explain(output, "/opt/kvcache/mooncake")
    assert cause in text.split("Fix:")[0]
    assert fix in text.split("Fix:")[1]


def test_an_unknown_cause_is_passed_on_in_pips_words() -> None:
    text = pip_errors.explain("a line\nERROR: the moon is full\nmore", "/opt")
    assert text.startswith("ERROR: the moon is full Fix:")


def test_no_output_at_all() -> None:
    assert pip_errors.explain("", "/opt").startswith("it said nothing Fix:")
