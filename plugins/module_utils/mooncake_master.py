# Copyright The kvcache.ascend authors
# SPDX-License-Identifier: Apache-2.0
"""Ask Mooncake masters whether they serve, once or until they do.

The sockets are in mooncake_master_io.py, the facts in mooncake_master_observation.py, and the
decisions about what is right or wrong in mooncake_master_findings.py.
"""

from __future__ import annotations

import random
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Callable, Mapping

from ansible_collections.kvcache.ascend.plugins.module_utils import (
    coro_rpc,
    finding,
    master_address,
    mooncake_master_findings,
)
from ansible_collections.kvcache.ascend.plugins.module_utils import (
    mooncake_master_io as network,
)
from ansible_collections.kvcache.ascend.plugins.module_utils.master_address import MasterAddress
from ansible_collections.kvcache.ascend.plugins.module_utils.mooncake_master_observation import (
    NO_RESPONSE,
    PAGE_NOT_ASKED,
    HttpSide,
    Observation,
    facts,
)

# mooncake-store/src/rpc_service.cpp registers it, in every version since 0.3.7. It takes no
# argument, changes nothing and counts nothing (Ping would create a client in the master).
SERVICE_READY = coro_rpc.function_id("mooncake::WrappedMasterService::ServiceReady")


@dataclass(frozen=True)
class Options:
    metrics_port: int
    step_timeout_seconds: float
    min_clients: int = 0
    segments: Mapping[str, int] = field(default_factory=dict)
    resolver: network.Resolver = network.system_resolver
    connector: network.Connector = network.system_connector


@dataclass(frozen=True)
class Result:
    masters: list[dict[str, Any]]
    findings: list[dict[str, str]]
    attempts: int = 1
    waited_seconds: float = 0.0


def observe(address: MasterAddress, options: Options, budget: network.Budget) -> Observation:
    resolution = network.resolve(address.host, address.port, budget.next_step(), options.resolver)
    if not resolution.ip_addresses:
        return Observation(address, options.metrics_port, resolution)
    asker = _HttpAsker(address, resolution.ip_addresses, options, budget)
    rpc, response = _ask_rpc(address, resolution.ip_addresses, options, budget)
    rpc_port_http = None
    if not response.is_coro_rpc and rpc.outcome in (
        network.ANSWERED,
        network.CLOSED,
        network.SILENT,
    ):
        rpc_port_http = asker.ask(address.port)
    metrics_side = None
    if options.metrics_port == address.port:
        metrics_side = rpc_port_http
    elif options.metrics_port:
        metrics_side = asker.ask(options.metrics_port)
    return Observation(
        address, options.metrics_port, resolution, rpc, response, rpc_port_http, metrics_side
    )


def _ask_rpc(
    address: MasterAddress, ip_addresses: list[str], options: Options, budget: network.Budget
) -> tuple[network.Reply, coro_rpc.Response]:
    # An echoed number that nobody could guess tells an answer from a constant.
    sequence = random.randrange(1, 2**32)
    request = coro_rpc.encode_request(SERVICE_READY, sequence)

    def is_whole(data: bytes) -> bool:
        answer = coro_rpc.decode_response(data)
        return answer.is_complete or (bool(data) and not answer.is_coro_rpc)

    reply = network.exchange(
        ip_addresses, address.port, request, is_whole, budget=budget, connector=options.connector
    )
    response = coro_rpc.decode_response(reply.data)
    if response.is_complete and response.sequence != sequence:
        response = NO_RESPONSE
    return reply, response


class _HttpAsker:
    def __init__(
        self,
        address: MasterAddress,
        ip_addresses: list[str],
        options: Options,
        budget: network.Budget,
    ) -> None:
        self._host = address.host
        self._ip_addresses = ip_addresses
        self._options = options
        self._budget = budget

    def ask(self, port: int) -> HttpSide:
        health = self._get(port, "/health")
        if health.status_code is None:
            return HttpSide(port, health)
        role_page = self._get(port, "/role")
        leader_page = PAGE_NOT_ASKED
        if role_page.status_code == 200 and role_page.text.strip() == "standby":
            leader_page = self._get(port, "/leader")
        return HttpSide(port, health, role_page, leader_page, self._get(port, "/metrics"))

    def _get(self, port: int, path: str) -> network.HttpReply:
        return network.http_get(
            self._ip_addresses,
            port,
            master_address.join(self._host.split("%", 1)[0], port),
            path,
            budget=self._budget,
            connector=self._options.connector,
        )


def ask_all(
    addresses: list[MasterAddress],
    options: Options,
    this_host: str,
    total_seconds: float | None = None,
) -> Result:
    """Ask all addresses at the same time, once."""
    budget = network.Budget(options.step_timeout_seconds, total_seconds)
    with ThreadPoolExecutor(max_workers=min(16, len(addresses))) as pool:
        observations = list(pool.map(lambda address: observe(address, options, budget), addresses))
    masters = [facts(observation) for observation in observations]
    findings = []
    for observation, master in zip(observations, masters):
        findings += mooncake_master_findings.judge(
            observation, master, this_host, options.min_clients, options.segments
        )
    return Result(masters, findings)


def wait_until_all_serve(
    addresses: list[MasterAddress],
    options: Options,
    this_host: str,
    timeout_seconds: float,
    interval_seconds: float,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Result:
    """Ask again until there is no error or the time is over; the last try's result counts.

    A try that has begun is always finished: one cut short would report a time-out that was ours.
    """
    start = clock()
    attempts = 0
    while True:
        result = ask_all(addresses, options, this_host)
        attempts += 1
        waited = clock() - start
        is_well = finding.worst(result.findings) != finding.ERROR
        if is_well or waited + interval_seconds > timeout_seconds:
            return Result(result.masters, result.findings, attempts, round(waited, 1))
        sleep(interval_seconds)
