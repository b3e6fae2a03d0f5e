# Copyright The kvcache.ascend authors
# SPDX-License-Identifier: Apache-2.0
"""From what was seen of a Mooncake master to findings. Pure: no sockets, no clock.

The order of the questions is the order in which an operator has to mend things: the name, the RPC
port, then, only when that serves, the metrics port, the role, the clients.
"""

from __future__ import annotations

from typing import Any, Mapping, Tuple

from ansible_collections.kvcache.ascend.plugins.module_utils import (
    coro_rpc,
    finding,
    master_address,
    mooncake_master_pool,
)
from ansible_collections.kvcache.ascend.plugins.module_utils import (
    mooncake_master_io as network,
)
from ansible_collections.kvcache.ascend.plugins.module_utils.mooncake_master_observation import (
    HttpSide,
    Observation,
)

CHECK_NAME = "mooncake_master_name"
CHECK_RPC = "mooncake_master_rpc"
CHECK_METRICS = "mooncake_master_metrics"
CHECK_ROLE = "mooncake_master_role"

A_MASTER = "a Mooncake master"
A_METRICS_PORT = "its metrics port"
SEE_LOG = "sudo journalctl -u mooncake-master"

# What is observed, what was expected, what to do.
Words = Tuple[str, str, str]


def judge(
    seen: Observation,
    facts: dict[str, Any],
    this_host: str,
    min_clients: int,
    segments: Mapping[str, int] | None = None,
) -> list[dict[str, str]]:
    """All findings of one address; exactly one, of severity ok, when all is well.

    segments: the bytes that each segment must have in the pool, by its name.
    """

    def error(check: str, words: Words) -> dict[str, str]:
        return _make(check, finding.ERROR, this_host, words)

    if not seen.resolution.ip_addresses:
        return [error(CHECK_NAME, name_words(seen))]
    if not seen.rpc_serves:
        role = role_words(seen)
        return [error(CHECK_ROLE, role)] if role else [error(CHECK_RPC, rpc_words(seen))]
    found = []
    metrics = metrics_words(seen)
    if metrics:
        found.append(error(CHECK_METRICS, metrics))
    role = role_words(seen)
    if role:
        found.append(error(CHECK_ROLE, role))
    found += mooncake_master_pool.findings(seen, facts, this_host, min_clients, segments or {})
    if not found:
        lent = mooncake_master_pool.lent(segments or {})
        observed = f"{seen.address} is a Mooncake master and serves{lent}"
        found.append(finding.make(CHECK_RPC, finding.OK, this_host, observed=observed))
    return found


def _make(check: str, severity: str, this_host: str, words: Words) -> dict[str, str]:
    observed, expected, fix = words
    return finding.make(check, severity, this_host, observed=observed, expected=expected, fix=fix)


def name_words(seen: Observation) -> Words:
    host = f"the host of {seen.address}"
    expected = "a name that DNS or /etc/hosts knows"
    if seen.resolution.is_temporary:
        fix = "check the name servers in /etc/resolv.conf, or give an IP address"
        return f"{host} was not resolved: {seen.resolution.error}", expected, fix
    fix = "correct mooncake_master_address, or add the name to DNS or to /etc/hosts"
    return f"{host} cannot be resolved: {seen.resolution.error}", expected, fix


def rpc_words(seen: Observation) -> Words:
    """The RPC port does not serve, and the metrics port does not explain it by a role."""
    if seen.response.is_coro_rpc:
        return _rpc_error_words(seen)
    if seen.rpc_port_http and seen.rpc_port_http.is_http:
        return _http_words(seen, seen.rpc_port_http)
    if seen.rpc.outcome == network.REFUSED:
        return _refused_words(seen)
    if seen.rpc.outcome == network.TIMED_OUT:
        return _timed_out_words(seen)
    if seen.rpc.outcome in (network.ANSWERED, network.CLOSED, network.SILENT):
        return _not_rpc_words(seen)
    return _unreachable_words(str(seen.address), seen.address.host, seen.rpc, A_MASTER)


def _rpc_error_words(seen: Observation) -> Words:
    code = seen.response.error_code
    if code == coro_rpc.ERROR_FUNCTION_NOT_REGISTERED:
        return (
            f"{seen.address} is another coro_rpc service, not a master (RPC error 11)",
            A_MASTER,
            "give mooncake_master_rpc_port; Mooncake's clients and store nodes speak coro_rpc too",
        )
    text = coro_rpc.last_text(seen.response.body) or "an incomplete answer"
    return (
        f"{seen.address} answers with RPC error {code}: {text}",
        "error 0",
        f"look for it in {SEE_LOG} on {seen.address.host}",
    )


def _http_words(seen: Observation, side: HttpSide) -> Words:
    if side.is_master:
        return (
            f"{seen.address} is the metrics port of a Mooncake master",
            "its RPC port",
            "put the RPC port (mooncake_master_rpc_port) into mooncake_master_address",
        )
    return (
        f"{seen.address} is {_http_server(side)}",
        A_MASTER,
        "correct the port in mooncake_master_address, or free it for mooncake_master_rpc_port",
    )


def _refused_words(seen: Observation) -> Words:
    observed = f"{seen.address} refused the connection"
    side = seen.metrics_side
    if side and side.is_master:
        return (
            f"{observed}, but a master's metrics port {side.port} answers",
            "its RPC port",
            (
                "compare with mooncake_master_rpc_port; if it is right, see why RPC did not start: "
                f"{SEE_LOG} on {seen.address.host}"
            ),
        )
    return (
        observed,
        A_MASTER,
        "start it there (sudo systemctl start mooncake-master) or correct mooncake_master_address",
    )


def _timed_out_words(seen: Observation) -> Words:
    observed = f"{seen.address} did not accept a connection: {seen.rpc.detail}"
    side = seen.metrics_side
    if side and side.is_master:
        observed = f"{observed}, but the master's metrics port {side.port} did"
    fix = (
        f"open {seen.address.port}/tcp in the firewalls between here and {seen.address.host}, "
        "and see that the host is up"
    )
    return observed, A_MASTER, fix


def _unreachable_words(where: str, host: str, reply: network.Reply, expected: str) -> Words:
    if reply.outcome == network.UNREACHABLE:
        fix = (
            f"see that {host} is up, its route (ip route get), and its firewall: "
            "a REJECT rule looks like this"
        )
        return f"{where} cannot be reached: {reply.detail}", expected, fix
    if reply.outcome == network.NOT_ASKED:
        return f"{where} was not asked: {reply.detail}", expected, "give more time in timeout"
    fix = "see whether a local firewall or security policy forbids the connection"
    return f"{where} cannot be connected to: {reply.detail}", expected, fix


def _not_rpc_words(seen: Observation) -> Words:
    """The port is open, but what is there speaks neither coro_rpc nor HTTP."""
    owner = f"{_show_owner(seen.address.port)} on {seen.address.host}"
    greeting = seen.rpc.data or (seen.rpc_port_http.health.data if seen.rpc_port_http else b"")
    if greeting:
        return (
            f"{seen.address} is another service; it says {excerpt(greeting)}",
            A_MASTER,
            f"correct mooncake_master_address, or free the port: {owner}",
        )
    if seen.rpc.outcome == network.CLOSED:
        return (
            f"{seen.address} accepts connections and closes them at once",
            A_MASTER,
            f"another service, or a proxy with no master behind it: {owner}",
        )
    side = seen.metrics_side
    also = ""
    if side and side.port != seen.address.port and side.health.outcome == network.SILENT:
        also = f", nor does its metrics port {side.port}"
    return (
        f"{seen.address} accepts connections but gives {seen.rpc.detail}{also}",
        A_MASTER,
        f"see who it is: {owner}; for a master that hangs: sudo systemctl restart mooncake-master",
    )


def _show_owner(port: int) -> str:
    return f"sudo ss -ltnp 'sport = :{port}'"


def role_words(seen: Observation) -> Words | None:
    """What the metrics port says about a master that does not serve; None when it says nothing."""
    side = seen.metrics_side
    if side is None or not side.is_master:
        return None
    if not seen.rpc_serves and seen.rpc.outcome != network.REFUSED:
        # Something holds the RPC port: a standby or a starting master does not listen there.
        return None
    if side.role == "standby":
        return (
            f"{seen.address} is a standby master and does not serve",
            "the leader",
            _leader_fix(side.leader_address),
        )
    if side.service_ready is False or side.ha_state == "leader_warmup":
        return (
            f"{seen.address} is a master that is not ready: state {side.ha_state or 'unknown'}",
            "service_ready true",
            f"wait some seconds; if it stays so, look into {SEE_LOG} on {seen.address.host}",
        )
    return None


def _leader_fix(leader: str | None) -> str:
    if leader is None:
        return "put the leader's host:port into mooncake_master_address (no leader is known yet)"
    if leader.startswith("0.0.0.0:"):
        return f"start the leader with its real rpc_address: it published {leader}"
    return f"put the leader's address into mooncake_master_address: {leader}"


def metrics_words(seen: Observation) -> Words | None:
    """The metrics port of a master whose RPC port serves; None when it answers as it should."""
    side = seen.metrics_side
    if side is None or (side.is_master and side.metrics_page.status_code == 200):
        return None
    host = seen.address.host
    where = master_address.join(host, side.port)
    outcome = side.health.outcome
    if outcome == network.REFUSED:
        return (
            f"{where} refused the connection, although {seen.address} serves",
            A_METRICS_PORT,
            (
                "compare with mooncake_master_metrics_port; if right, sudo systemctl restart mooncake-master "
                "(0.3.9 and older run on without metrics when the port was busy)"
            ),
        )
    if side.is_master:
        reply = side.metrics_page
        answer = reply.detail if reply.status_code is None else f"HTTP status {reply.status_code}"
        return (
            f"{where}/metrics does not answer as it should: {answer}",
            "the master's metrics",
            f"look into {SEE_LOG} on {host}",
        )
    if side.is_http or outcome in (network.ANSWERED, network.CLOSED, network.SILENT):
        return _foreign_metrics_words(seen, side, where)
    if outcome == network.TIMED_OUT:
        fix = (
            f"open {side.port}/tcp in the firewalls between here and {host}, or leave the "
            "metrics port out (metrics_port 0)"
        )
        observed = f"{where} did not accept a connection: {side.health.detail}"
        return observed, A_METRICS_PORT, fix
    return _unreachable_words(where, host, side.health, A_METRICS_PORT)


def _foreign_metrics_words(seen: Observation, side: HttpSide, where: str) -> Words:
    if side.is_http:
        observed = f"{where} is not the metrics port of {seen.address} but {_http_server(side)}"
    elif side.health.data:
        greeting = excerpt(side.health.data)
        observed = f"{where} is not the metrics port of {seen.address}; it says {greeting}"
    elif side.health.outcome == network.CLOSED:
        observed = f"{where} closes connections at once, although {seen.address} serves"
    else:
        observed = f"{where} gives {side.health.detail}, although {seen.address} serves"
    return (
        observed,
        A_METRICS_PORT,
        (
            f"free the port ({_show_owner(side.port)}) or change mooncake_master_metrics_port, "
            "then sudo systemctl restart mooncake-master"
        ),
    )


def _http_server(side: HttpSide) -> str:
    name = f" ({side.server})" if side.server else ""
    return f"an HTTP server{name}, /health status {side.health.status_code}"


def excerpt(data: bytes) -> str:
    """The first line of what a stranger said, short and safe for a terminal."""
    first_line = data[:200].split(b"\n", 1)[0].decode("ascii", "replace").strip()
    shown = "".join(
        letter if letter.isascii() and letter.isprintable() else "." for letter in first_line
    )
    return f'"{shown[:60]}"'
