# SPDX-License-Identifier: Apache-2.0
"""Asks one vLLM instance over its HTTP API: is it healthy, what does it serve, and does it answer a request in time."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field, replace
from typing import Any

from ansible_collections.kvcache.ascend.plugins.module_utils import (
    master_address,
    prometheus_text,
)
from ansible_collections.kvcache.ascend.plugins.module_utils import (
    mooncake_master_io as network,
)

# Numbers of tokens that every vocabulary has, and that are special in none.
_FIRST_TOKEN, _LAST_TOKEN = 10, 209


@dataclass(frozen=True)
class Target:
    """Where an instance is, and how it is asked."""

    host: str
    port: int
    api_key: str = field(default="", repr=False)
    step_seconds: float = 5.0

    @property
    def address(self) -> str:
        return master_address.join(self.host, self.port)

    def within(self, seconds: float) -> Target:
        return replace(self, step_seconds=seconds)


@dataclass(frozen=True)
class Answer:
    """What came back: an outcome of mooncake_master_io, and for HTTP its status and text."""

    outcome: str
    detail: str = ""
    status: int | None = None
    text: str = ""

    @property
    def is_ok(self) -> bool:
        return self.status == 200

    @property
    def data(self) -> Any:
        """The JSON of the answer; None when it is none."""
        try:
            return json.loads(self.text)
        except ValueError:
            return None


def ask(target: Target, path: str, body: dict[str, Any] | None = None) -> Answer:
    """GET a path, or POST `body` to it as JSON. Never raises."""
    budget = network.Budget(target.step_seconds)
    where = network.resolve(target.host, target.port, target.step_seconds, network.system_resolver)
    if not where.ip_addresses:
        return Answer(network.NOT_ASKED, where.error)
    reply = network.read_http_answer(
        network.exchange(
            where.ip_addresses,
            target.port,
            _request(target, path, body),
            network.is_whole_http_answer,
            budget=budget,
            connector=network.system_connector,
        )
    )
    return Answer(reply.outcome, reply.detail, reply.status_code, reply.text)


def _request(target: Target, path: str, body: dict[str, Any] | None) -> bytes:
    content = b"" if body is None else json.dumps(body).encode()
    lines = [
        f"{'GET' if body is None else 'POST'} {path} HTTP/1.1",
        f"Host: {target.address}",
        "User-Agent: kvcache.ascend",
        "Accept: */*",
        "Connection: close",
    ]
    if target.api_key:
        lines.append(f"Authorization: Bearer {target.api_key}")
    if body is not None:
        lines += ["Content-Type: application/json", f"Content-Length: {len(content)}"]
    return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace") + content


def models(answer: Answer) -> list[dict[str, Any]]:
    """Name and longest context of each model in an answer of /v1/models."""
    listed = answer.data.get("data") if isinstance(answer.data, dict) else None
    return [
        {"name": each.get("id"), "max_model_len": each.get("max_model_len")}
        for each in listed or []
        if isinstance(each, dict)
    ]


def message(answer: Answer) -> str:
    """What an error's answer says, in one line."""
    data = answer.data if isinstance(answer.data, dict) else {}
    error = data["error"] if isinstance(data.get("error"), dict) else data
    told = error.get("message") or error.get("detail") or answer.text or answer.detail
    return " ".join(str(told).split())[:200]


def prompt(seed: str, length: int) -> list[int]:
    """Tokens that nobody has sent before, the same ones for the same seed."""
    chosen = random.Random(seed)
    return [chosen.randint(_FIRST_TOKEN, _LAST_TOKEN) for _token in range(length)]


def complete(target: Target, model: str, tokens: list[int]) -> Answer:
    """Let the model continue the tokens by one."""
    return ask(
        target,
        "/v1/completions",
        {"model": model, "prompt": tokens, "max_tokens": 1, "temperature": 0},
    )


def exposition(target: Target) -> prometheus_text.Exposition:
    answer = ask(target, "/metrics")
    return prometheus_text.parse(answer.text if answer.is_ok else "")


def look(target: Target) -> dict[str, Any]:
    """What an instance tells of itself; null for what it does not tell."""
    health = ask(target, "/health")
    seen: dict[str, Any] = {
        "address": target.address,
        "health": {"outcome": health.outcome, "detail": health.detail, "status": health.status},
        "version": None,
        "models_status": None,
        "models": [],
    }
    if health.status is None:
        return seen
    version = ask(target, "/version").data
    if isinstance(version, dict):
        seen["version"] = version.get("version")
    if not health.is_ok:
        return seen
    listed = ask(target, "/v1/models")
    seen["models_status"] = listed.status
    seen["models"] = models(listed)
    return seen
