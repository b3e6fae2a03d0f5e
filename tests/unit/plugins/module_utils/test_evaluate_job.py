# SPDX-License-Identifier: Apache-2.0
"""What is told of the program that sends the load, and the program itself, with a small server and no vLLM."""

from __future__ import annotations

import importlib.util
import json
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.kvcache.ascend.plugins.module_utils import (
    evaluate_job,
    evaluate_results,
)
from evaluations import CONFIG, METRICS, exposition
from loopback_servers import serve

ROOM = 1 << 30
PROGRAM = Path(__file__).parents[4] / "roles/evaluate/files/load.py"


def test_progress_says_the_step_and_what_is_left() -> None:
    log = "=== load: …\nprogress: 0 the load generator is loading\nprogress: 1 8 documents\n"
    seen = evaluate_job.progress(log)
    assert seen == {"done": 1, "what": "8 documents"}
    assert evaluate_job.progress_text(seen, [4, 8, 12], 2, 60, 6.0) == (
        "8 documents (step 2 of 3); at most 10 min left in all"
    )


def test_before_the_first_line_it_begins() -> None:
    assert evaluate_job.progress("") == {"done": 0, "what": "begins"}


@pytest.mark.parametrize(
    ("log", "told"),
    [
        ("x\nfailed: /opt/python has no load generator: no vllm\n", "install the stack there"),
        ("failed: all 4 requests of round 1 failed: Not Found\n", "the longest context"),
        ("Traceback\nMemoryError: no room\n", "MemoryError: no room. Fix: see its log"),
        ("=== load: x\nprogress: 1 8 documents\n", "it ended with status 1. Fix: see its log"),
        ("", "it ended with status 1"),
    ],
)
def test_an_early_end_is_told_with_its_fix(log: str, told: str) -> None:
    assert told in evaluate_job.failure(log, 1, ROOM)


@pytest.mark.parametrize("status", [None, 137, -9])
def test_who_was_killed_is_told_apart_from_who_had_no_room(status: int | None) -> None:
    log = "progress: 1 8 documents\n"
    assert "early: it was killed. Fix: look" in evaluate_job.failure(log, status, ROOM)
    assert "early: the disk is full. Fix: free" in evaluate_job.failure(log, status, 0)
    said = f"{log}OSError: [Errno 28] No space left on device\n"
    assert "early: the disk is full. Fix: free" in evaluate_job.failure(said, status, ROOM)


def test_a_result_begins_a_line_also_behind_half_a_line(load: Any, tmp_path: Path) -> None:
    results = tmp_path / "results.jsonl"
    first: dict[str, Any] = {"key": "k", "documents": 4, "rounds": []}
    second = {**first, "documents": 8}
    load.append(results, first)
    with results.open("a") as handle:
        handle.write('{"key": "k", "documents": 6, "ro')
    load.append(results, second)
    load.append(results, first)
    assert evaluate_results.parse(results.read_text()) == [first, second, first]


@pytest.fixture(name="load")
def _load() -> Any:
    spec = importlib.util.spec_from_file_location("load", PROGRAM)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    vars(module)["SETTLE_SECONDS"] = 0.5
    return module


class Instance:
    """What the program reads of an instance, over HTTP; what it was asked is in `asked`."""

    def __init__(self, config: str = CONFIG) -> None:
        self.asked: list[str] = []
        self.config = config
        self.metrics = exposition(0, 0, 0)
        self.paths: dict[str, Any] = {
            "/reset_prefix_cache": {"post": {"parameters": [{"name": "reset_external"}]}}
        }

    def answer(self, connection: socket.socket) -> None:
        line = connection.recv(65536).decode().splitlines()[0]
        method, path, _version = line.split()
        if method == "POST":
            self.asked.append(path)
        body = {
            "/metrics": f"{self.config}\n{self.metrics}\nmaster_total_capacity_bytes 1048576",
            "/openapi.json": json.dumps({"paths": self.paths}),
        }.get(path, "{}")
        connection.sendall(
            f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}".encode()
        )


def plan(port: int, **changes: Any) -> dict[str, Any]:
    names = [name for name in METRICS.values() if isinstance(name, str)]
    return {
        "url": f"http://127.0.0.1:{port}",
        "master": f"127.0.0.1:{port}",
        "model": "m",
        "tokenizer": "/m",
        "key": "k",
        "variant": "v",
        "rounds": 2,
        "warmups": 2,
        "document_tokens": 1031,
        "output_tokens": 2,
        "concurrency": 1,
        "seed": "s",
        "pool": True,
        "metrics": names,
        "needs_caching": True,
        **changes,
    }


def generate_for(instance: Instance, seen: list[list[str]], errors: int = 0) -> Any:
    """Answer as the generator does, and let the instance count what a cold and then a warm round costs."""

    def generate(options: list[str]) -> dict[str, Any]:
        seen.append(options)
        documents = int(next(each for each in options if "num-prompts" in each).split("=")[1])
        cold = len(seen) == 1
        instance.metrics = (
            exposition(1031 * documents, 0, 0)
            if cold
            else exposition(1038 * documents, 0, 1024 * documents)
        )
        return {
            "duration": 1.5,
            "ttfts": [0.2] * documents,
            "errors": ["Internal Server Error"] * errors + [""] * (documents - errors),
        }

    return generate


def test_a_step_begins_with_empty_caches_and_keeps_what_was_counted(load: Any) -> None:
    instance, seen = Instance(), []  # type: ignore[var-annotated]
    with serve(instance.answer) as port:
        wanted = plan(port)
        assert load.can_reset(wanted)
        record = load.one_step(wanted, generate_for(instance, seen), 4, reset=True)
    assert instance.asked == ["/reset_prefix_cache?reset_external=true"]
    assert record["start"] == "reset"
    # Both rounds send the same documents.
    assert seen[0] == seen[1]
    row = evaluate_results.row(json.loads(json.dumps(record)), METRICS)
    assert [each["pool"] for each in row["rounds"]] == [0, 4096]
    assert evaluate_results.pool_capacity(record) == 1 << 20
    assert evaluate_results.cache_tokens(record) == 7168


def test_an_instance_that_can_not_empty_the_pool_is_warmed_up(load: Any) -> None:
    instance, seen = Instance(), []  # type: ignore[var-annotated]
    instance.paths["/reset_prefix_cache"]["post"].pop("parameters")
    with serve(instance.answer) as port:
        assert not load.can_reset(plan(port))
        assert load.can_reset(plan(port, pool=False))
        record = load.one_step(plan(port), generate_for(instance, seen), 4, reset=False)
    assert instance.asked == []
    assert record["start"] == "2 passes discarded"
    seeds = [next(each for each in options if "--seed" in each) for options in seen]
    assert len(set(seeds[:3])) == 3 and seeds[2] == seeds[3]


def test_requests_that_fail_are_kept_apart(load: Any) -> None:
    instance = Instance()
    with serve(instance.answer) as port:
        record = load.one_step(plan(port), generate_for(instance, [], errors=1), 4, reset=True)
    assert record["rounds"][0]["errors"] == ["Internal Server Error"]
    assert len(record["rounds"][0]["ttft_seconds"]) == 3


def test_a_round_in_which_all_fail_ends_the_sweep(load: Any) -> None:
    instance = Instance()
    with serve(instance.answer) as port, pytest.raises(load.Failed, match="all 4 requests"):
        load.one_step(plan(port), generate_for(instance, [], errors=4), 4, reset=True)


def test_an_instance_that_is_gone_is_told(load: Any) -> None:
    with pytest.raises(load.Failed, match="does not answer"):
        load.counted(plan(9))


def run_program(load: Any, monkeypatch: pytest.MonkeyPatch, folder: Path, wanted: Any) -> str:
    """All of the program with a plan; returns what it ended with, empty when all went well."""
    (folder / "sweep.json").write_text(json.dumps(wanted))
    monkeypatch.setattr("sys.argv", ["load.py", str(folder / "sweep.json")])
    try:
        load.main()
    except SystemExit as error:
        return str(error)
    return ""


def test_steps_that_are_done_are_kept_when_a_later_one_fails(
    load: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    instance = Instance()

    def generate(options: list[str]) -> dict[str, Any]:
        failing = 8 if "--num-prompts=8" in options else 0
        return generate_for(instance, [], errors=failing)(options)

    monkeypatch.setattr(load, "generator", lambda: generate)
    results = tmp_path / "results.jsonl"
    with serve(instance.answer) as port:
        wanted = plan(port, documents=[4, 8, 12], start="auto", results=str(results))
        told = run_program(load, monkeypatch, tmp_path, wanted)
        assert told == "failed: all 8 requests of round 1 failed: Internal Server Error"
        assert [each["documents"] for each in evaluate_results.parse(results.read_text())] == [4]
        assert evaluate_job.progress(capsys.readouterr().out) == {"done": 1, "what": "8 documents"}
        assert run_program(load, monkeypatch, tmp_path, {**wanted, "documents": [12]}) == ""
    assert [each["documents"] for each in evaluate_results.parse(results.read_text())] == [4, 12]
    assert evaluate_job.progress(capsys.readouterr().out) == {"done": 1, "what": "done"}


@pytest.mark.parametrize(("needs_caching", "documents"), [(True, []), (False, [4])])
def test_an_instance_that_caches_no_prefixes_is_measured_only_when_that_does_not_matter(
    load: Any,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    needs_caching: bool,
    documents: list[int],
) -> None:
    instance = Instance(CONFIG.replace('"True"', '"False"'))
    monkeypatch.setattr(load, "generator", lambda: generate_for(instance, []))
    results = tmp_path / "results.jsonl"
    results.touch()
    with serve(instance.answer) as port:
        wanted = plan(port, documents=[4], start="auto", results=str(results))
        told = run_program(load, monkeypatch, tmp_path, {**wanted, "needs_caching": needs_caching})
    assert [each["documents"] for each in evaluate_results.parse(results.read_text())] == documents
    assert told.startswith("failed: prefix caching is off") is needs_caching
    fixed = "see why in the instance's journal" in evaluate_job.failure(told, 1, ROOM)
    assert fixed is needs_caching


def test_an_instance_that_shall_empty_its_caches_and_can_not_is_told(
    load: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    instance = Instance()
    instance.paths.clear()
    monkeypatch.setattr(load, "generator", lambda: None)
    with serve(instance.answer) as port:
        wanted = plan(port, documents=[4], start="reset", results=str(tmp_path / "results"))
        told = run_program(load, monkeypatch, tmp_path, wanted)
    assert told.startswith("failed: the instance can not empty its caches")
    assert "give evaluate_start: warmup" in evaluate_job.failure(told, 1, ROOM)


def test_a_python_without_vllm_has_no_load_generator(tmp_path: Path) -> None:
    """The program itself, with the Python that runs this test."""
    (tmp_path / "sweep.json").write_text(json.dumps(plan(9)))
    done = subprocess.run(
        [sys.executable, "-I", str(PROGRAM), str(tmp_path / "sweep.json")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert f"failed: {sys.executable} has no load generator: " in done.stderr
    assert "install the stack there" in evaluate_job.failure(done.stderr, done.returncode, ROOM)
