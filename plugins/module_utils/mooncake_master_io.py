# Copyright The kvcache.ascend authors
# SPDX-License-Identifier: Apache-2.0
"""Sockets of the master's probe: resolve, connect, send, receive, and say how far that went."""

from __future__ import annotations

import errno
import queue
import re
import socket
import threading
import time
from dataclasses import dataclass, field
from typing import Callable, List, Tuple

# How far a step came.
ANSWERED = "answered"
REFUSED = "refused"
TIMED_OUT = "timed_out"
UNREACHABLE = "unreachable"
FAILED = "failed"
CLOSED = "closed"
SILENT = "silent"
NOT_ASKED = "not_asked"

# A name with several addresses gives several outcomes; the first of this list tells the most.
_MOST_TELLING_FIRST = (REFUSED, TIMED_OUT, UNREACHABLE, FAILED, NOT_ASKED)

# The metrics of a master with thousands of segments stay below this; whatever else sends more is
# no master.
MAXIMUM_ANSWER_BYTES = 4 * 1024 * 1024

Resolver = Callable[[str, int], List[str]]
Connector = Callable[[Tuple[str, int], float], socket.socket]


class Budget:
    """Seconds that the next step may take: a step's limit, or what is left of the whole."""

    def __init__(self, step_seconds: float, total_seconds: float | None = None) -> None:
        self.step_seconds = step_seconds
        self.total_seconds = total_seconds
        self._end = None if total_seconds is None else time.monotonic() + total_seconds

    def next_step(self) -> float:
        if self._end is None:
            return self.step_seconds
        return max(0.0, min(self.step_seconds, self._end - time.monotonic()))


@dataclass(frozen=True)
class Resolution:
    ip_addresses: list[str] = field(default_factory=list)
    error: str = ""
    # True: the name server did not answer. False: it answered that there is no such name.
    is_temporary: bool = False


@dataclass(frozen=True)
class Reply:
    outcome: str
    detail: str = ""
    data: bytes = b""


@dataclass(frozen=True)
class HttpReply(Reply):
    # None when what came back, if anything, was not HTTP.
    status_code: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    text: str = ""


def system_resolver(host: str, port: int) -> list[str]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    # One name can be listed twice in /etc/hosts; a dict keeps the order.
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def system_connector(target: tuple[str, int], seconds: float) -> socket.socket:
    return socket.create_connection(target, timeout=seconds)


def resolve(host: str, port: int, seconds: float, resolver: Resolver) -> Resolution:
    """Resolve a name within some seconds.

    getaddrinfo has no time limit of its own, and a dead name server holds it for half a minute.
    It therefore runs in a thread that is left behind when the time is over.
    """
    answers: queue.Queue[Resolution] = queue.Queue()

    def run() -> None:
        try:
            answers.put(Resolution(resolver(host, port)))
        except socket.gaierror as error:
            temporary = error.errno == socket.EAI_AGAIN
            answers.put(Resolution(error=error.strerror or str(error), is_temporary=temporary))
        except (OSError, UnicodeError) as error:  # UnicodeError: a label is empty or too long.
            answers.put(Resolution(error=str(error)))

    threading.Thread(target=run, daemon=True).start()
    try:
        return answers.get(timeout=max(seconds, 0.001))
    except queue.Empty:
        return Resolution(error=f"no answer within {seconds:g} s", is_temporary=True)


def exchange(
    ip_addresses: list[str],
    port: int,
    payload: bytes,
    is_complete: Callable[[bytes], bool],
    *,
    budget: Budget,
    connector: Connector,
) -> Reply:
    """Connect to the first address that lets us, send, and receive until the answer is whole."""
    failures = []
    for ip_address in ip_addresses:
        seconds = budget.next_step()
        if seconds <= 0:
            failures.append(_out_of_budget(budget))
            continue
        try:
            connection = connector((ip_address, port), seconds)
        except OSError as error:
            failures.append(_connect_failure(error, seconds))
            continue
        with connection:
            return _talk(connection, payload, is_complete, budget)
    return min(failures, key=lambda reply: _MOST_TELLING_FIRST.index(reply.outcome))


def _out_of_budget(budget: Budget) -> Reply:
    return Reply(NOT_ASKED, f"the timeout of {budget.total_seconds:g} s was used up before")


def _connect_failure(error: OSError, seconds: float) -> Reply:
    if isinstance(error, ConnectionRefusedError):
        return Reply(REFUSED, "Connection refused")
    if isinstance(error, socket.timeout) or error.errno == errno.ETIMEDOUT:
        return Reply(TIMED_OUT, f"no answer within {seconds:.2g} s")
    if error.errno in (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.EADDRNOTAVAIL):
        return Reply(UNREACHABLE, error.strerror or str(error))
    return Reply(FAILED, error.strerror or str(error))


def _talk(
    connection: socket.socket,
    payload: bytes,
    is_complete: Callable[[bytes], bool],
    budget: Budget,
) -> Reply:
    seconds = budget.next_step()
    if seconds <= 0:
        return _out_of_budget(budget)
    # The limit is for the whole answer: a server that sends a byte now and then does not get more.
    end = time.monotonic() + seconds
    received = bytearray()
    ended_as = Reply(SILENT, f"no answer within {seconds:.2g} s")
    try:
        connection.settimeout(seconds)
        connection.sendall(payload)
        while not is_complete(bytes(received)) and len(received) < MAXIMUM_ANSWER_BYTES:
            left = end - time.monotonic()
            if left <= 0:
                break
            connection.settimeout(left)
            chunk = connection.recv(65536)
            if not chunk:
                ended_as = Reply(CLOSED, "closed without an answer")
                break
            received += chunk
    except socket.timeout:
        pass
    except OSError as error:
        ended_as = Reply(CLOSED, error.strerror or str(error))
    if received:
        return Reply(ANSWERED, data=bytes(received))
    return ended_as


def http_get(
    ip_addresses: list[str],
    port: int,
    host_header: str,
    path: str,
    *,
    budget: Budget,
    connector: Connector,
) -> HttpReply:
    request = (
        f"GET {path} HTTP/1.1\r\nHost: {host_header}\r\n"
        "User-Agent: kvcache.ascend\r\nAccept: */*\r\nConnection: close\r\n\r\n"
    ).encode("ascii")
    reply = exchange(
        ip_addresses, port, request, is_whole_http_answer, budget=budget, connector=connector
    )
    return read_http_answer(reply)


def read_http_answer(reply: Reply) -> HttpReply:
    """Never raises; what is not HTTP keeps status_code None."""
    head, _blank_line, body = reply.data.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    status = re.match(r"HTTP/[0-9.]+ +([0-9]{3})(?: |\Z)", lines[0])
    if status is None:
        return HttpReply(reply.outcome, reply.detail, reply.data)
    headers = _headers(lines[1:])
    if "chunked" in headers.get("transfer-encoding", "").lower():
        body = _join_chunks(body)
    return HttpReply(
        reply.outcome,
        reply.detail,
        reply.data,
        int(status.group(1)),
        headers,
        body.decode("utf-8", "replace"),
    )


def is_whole_http_answer(data: bytes) -> bool:
    """Whether the length that the answer announces is there; without one, the end is the close."""
    if data and not b"HTTP/".startswith(data[:5]):
        # Another protocol: its greeting is all that is wanted.
        return True
    head, blank_line, body = data.partition(b"\r\n\r\n")
    if not blank_line:
        return False
    headers = _headers(head.decode("latin-1").split("\r\n")[1:])
    if "chunked" in headers.get("transfer-encoding", "").lower():
        return body.endswith(b"0\r\n\r\n")
    length = headers.get("content-length", "")
    return re.match(r"[0-9]{1,12}\Z", length) is not None and len(body) >= int(length)


def _headers(lines: list[str]) -> dict[str, str]:
    pairs = (line.partition(":") for line in lines)
    return {name.strip().lower(): value.strip() for name, colon, value in pairs if colon}


def _join_chunks(body: bytes) -> bytes:
    joined = b""
    while body:
        size_line, _newline, rest = body.partition(b"\r\n")
        found = re.match(rb"([0-9a-fA-F]{1,8})", size_line)
        size = int(found.group(1), 16) if found else 0
        if size == 0:
            break
        joined += rest[:size]
        body = rest[size + 2 :]
    return joined
