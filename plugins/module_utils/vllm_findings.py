# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a vLLM instance, and what to do: decisions about what vllm_api and vllm_evidence have seen."""

from __future__ import annotations

from typing import Any, Mapping

from ansible_collections.kvcache.ascend.plugins.module_utils import finding, vllm_api
from ansible_collections.kvcache.ascend.plugins.module_utils import (
    mooncake_master_io as network,
)

HEALTH, MODELS, COMPLETION, POOL = "vllm_health", "vllm_models", "vllm_completion", "vllm_pool"

_BY_OUTCOME = {
    network.REFUSED: (
        "refuses connections",
        "start it, or wait: the port opens when the model is loaded (sudo journalctl -u {unit})",
    ),
    network.TIMED_OUT: (
        "does not accept a connection",
        "open the port in the firewall between the two hosts",
    ),
    network.UNREACHABLE: (
        "can't be reached",
        "check the route and the firewall between the two hosts",
    ),
    network.SILENT: (
        "accepts connections but gives no answer",
        "its process hangs: read its journal (sudo journalctl -u {unit}), then restart it",
    ),
    network.CLOSED: (
        "closes the connection without an answer",
        "something else than vLLM may have the port (sudo ss -ltnp)",
    ),
    network.NOT_ASKED: ("is not known by name", "correct its name, or DNS and /etc/hosts"),
}


def _error(check: str, host: str, observed: str, expected: str, fix: str) -> dict[str, str]:
    return finding.make(check, finding.ERROR, host, observed=observed, expected=expected, fix=fix)


def service_ended(unit: Mapping[str, Any]) -> bool:
    """Whether it is of no use to wait: the process ended by itself twice, or systemd has given up."""
    return unit.get("active") == "failed" or int(unit.get("restarts") or 0) >= 2


def health(
    seen: Mapping[str, Any], host: str, unit_name: str = "", unit: Mapping[str, Any] | None = None
) -> list[dict[str, str]]:
    """Findings about /health and about what answers there; none when vLLM says that its engine runs."""
    at, answer = seen["address"], seen["health"]
    expected = "a vLLM instance that is healthy"
    journal = unit_name or "vllm@<instance>"
    if unit and service_ended(unit):
        told = (
            "systemd no longer restarts it" if unit["active"] == "failed" else "systemd restarts it"
        )
        return [
            _error(
                HEALTH,
                host,
                f"{unit_name}, which should serve {at}, ends by itself ({told})",
                expected,
                f"read its journal (sudo journalctl -u {journal} -n 100)",
            )
        ]
    if answer["status"] is None:
        words, fix = _BY_OUTCOME.get(answer["outcome"], ("can't be asked", "check the port"))
        if answer["outcome"] == network.ANSWERED:
            words, fix = (
                "speaks something else than HTTP",
                "something else has the port (sudo ss -ltnp)",
            )
        detail = f" ({answer['detail']})" if answer["detail"] else ""
        return [_error(HEALTH, host, f"{at} {words}{detail}", expected, fix.format(unit=journal))]
    if seen["version"] is None:
        return [
            _error(
                HEALTH,
                host,
                f"{at} is an HTTP server, but not vLLM (/version tells none)",
                expected,
                "give the port of the instance, or free it (sudo ss -ltnp)",
            )
        ]
    if answer["status"] != 200:
        return [
            _error(
                HEALTH,
                host,
                f"{at} says that its engine is dead (/health: {answer['status']})",
                expected,
                f"read why in its journal (sudo journalctl -u {journal}), then restart it",
            )
        ]
    return []


def models(seen: Mapping[str, Any], host: str, wanted: str) -> list[dict[str, str]]:
    at, served = seen["address"], [each["name"] for each in seen["models"]]
    if seen["models_status"] in (401, 403):
        return [
            _error(
                MODELS,
                host,
                f"{at} refuses the API key (/v1/models: {seen['models_status']})",
                "the key with which the instance was started",
                "give the key as vllm_secrets has it (VLLM_API_KEY); an instance reads a new one when it is restarted",
            )
        ]
    if not served:
        return [
            _error(
                MODELS,
                host,
                f"{at} names no model (/v1/models: {seen['models_status'] or 'no answer'})",
                f"it serves {wanted}" if wanted else "it serves a model",
                "read its journal, then restart it",
            )
        ]
    if wanted and wanted not in served:
        return [
            _error(
                MODELS,
                host,
                f"{at} serves {', '.join(map(str, served))}",
                f"it serves {wanted}",
                "correct served_name or the port; an instance of another name may have it",
            )
        ]
    return []


def completion(
    answer: vllm_api.Answer, target: vllm_api.Target, host: str, seconds: float
) -> list[dict[str, str]]:
    """Findings about one request; none when it was answered with a token."""
    expected = "an answer to a request for one token"
    at = target.address
    if answer.status is None:
        late = answer.outcome == network.SILENT
        return [
            _error(
                COMPLETION,
                host,
                f"{at} is healthy, but did not answer a request within {seconds:g} s"
                if late
                else f"{at} is healthy, but dropped a request ({answer.detail or answer.outcome})",
                expected,
                "is it busy (vllm:num_requests_waiting on /metrics)? Else it hangs: read its journal, restart it"
                if late
                else "read its journal",
            )
        ]
    data = answer.data
    if answer.is_ok and isinstance(data, dict) and data.get("choices"):
        return []
    fix = {
        400: "the model's context may be too short for the prompt; correct prompt_tokens or max-model-len",
        401: "give the API key as vllm_secrets has it",
        404: "ask for the model by the name that /v1/models tells",
    }.get(answer.status, "read its journal; a 500 or 503 tells that its engine failed")
    return [
        _error(
            COMPLETION,
            host,
            f"{at} answered a request with status {answer.status}: {vllm_api.message(answer)}",
            expected,
            fix,
        )
    ]


def reuse(
    at: str,
    host: str,
    tokens: Mapping[str, int | None],
    wanted: int | None,
    source: str,
) -> list[dict[str, str]]:
    """Findings about where a repeated prompt came from; `wanted` are its tokens in whole blocks, None: any will do.

    source: ``cache`` for a prompt that this instance has had, ``pool`` for one that only another has had.
    """
    seen = [tokens["pool"]] if source == "pool" else [tokens["local"], tokens["pool"]]
    place = "from the pool" if source == "pool" else "from a cache"
    if all(each is None for each in seen):
        return [
            _error(
                POOL,
                host,
                f"{at} tells of no tokens {place}, neither in its metrics nor in its log",
                "the evidence that the release has",
                "is kv-transfer-config in its vllm.yaml, and its log level not higher than INFO?",
            )
        ]
    found = sum(each or 0 for each in seen)
    if found >= (wanted or 1):
        return []
    if source == "pool":
        fix = (
            "instances must have one master, one PYTHONHASHSEED, one model path, dtype and block size; look for put and get "
            "errors in the journals of both, and for evictions in the master's metrics"
        )
    else:
        fix = "is prefix caching switched off (enable-prefix-caching), or the KV cache too small for the prompt?"
    return [
        _error(
            POOL,
            host,
            f"{at} took {found} tokens of a prompt {place}",
            f"{wanted or 'some'}, since {'another instance' if source == 'pool' else 'it'} has had the prompt",
            fix,
        )
    ]


def served(seen: Mapping[str, Any], requests: list[Mapping[str, Any]]) -> str:
    """One line for an instance with which all is well."""
    names = ", ".join(str(each["name"]) for each in seen["models"])
    words = f"{seen['address']} serves {names} (vLLM {seen['version']})"
    if not requests:
        return words
    last = requests[-1]
    sources = [
        f"{last[key]} {text}"
        for key, text in (
            ("pool_tokens", "from the pool"),
            ("local_tokens", "from its own cache"),
            ("computed_tokens", "computed"),
        )
        if last[key] is not None
    ]
    words += f"; {last['prompt_tokens']} tokens in {last['seconds']:.2f} s"
    if sources:
        words += f": {', '.join(sources)}"
    return words if last["exact"] else f"{words} (other requests counted with it)"
