# Copyright The kvcache.ascend authors
# SPDX-License-Identifier: Apache-2.0
"""What was seen of one address of a Mooncake master, and the facts in it. Pure: no sockets."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

from ansible_collections.kvcache.ascend.plugins.module_utils import (
    coro_rpc,
    prometheus_text,
)
from ansible_collections.kvcache.ascend.plugins.module_utils import (
    mooncake_master_io as network,
)
from ansible_collections.kvcache.ascend.plugins.module_utils.master_address import MasterAddress

# Fact name -> metric name, mooncake-store/src/master_metric_manager.cpp.
METRICS = {
    "capacity_bytes": "master_total_capacity_bytes",
    "allocated_bytes": "master_allocated_bytes",
    "file_capacity_bytes": "master_total_file_capacity_bytes",
    "file_allocated_bytes": "master_allocated_file_size_bytes",
    "key_count": "master_key_count",
    "soft_pinned_key_count": "master_soft_pin_key_count",
    "active_clients": "master_active_clients",
    "evictions_total": "master_successful_evictions_total",
    "eviction_attempts_total": "master_attempted_evictions_total",
    "evicted_key_count": "master_evicted_key_count",
    "evicted_bytes": "master_evicted_size_bytes",
    "put_start_failures_total": "master_put_start_failures_total",
    "put_start_allocation_failures_total": "master_put_start_alloc_failures_total",
    "mount_segment_failures_total": "master_mount_segment_failures_total",
}

PAGE_NOT_ASKED = network.HttpReply(network.NOT_ASKED)
RPC_NOT_ASKED = network.Reply(network.NOT_ASKED)
NO_RESPONSE = coro_rpc.Response(is_coro_rpc=False)


@dataclass(frozen=True)
class HttpSide:
    """One port, asked over HTTP; a page is only asked for when the one before it answered."""

    port: int
    health: network.HttpReply = PAGE_NOT_ASKED
    role_page: network.HttpReply = PAGE_NOT_ASKED
    leader_page: network.HttpReply = PAGE_NOT_ASKED
    metrics_page: network.HttpReply = PAGE_NOT_ASKED

    @property
    def is_http(self) -> bool:
        return self.health.status_code is not None

    @property
    def server(self) -> str | None:
        return self.health.headers.get("server")

    @property
    def health_json(self) -> dict[str, Any]:
        """0.3.10 and newer answer /health in JSON, older ones with the text OK."""
        try:
            answer = json.loads(self.health.text)
        except (ValueError, RecursionError):
            return {}
        return answer if isinstance(answer, dict) else {}

    @property
    def exposition(self) -> prometheus_text.Exposition:
        if self.metrics_page.status_code != 200:
            return prometheus_text.Exposition()
        return prometheus_text.parse(self.metrics_page.text)

    @property
    def is_master(self) -> bool:
        """Whether the pages are a master's.

        Mooncake's client and its metadata server answer /health too, with the same Server header,
        but not with service_ready, and they have no metrics of a master.
        """
        if "service_ready" in self.health_json:
            return True
        if self.health.status_code != 200 or self.health.text.strip() != "OK":
            return False
        if self.metrics_page.status_code != 200:
            return False
        exposition = self.exposition
        # 0.3.7 shows a metric only after its first use: a fresh master's page is empty.
        is_empty = not exposition.samples and not exposition.unparsed
        return is_empty or any(sample.name.startswith("master_") for sample in exposition.samples)

    @property
    def service_ready(self) -> bool | None:
        ready = self.health_json.get("service_ready")
        return ready if isinstance(ready, bool) else None

    @property
    def ha_state(self) -> str | None:
        return _text_or_none(self.health_json.get("ha_state"))

    @property
    def role(self) -> str | None:
        """None on versions without /role (older than 0.3.10): unknown, not leader."""
        if self.role_page.status_code == 200 and self.is_master:
            return self.role_page.text.strip() or None
        return _text_or_none(self.health_json.get("role"))

    @property
    def leader_address(self) -> str | None:
        address = _text_or_none(self.health_json.get("leader_address"))
        if address or self.leader_page.status_code != 200:
            return address
        try:
            return _text_or_none(json.loads(self.leader_page.text).get("leader_address"))
        except (ValueError, AttributeError, RecursionError):
            return None


@dataclass(frozen=True)
class Observation:
    """All that one try saw of one address, before anything is concluded from it."""

    address: MasterAddress
    metrics_port: int
    resolution: network.Resolution
    rpc: network.Reply = RPC_NOT_ASKED
    response: coro_rpc.Response = NO_RESPONSE
    # The RPC port asked over HTTP, which is done when it did not answer as a coro_rpc server.
    rpc_port_http: HttpSide | None = None
    # None: metrics_port is 0, or the name was not resolved.
    metrics_side: HttpSide | None = None

    @property
    def rpc_serves(self) -> bool:
        """Only a master registers the function, so an answer without error proves one."""
        return self.response.is_complete and self.response.error_code == coro_rpc.ERROR_NONE

    @property
    def serves(self) -> bool:
        if not self.rpc_serves:
            return False
        side = self.metrics_side
        return side is None or (side.service_ready is not False and side.role != "standby")


def facts(observation: Observation) -> dict[str, Any]:
    """The item of `masters` that the modules return; what is unknown is None."""
    side = observation.metrics_side
    return {
        "address": str(observation.address),
        "host": observation.address.host,
        "port": observation.address.port,
        "metrics_port": observation.metrics_port,
        "resolved": list(observation.resolution.ip_addresses),
        "serving": observation.serves,
        "rpc": _rpc_facts(observation),
        "health": _health_facts(side),
        "role": side.role if side else None,
        "metrics": _metrics_facts(side),
    }


def _rpc_facts(observation: Observation) -> dict[str, Any]:
    response = observation.response
    has_code = response.error_code is not None
    return {
        "outcome": observation.rpc.outcome,
        "detail": observation.rpc.detail,
        "is_master": observation.rpc_serves,
        "error_code": response.error_code,
        "error_text": coro_rpc.last_text(response.body)
        if has_code and response.error_code
        else None,
        "protocol_version": coro_rpc.last_text(response.body) if observation.rpc_serves else None,
    }


def _health_facts(side: HttpSide | None) -> dict[str, Any]:
    if side is None:
        side = HttpSide(0)
    return {
        "outcome": side.health.outcome,
        "detail": side.health.detail,
        "status_code": side.health.status_code,
        "is_master": side.is_master,
        "service_ready": side.service_ready,
        "ha_state": side.ha_state,
        "leader_address": side.leader_address,
    }


def _metrics_facts(side: HttpSide | None) -> dict[str, Any]:
    # Another service's numbers are not this master's.
    exposition = side.exposition if side and side.is_master else prometheus_text.Exposition()
    numbers: dict[str, Any] = {
        fact: _number(exposition.value(metric)) for fact, metric in METRICS.items()
    }
    numbers["outcome"] = side.metrics_page.outcome if side else network.NOT_ASKED
    return numbers


def _number(value: float | None) -> float | None:
    # JSON has no NaN and no infinity.
    if value is None or not math.isfinite(value):
        return None
    return int(value) if value == int(value) else value


def _text_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
