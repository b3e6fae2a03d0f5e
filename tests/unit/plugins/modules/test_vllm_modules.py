# SPDX-License-Identifier: Apache-2.0
"""vllm_info and vllm_check as Ansible runs them, against small servers that answer as a vLLM does."""

from __future__ import annotations

import contextlib
import json
import socket
from typing import Any, Iterator

import pytest
from ansible_collections.kvcache.ascend.plugins.filter.release import load_tables
from ansible_collections.kvcache.ascend.plugins.modules import vllm_check, vllm_info
from ansible_collections.kvcache.ascend.tests.unit import loopback_servers as servers

CONNECTORS = load_tables()["connectors"]
BLOCK = 128


class FakeEngine:
    """A vLLM with a prefix cache of its own and a pool: whole blocks of a prompt sent before are hits."""

    def __init__(self, pool: set[tuple[int, ...]], **changes: Any) -> None:
        self.pool = pool
        self.own: set[tuple[int, ...]] = set()
        self.counted = {"prompt": 0, "computed": 0, "local": 0, "pool": 0}
        self.changes = changes
        self.seen: list[dict[str, Any]] = []

    def answer(self, path: str, body: bytes) -> tuple[int, str]:
        if path in self.changes:
            return self.changes[path]
        if path == "/health":
            return 200, ""
        if path == "/version":
            return 200, '{"version": "0.23.0"}'
        if path == "/v1/models":
            return 200, json.dumps({"data": [{"id": "tiny", "max_model_len": 4096}]})
        if path == "/metrics":
            return 200, self.metrics()
        return self.complete(json.loads(body))

    def complete(self, request: dict[str, Any]) -> tuple[int, str]:
        self.seen.append(request)
        tokens = request["prompt"]
        whole = tuple(tokens[: (len(tokens) - 1) // BLOCK * BLOCK])
        source = "local" if whole in self.own else "pool" if whole in self.pool else ""
        if source and whole:
            self.counted[source] += len(whole)
        self.counted["prompt"] += len(tokens)
        self.counted["computed"] += len(tokens) - (len(whole) if source else 0)
        self.own.add(whole)
        self.pool.add(whole)
        return 200, json.dumps({"id": "cmpl-1", "choices": [{"text": "w7"}]})

    def metrics(self) -> str:
        counted = self.counted
        return f"""vllm:cache_config_info{{block_size="{BLOCK}",engine="0"}} 1
vllm:prompt_tokens_total{{engine="0"}} {counted["prompt"]}.0
vllm:prefix_cache_hits_total{{engine="0"}} {counted["local"]}.0
vllm:external_prefix_cache_hits_total{{engine="0"}} {counted["pool"]}.0
vllm:prompt_tokens_by_source_total{{engine="0",source="local_compute"}} {counted["computed"]}.0
vllm:prompt_tokens_by_source_total{{engine="0",source="local_cache_hit"}} {counted["local"]}.0
vllm:prompt_tokens_by_source_total{{engine="0",source="external_kv_transfer"}} {counted["pool"]}.0
"""

    def __call__(self, connection: socket.socket) -> None:
        request = b""
        while b"\r\n\r\n" not in request:
            request += connection.recv(65536)
        head, _blank, body = request.partition(b"\r\n\r\n")
        fields = dict(line.split(b": ", 1) for line in head.split(b"\r\n")[1:])
        while len(body) < int(fields.get(b"Content-Length", 0)):
            body += connection.recv(65536)
        path = head.split(b" ", 2)[1].decode()
        key = self.changes.get("key")
        allowed = not key or fields.get(b"Authorization") == f"Bearer {key}".encode()
        if path.startswith("/v1/") and not allowed:
            status, text = 401, '{"error": "Unauthorized"}'
        else:
            status, text = self.answer(path, body)
        connection.sendall(
            f"HTTP/1.1 {status} x\r\nContent-Length: {len(text)}\r\n\r\n{text}".encode()
        )


@pytest.fixture
def run(run_module):
    def run_on_port(module, port, **arguments):
        arguments = {"port": port, "step_timeout": 2, **arguments}
        if module is vllm_check:
            arguments = {"timeout": 0, "completion_timeout": 2, **arguments}
        return run_module(module, arguments)

    return run_on_port


@contextlib.contextmanager
def engine(pool: Any = None, **changes: Any) -> Iterator[int]:
    with servers.serve(FakeEngine(set() if pool is None else pool, **changes)) as port:
        yield port


def long_prompt(seed: str, family: str = "0.23", **more: Any) -> dict[str, Any]:
    return {
        "prompt_seed": seed,
        "prompt_tokens": 1031,
        "metrics": CONNECTORS[family]["metrics"],
        **more,
    }


@pytest.mark.parametrize("family", ["0.13", "0.23"])
def test_what_one_has_computed_another_finds_in_the_pool_to_the_token(run, family):
    pool: set = set()
    with engine(pool) as first, engine(pool) as second:
        own = run(vllm_check, first, **long_prompt("x", family, repeat=2, expect="cache"))
        assert [each["local_tokens"] for each in own["requests"]] == [0, 1024]
        assert own["requests"][0]["computed_tokens"] == 1031
        other = run(vllm_check, second, **long_prompt("x", family, expect="pool"))
        (request,) = other["requests"]
        assert (request["pool_tokens"], request["computed_tokens"]) == (1024, 7)
        assert request["exact"] is True
        assert ": 1024 from the pool, 0 from its own cache, 7 computed" in other["msg"]


def test_a_pool_that_is_not_shared_is_an_error(run):
    with engine() as first, engine() as second:
        run(vllm_check, first, **long_prompt("x"))
        result = run(vllm_check, second, **long_prompt("x", expect="pool"))
    assert result["failed"]
    assert "took 0 tokens of a prompt from the pool" in result["msg"].replace("\n", " ")
    assert "1024" in result["msg"]


def test_without_metrics_of_the_pool_nothing_is_taken_for_granted(run):
    with engine() as port:
        result = run(vllm_check, port, **long_prompt("x", "0.11", expect="pool"))
    assert "tells of no tokens from the pool" in " ".join(result["msg"].split())


def test_the_prompt_is_no_longer_than_the_model_takes(run):
    models = (200, json.dumps({"data": [{"id": "tiny", "max_model_len": 100}]}))
    with engine(**{"/v1/models": models}) as port:
        assert run(vllm_check, port, **long_prompt("x"))["requests"][0]["prompt_tokens"] == 99


WRONG = [
    ({"/health": (503, "")}, {}, "its engine is dead (/health: 503)"),
    ({"/version": (404, "no")}, {}, "is an HTTP server, but not vLLM"),
    ({"key": "right"}, {"api_key": "wrong"}, "refuses the API key"),
    ({}, {"model": "other"}, "serves tiny (from"),
    ({"/v1/models": (500, "")}, {}, "names no model (/v1/models: 500)"),
    (
        {"/v1/completions": (500, '{"error": {"message": "engine died"}}')},
        {},
        "status 500: engine died",
    ),
    ({"/v1/completions": (200, "{}")}, {}, "answered a request with status 200"),
    ({"/v1/completions": (400, '{"message": "too long"}')}, {}, "status 400: too long"),
]


@pytest.mark.parametrize(("changes", "arguments", "words"), WRONG)
def test_each_failure_has_a_message_of_its_own_with_a_fix(run, changes, arguments, words):
    with engine(**changes) as port:
        result = run(vllm_check, port, **arguments)
    told = " ".join(result["msg"].split())
    assert words in told
    assert "Fix: " in told


SOCKETS = [
    (servers.closes_at_once, "closes the connection without an answer"),
    (servers.banner(b"SSH-2.0-x\r\n"), "speaks something else than HTTP"),
    (servers.silent, "accepts connections but gives no answer"),
]


@pytest.mark.parametrize(("server", "words"), SOCKETS)
def test_what_is_no_http_is_told_apart(run, server, words):
    with servers.serve(server) as port:
        assert words in " ".join(run(vllm_check, port, step_timeout=0.3)["msg"].split())


def test_a_port_on_which_nobody_listens(run):
    with servers.refused_port() as port:
        told = run(vllm_check, port)["msg"]
        assert "refuses connections" in told
        assert run(vllm_info, port)["vllm"]["health"]["outcome"] == "refused"


def test_a_request_that_is_never_answered(run):
    class Slow(FakeEngine):
        def complete(self, request):
            raise TimeoutError

    def hang(connection):
        try:
            Slow(set())(connection)
        except TimeoutError:
            servers.silent(connection)

    with servers.serve(hang) as port:
        told = " ".join(run(vllm_check, port, completion_timeout=0.3)["msg"].split())
    assert "is healthy, but did not answer a request within 0.3 s" in told


def test_info_tells_what_it_sees_and_never_fails(run):
    with engine() as port:
        run(vllm_check, port, **long_prompt("x"))
        seen = run(vllm_info, port, metrics=CONNECTORS["0.23"]["metrics"])["vllm"]
    assert seen["version"] == "0.23.0"
    assert seen["models"] == [{"name": "tiny", "max_model_len": 4096}]
    assert seen["block_size"] == BLOCK
    assert seen["counters"]["prompt_tokens"] == 1031
    assert seen["counters"]["source_computed"] == 1031
    with engine(**{"/health": (503, "")}) as port:
        assert "engine is dead" in run(vllm_info, port)["findings"][0]["observed"]


def test_the_right_key_opens_it(run):
    with engine(key="right") as port:
        assert run(vllm_check, port, api_key="right", model="tiny")["requests"][0]["status"] == 200
