# SPDX-License-Identifier: Apache-2.0
"""The preflight as a playbook, with hosts that nobody can reach: what the inventory says is told all the same."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[3]
HOSTS: dict[str, Any] = {
    "mooncake_master": {"hosts": {"npu-1.invalid": {}}},
    "vllm": {"hosts": {"npu-1.invalid": {}, "npu-2.invalid": {}}},
}


def preflight(folder: Path, groups: dict[str, Any], *arguments: str, **variables: Any) -> str:
    """Run it on an inventory; return its output with every run of white space as one blank."""
    inventory = {
        "all": {
            "children": groups,
            "vars": {
                "release_name": "cpu",
                "ansible_ssh_common_args": "-o ConnectTimeout=1",
                **variables,
            },
        }
    }
    (folder / "hosts").write_text(yaml.safe_dump(inventory))
    done = subprocess.run(
        ["ansible-playbook", "preflight.yml", "-i", str(folder / "hosts"), *arguments],
        cwd=ROOT,
        env={**os.environ, "ANSIBLE_NOCOLOR": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stdout
    return " ".join(done.stdout.split())


def test_a_variable_of_the_preflight_that_is_no_number_hides_nothing(tmp_path: Path) -> None:
    told = preflight(
        tmp_path,
        {**HOSTS, "racks": {"hosts": {"stray.invalid": {}}}},
        preflight_clock_skew_seconds="soon",
        preflight_skip=["clokc"],
        site_http_proxy="bob:S3cretPw@proxy",
        site_ca_files=["/none.pem"],
        mooncake_master_port=1,
    )
    for words in (
        "preflight_clock_skew_seconds can't be used: 'soon' is no float.",
        "preflight_skip can't be used: 'clokc' is none of its values; did you mean clock? Expected",
        "site_http_proxy: '***@proxy' does not begin with http:// or https://.",
        "site_ca_files: /none.pem on the control node is not there.",
        "mooncake_master_port does nothing",
        "ERROR reachable npu-1.invalid",
        "and left alone: stray.invalid",
        "since no host could be looked at: mooncake_versions",
    ):
        assert words in told
    assert "S3cretPw" not in told


def test_what_to_skip_may_be_a_text(tmp_path: Path) -> None:
    told = preflight(
        tmp_path, HOSTS, "-e", "preflight_skip=clock,reachable", mooncake_master_port=1
    )
    assert "as preflight_skip asks: clock, reachable" in told
    assert "ERROR reachable" not in told


def test_a_mistyped_group_is_an_error(tmp_path: Path) -> None:
    groups = {"mooncake_masters": HOSTS["mooncake_master"], "vllm": HOSTS["vllm"]}
    told = preflight(tmp_path, groups, mooncake_master_address="npu-1.invalid")
    assert (
        "ERROR inventory all hosts the inventory has a group mooncake_masters, which nothing"
        in told
    )


@pytest.mark.parametrize("where", ["/nonexistent/findings.json", "{folder}"])
def test_a_report_that_can_not_be_written_is_told_before_hosts_are_asked(
    tmp_path: Path, where: str
) -> None:
    path = where.replace("{folder}", str(tmp_path))
    told = preflight(tmp_path, HOSTS, "-e", json.dumps({"preflight_report_file": path}))
    assert f"preflight_report_file: {path} on the control node can't be written" in told
    assert "ERROR reachable" not in told
