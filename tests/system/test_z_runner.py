# SPDX-License-Identifier: Apache-2.0
"""Each job template as tower and AWX run it: through ansible-runner, on a copy of the project, with a survey's variables."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Iterator

import pytest
import yaml
from conftest import ROOT, Fleet, on_host

sys.path.insert(0, str(ROOT / "tests" / "unit"))
from awx_configuration import questions, templates

TEMPLATES = templates()
BUILDS = "/opt/kvcache/mooncake"
# Two full-attention layers, so that the plan is easily worked out by hand.
MODEL = {
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 512,
    "num_attention_heads": 8,
    "num_hidden_layers": 2,
    "num_key_value_heads": 2,
    "torch_dtype": "bfloat16",
}


@dataclass
class Job:
    """A finished job, as AWX gets it from the runner."""

    status: int
    events: list[dict[str, Any]]
    home: Path

    @property
    def artifacts(self) -> dict[str, Any]:
        """What the playbook has published; AWX shows it, and gives it to the next node of a workflow."""
        (last,) = (each for each in self.events if each["event"] == "playbook_on_stats")
        found: dict[str, Any] = last["event_data"]["artifact_data"]
        return found

    @property
    def hosts(self) -> set[str]:
        """Those that the job has touched; a line of output that belongs to no task has no data."""
        return {event.get("event_data", {}).get("host") for event in self.events} - {None}

    def tasks(self, kind: str) -> list[tuple[str, dict[str, Any]]]:
        return [
            (event["event_data"]["task"], event["event_data"]["res"])
            for event in self.events
            if event["event"] == kind
        ]

    @property
    def changed(self) -> list[str]:
        return [name for name, result in self.tasks("runner_on_ok") if result.get("changed")]


@pytest.fixture
def runner(fleet: Fleet, tmp_path: Path) -> Iterator[Path]:
    """A runner's private folder, laid out as AWX does: project, inventory, env, and a short path for SSH's sockets."""
    private = tmp_path / "runner"
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    for name in filter(None, listed.split("\0")):
        source, copy = ROOT / name, private / "project" / name
        if source.is_symlink() or source.exists():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, copy, follow_symlinks=False)
    (private / "env").mkdir()
    (private / "inventory").mkdir()
    shutil.copy2(fleet.folder / "hosts", private / "inventory" / "hosts")
    with tempfile.TemporaryDirectory() as sockets:
        (private / "env" / "envvars").write_text(
            yaml.safe_dump({"ANSIBLE_SSH_CONTROL_PATH_DIR": sockets})
        )
        yield private


def build_in_use(host: str) -> str:
    return on_host(host, f"basename $(readlink {BUILDS}/current)").strip()


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}


def launch(private: Path, name: str, limit: str = "", job_type: str = "", **answered: Any) -> Job:
    """Run a template as AWX does: its options, what was answered, an empty home."""
    template = TEMPLATES[name]
    (private / "env" / "extravars").write_text(yaml.safe_dump({"ansible_user": "ops", **answered}))
    home = private / "home"
    home.mkdir()
    options = [f"--forks {template['forks']}"]
    options += ["--check"] if (job_type or template["job_type"]) == "check" else []
    options += ["--diff"] if template["diff_mode"] else []
    command = ["ansible-runner", "run", str(private), "--ident", "job", "--quiet"]
    command += ["--playbook", template["playbook"], "--cmdline", " ".join(options)]
    command += ["--limit", limit] if limit else []
    before = files(private / "project")
    done = subprocess.run(
        command, env=dict(os.environ, ANSIBLE_NOCOLOR="1", HOME=str(home)), check=False
    )
    assert files(private / "project") == before, "a job writes into the project"
    folder = private / "artifacts" / "job" / "job_events"
    listed = sorted(folder.glob("*.json"), key=lambda path: int(path.name.split("-")[0]))
    return Job(done.returncode, [json.loads(path.read_text()) for path in listed], home)


def test_site_brings_the_hosts_up_and_tells_versions_and_a_verdict(runner: Path) -> None:
    asked = {question["variable"] for question in questions(TEMPLATES["kvcache site"])}
    answered: dict[str, Any] = {
        "vllm_prune": "false",
        "vllm_wait_seconds": 1800,
        "preflight_fail_on_warnings": "false",
    }
    assert set(answered) <= asked
    # Host after host: what is published holds the hosts of all turns.
    job = launch(runner, "kvcache site", mooncake_serial=1, **answered)
    assert job.status == 0, job.tasks("runner_on_failed")
    assert job.hosts == {"sys-1", "sys-2"}
    assert set(job.artifacts["kvcache_master"]) == {"sys-1", "sys-2"}
    for told in job.artifacts["kvcache_master"].values():
        assert told["verdict"] == "ok"
        assert told["versions"]["release"] == "cpu"
        assert [finding["severity"] for finding in told["findings"]] == ["ok"]
    assert job.artifacts["kvcache_preflight"]["error_count"] == 0
    # In the home of a job that is gone afterwards, nothing but Ansible's own files may be.
    written = {name for name in files(job.home) if not name.startswith(".ansible/")}
    assert {name for name in written if not name.startswith(".cache/kvcache/")} == set()


def test_drift_of_a_host_under_limit_is_none_after_site(runner: Path) -> None:
    job = launch(runner, "kvcache drift", limit="sys-2")
    assert job.status == 0
    assert job.hosts == {"sys-2"}
    assert job.changed == []


def test_rollback_switches_to_what_is_there_and_refuses_what_is_not(runner: Path) -> None:
    """To a build that was copied under another name, and to one that nobody has."""
    used = {host: build_in_use(host) for host in ("sys-1", "sys-2")}
    older = f"{used['sys-1']}-older"
    for host, name in used.items():
        on_host(
            host,
            f"cd {BUILDS} && cp -a {name} {older} && sed -i 's/{name}/{older}/g' {older}/manifest.json",
        )
    for name, status, now in ((older, 0, {older}), ("0.3.12-000000000000", 2, {older})):
        job = launch(runner, "kvcache rollback", mooncake_build_id=name)
        assert job.status == status, job.tasks("runner_on_failed")
        assert {build_in_use(host) for host in used} == now
        shutil.rmtree(runner / "home")
        shutil.rmtree(runner / "artifacts")
    messages = [result["msg"] for _task, result in job.tasks("runner_on_failed")]
    assert any("neither on this host nor in mooncake_store" in message for message in messages)


def test_evaluate_as_a_check_says_what_would_be_measured(runner: Path) -> None:
    instances = [{"name": "a", "model": "/srv/models/tiny", "port": 8100, "pool": False}]
    job = launch(
        runner,
        "kvcache evaluate",
        job_type="check",
        vllm_instances=instances,
        evaluate_documents=[2, 4],
        evaluate_document_tokens=1000,
        evaluate_max_hours=1.5,
        evaluate_again="false",
    )
    assert job.status == 0, job.tasks("runner_on_failed")
    # Two rounds of six documents, and two passes that warm up.
    said = [result.get("msg", "") for _task, result in job.tasks("runner_on_ok")]
    assert any("2 of 2 steps would be measured, 24 requests" in str(text) for text in said), said
    assert job.changed == []


def test_verify_tells_a_failure_by_an_event_and_by_artifacts(runner: Path) -> None:
    job = launch(
        runner, "kvcache verify", mooncake_master_rpc_port=1, mooncake_master_wait_seconds=2
    )
    assert job.status != 0
    messages = [result["msg"] for _task, result in job.tasks("runner_on_failed")]
    assert any("sys-1:1 refused the connection" in message for message in messages)
    told = job.artifacts["kvcache_master"]["sys-2"]
    assert told["verdict"] == "failed"
    assert told["address"] == "sys-1:1"
    assert "error" in [finding["severity"] for finding in told["findings"]]


def test_preflight_reads_what_a_survey_answers(runner: Path) -> None:
    """Two words for yes and no, and a list; and a warning that ends the run only when that was asked for."""
    job = launch(
        runner,
        "kvcache preflight",
        release_name="cpu",
        preflight_skip=["disk", "memory"],
        preflight_memroy_reserve="1GiB",
        preflight_fail_on_warnings="true",
    )
    told = job.artifacts["kvcache_preflight"]
    assert told["error_count"] == 0
    assert [each["check"] for each in told["findings"] if each["severity"] == "warning"]
    assert {"disk", "memory"} <= {each["check"] for each in told["not_checked"]}
    assert job.status != 0, "warnings were to end the run"


def test_plan_looks_at_no_host(runner: Path) -> None:
    (runner / "project" / "config.json").write_text(json.dumps(MODEL))
    job = launch(
        runner,
        "kvcache plan",
        plan_model_config=str(runner / "project" / "config.json"),
        plan_kv_cache_tokens=100_000,
        plan_segment_size="1GiB",
    )
    assert job.status == 0, job.tasks("runner_on_failed")
    assert job.hosts == {"localhost"}
    # Two layers, a key and a value, two heads of 64 numbers of two bytes.
    assert "1,024 bytes" in str(job.tasks("runner_on_ok"))
    assert job.artifacts["plan"]
