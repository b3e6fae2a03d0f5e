# SPDX-License-Identifier: Apache-2.0
"""The hosts of "make demo", as an operator and a client meet them: requests, counters, services, playbooks."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Iterator

from ansible_collections.kvcache.ascend.plugins.module_utils import prometheus_text
from ansible_collections.kvcache.ascend.tests.system.conftest import (
    PREFIX,
    ROOT,
    RUN_SECONDS,
    Run,
    on_host,
)

MASTER, STORE = "demo-1", "demo-2"
ADDRESS = {"demo-1": f"{PREFIX}.11", "demo-2": f"{PREFIX}.12"}
UNIT = "vllm@a"
PLAYBOOK = (str(Path(sys.executable).parent / "ansible-playbook"), "-i", "demo")
BLOCK = 128
"""Tokens of a block of vLLM's CPU build; the last token of a prompt is always computed."""
TOKENS = 1031
STORED = "master_batch_put_end_items_total"
"""The master's counter of objects that are there in full."""


def note(text: str) -> None:
    """A line of what was seen, for docs/what-happens-when.md."""
    print(f"seen: {text}", file=sys.stderr, flush=True)


def get(host: str, port: int, path: str) -> str:
    with urllib.request.urlopen(f"http://{ADDRESS[host]}:{port}{path}", timeout=10) as answer:
        return answer.read().decode()


@dataclass(frozen=True)
class Answer:
    seconds: float
    computed: int
    local: int
    pool: int


def prompt(seed: str, tokens: int) -> list[int]:
    chance = random.Random(seed)
    return [chance.randrange(3, 333) for word in range(tokens)]


def complete(host: str, seed: str, tokens: int = TOKENS, seconds: float = 60) -> float:
    """Send a prompt; return the seconds until its first token. Raises OSError when it is not answered."""
    body = json.dumps({"model": "tiny", "prompt": prompt(seed, tokens), "max_tokens": 1})
    request = urllib.request.Request(
        f"http://{ADDRESS[host]}:8100/v1/completions",
        data=body.encode(),
        headers={"Content-Type": "application/json"},
    )
    started = time.monotonic()
    with urllib.request.urlopen(request, timeout=seconds) as answer:
        json.load(answer)
    return time.monotonic() - started


def sources(host: str) -> dict[str, int]:
    found = {"local_compute": 0, "local_cache_hit": 0, "external_kv_transfer": 0}
    for sample in prometheus_text.parse(get(host, 8100, "/metrics")).samples:
        if sample.name == "vllm:prompt_tokens_by_source_total":
            found[sample.labels["source"]] = int(sample.value)
    return found


def ask(host: str, seed: str, tokens: int = TOKENS) -> Answer:
    """Send a prompt, and count where its tokens came from."""
    before = sources(host)
    seconds = complete(host, seed, tokens)
    after = sources(host)
    computed, local, pool = (
        after[name] - before[name]
        for name in ("local_compute", "local_cache_hit", "external_kv_transfer")
    )
    return Answer(round(seconds, 2), computed, local, pool)


def share(host: str, seed: str) -> Answer:
    """Send a prompt that is in no cache; return when the pool has its blocks, which are written after the answer."""
    before = of_the_pool(STORED)
    answer = ask(host, seed)
    until(lambda: of_the_pool(STORED) >= before + TOKENS // BLOCK, 30)
    return answer


def of_the_pool(name: str) -> int:
    """A metric of the master; 0 while it does not answer."""
    try:
        page = prometheus_text.parse(get(MASTER, 10022, "/metrics"))
    except OSError:
        return 0
    return int(page.value(name) or 0)


def capacity() -> int:
    return of_the_pool("master_total_capacity_bytes")


def is_healthy(host: str) -> bool:
    try:
        get(host, 8100, "/health")
    except OSError:
        return False
    return True


def longest_context(host: str) -> int:
    return int(json.loads(get(host, 8100, "/v1/models"))["data"][0]["max_model_len"])


def until(condition: Callable[[], Any], seconds: float) -> float:
    """Wait for a condition; return how long it took."""
    started = time.monotonic()
    while not condition():
        assert time.monotonic() - started < seconds, f"not within {seconds} s"
        time.sleep(0.2)
    return round(time.monotonic() - started, 1)


def main_pid(host: str) -> str:
    return on_host(host, f"systemctl show --value --property MainPID {UNIT}").strip()


def journal(host: str, unit: str, pattern: str, since: float) -> list[str]:
    """Lines of a service's journal since a time that match."""
    command = f"journalctl --unit {unit} --since @{int(since)} --output cat --no-pager"
    return [line for line in on_host(host, command).splitlines() if re.search(pattern, line)]


def answers_http(host: str, port: int) -> bool:
    try:
        get(host, port, "/")
    except OSError:
        return False
    return True


def play(*arguments: str) -> Run:
    done = subprocess.run(
        [*PLAYBOOK, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=RUN_SECONDS,
    )
    return Run(done.returncode, done.stdout + done.stderr)


def killed_when(condition: Callable[[], Any], *arguments: str) -> None:
    """Start a playbook, and kill it with all that it has started as soon as the condition holds."""
    with subprocess.Popen(
        [*PLAYBOOK, *arguments],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as running:
        try:
            until(lambda: condition() or running.poll() is not None, 120)
            assert running.returncode is None, "the run has ended before it could be killed"
        finally:
            os.killpg(running.pid, signal.SIGKILL)


def load(stop: Callable[[], bool], host: str, name: str) -> Iterator[tuple[float, float | None]]:
    """New prompts, one after the other: when each was sent, and the seconds until its answer, None without one."""
    number = 0
    while not stop():
        sent = time.monotonic()
        try:
            yield sent, complete(host, f"{name} {number}")
        except OSError:
            yield sent, None
        number += 1
