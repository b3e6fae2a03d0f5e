# SPDX-License-Identifier: Apache-2.0
"""The check of one instance: is it healthy, what does it serve, does it answer, and where did the tokens come from."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, Callable, Mapping

from ansible_collections.kvcache.ascend.plugins.module_utils import (
    vllm_api,
    vllm_evidence,
    vllm_findings,
)

SHORT_PROMPT = 8
METRICS_SECONDS = 5.0
"""The metrics of a request are counted a moment after its answer."""


@dataclass(frozen=True)
class Options:
    host: str
    model: str = ""
    unit: str = ""
    timeout_seconds: float = 30.0
    interval_seconds: float = 2.0
    completion_seconds: float = 120.0
    prompt_seed: str = ""
    prompt_tokens: int = 0
    repeat: int = 1
    expect: str = "answer"
    metrics: Mapping[str, Any] = field(default_factory=dict)
    log_pattern: str = ""


@dataclass(frozen=True)
class Host:
    """What the check reads of the host that the instance runs on; both give nothing without a unit."""

    unit_state: Callable[[], Mapping[str, Any]]
    log: Callable[[], str]
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


@dataclass
class Result:
    seen: dict[str, Any]
    findings: list[dict[str, str]]
    requests: list[dict[str, Any]] = field(default_factory=list)
    waited_seconds: float = 0.0


def run(target: vllm_api.Target, options: Options, host: Host) -> Result:
    result = wait(target, options, host)
    if result.findings:
        return result
    result.findings = vllm_findings.models(result.seen, options.host, options.model)
    if result.findings:
        return result
    exposition = vllm_api.exposition(target)
    length = _length(result.seen, options)
    block = vllm_evidence.block_size(exposition)
    for number in range(options.repeat):
        request, answer = _send(target, options, host, result.seen, length)
        result.findings = vllm_findings.completion(
            answer, target, options.host, options.completion_seconds
        )
        result.requests.append(request)
        if result.findings:
            return result
        is_last = number == options.repeat - 1
        if options.expect != "answer" and is_last:
            result.findings = vllm_findings.reuse(
                target.address,
                options.host,
                {key: request[f"{key}_tokens"] for key in ("local", "pool")},
                vllm_evidence.whole_blocks(length, block),
                options.expect,
            )
    return result


def wait(target: vllm_api.Target, options: Options, host: Host) -> Result:
    """Ask for its health until it is well, the time is over, or its service ends by itself."""
    start = host.clock()
    while True:
        seen, unit = vllm_api.look(target), host.unit_state()
        findings = vllm_findings.health(seen, options.host, options.unit, unit)
        waited = host.clock() - start
        over = waited + options.interval_seconds > options.timeout_seconds
        if not findings or over or vllm_findings.service_ended(unit):
            return Result(seen, findings, [], round(waited, 1))
        host.sleep(options.interval_seconds)


def _length(seen: Mapping[str, Any], options: Options) -> int:
    """Tokens of the prompt: no more than the model takes, with the one that is asked for."""
    longest = [each["max_model_len"] for each in seen["models"] if each["max_model_len"]]
    return min([options.prompt_tokens or SHORT_PROMPT, *(each - 1 for each in longest)])


def _send(
    target: vllm_api.Target,
    options: Options,
    host: Host,
    seen: Mapping[str, Any],
    length: int,
) -> tuple[dict[str, Any], vllm_api.Answer]:
    """One request, and what the instance counted of it."""
    before = vllm_evidence.counters(vllm_api.exposition(target), options.metrics)
    tokens = vllm_api.prompt(options.prompt_seed or str(time.time()), length)
    begun = host.clock()
    answer = vllm_api.complete(
        target.within(options.completion_seconds),
        options.model or seen["models"][0]["name"],
        tokens,
    )
    seconds = host.clock() - begun
    counted = _counted(target, options, host, before, length)
    if counted["pool"] is None and options.log_pattern and isinstance(answer.data, dict):
        counted["pool"] = vllm_evidence.pool_tokens_in_log(
            host.log(), options.log_pattern, str(answer.data.get("id"))
        )
    request = {
        "status": answer.status,
        "seconds": round(seconds, 3),
        "prompt_tokens": length,
        "computed_tokens": counted["computed"],
        "local_tokens": counted["local"],
        "pool_tokens": counted["pool"],
        "exact": counted["prompt"] in (length, None),
    }
    return request, answer


def _counted(
    target: vllm_api.Target,
    options: Options,
    host: Host,
    before: Mapping[str, int | None],
    length: int,
) -> dict[str, int | None]:
    end = host.clock() + METRICS_SECONDS
    while True:
        after = vllm_evidence.counters(vllm_api.exposition(target), options.metrics)
        counted = vllm_evidence.tokens_by_source(before, after)
        if counted["prompt"] is None or counted["prompt"] >= length or host.clock() > end:
            return counted
        host.sleep(0.1)
