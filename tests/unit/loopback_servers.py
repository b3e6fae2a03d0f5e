# SPDX-License-Identifier: Apache-2.0
"""Small servers on 127.0.0.1, one for each thing that can stand on a master's ports."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from typing import Callable, Iterator

Handler = Callable[[socket.socket], None]

# What real masters answered to ServiceReady, after the header: 0.3.7.post1 and 0.3.8 to 0.3.13.
BODY_WITHOUT_VERSION = bytes.fromhex("cd6828af0487fa010001")
BODY_WITH_VERSION = bytes.fromhex("35ccb31c0487800c010001") + b"\x052.0.0"
# What a real server answered to a function that it does not know.
BODY_NOT_REGISTERED = bytes.fromhex("77facf9d04800c00") + b"\x1fthe rpc function not registered"

METRICS_WITH_POOL = """\
# HELP master_allocated_bytes Total memory bytes currently allocated
# TYPE master_allocated_bytes gauge
master_allocated_bytes 1000
master_total_capacity_bytes 67108864
master_key_count 2
master_active_clients 1
segment_total_capacity_bytes{segment="127.0.0.1:15000"} 67108864
master_successful_evictions_total 0
"""
METRICS_WITHOUT_POOL = """\
master_allocated_bytes 0
master_total_capacity_bytes 0
master_key_count 0
master_active_clients 0
"""


@contextlib.contextmanager
def serve(handler: Handler) -> Iterator[int]:
    """Give every connection to the handler; yield the port."""
    listener = socket.create_server(("127.0.0.1", 0))
    stop = threading.Event()

    def accept() -> None:
        while not stop.is_set():
            try:
                connection, _peer = listener.accept()
            except OSError:
                return
            threading.Thread(target=handle, args=(connection,), daemon=True).start()

    def handle(connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            connection.settimeout(10)
            handler(connection)

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield listener.getsockname()[1]
    finally:
        stop.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


@contextlib.contextmanager
def refused_port() -> Iterator[int]:
    """A port that is ours but on which nobody listens, so that connections are refused."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


@contextlib.contextmanager
def filtered_port() -> Iterator[int]:
    """A port whose queue is full: the kernel drops what arrives, as a firewall does."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _number in range(4):
            client = stack.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]


def rpc_answer(error_code: int, body: bytes) -> Handler:
    """A coro_rpc server that gives every request the same answer."""

    def handler(connection: socket.socket) -> None:
        request = connection.recv(4096)
        if request[:1] != b"\x15":
            return  # A real coro_rpc server closes here too.
        (sequence,) = struct.unpack_from("<I", request, 4)
        header = struct.pack("<BBBBIII", 0x15, 0, error_code, 0, sequence, len(body), 0)
        connection.sendall(header + body)

    return handler


def pages(answers: dict[str, tuple[int, str]], server: str = "cinatra") -> Handler:
    """An HTTP server with these pages (path: status, text), 404 for every other path."""

    def handler(connection: socket.socket) -> None:
        request = b""
        while b"\r\n\r\n" not in request:
            chunk = connection.recv(4096)
            if not chunk:
                return
            request += chunk
        path = request.split(b" ", 2)[1].decode()
        status, text = answers.get(path, (404, "404 Not Found"))
        body = text.encode()
        head = f"HTTP/1.1 {status} x\r\nServer: {server}\r\nContent-Length: {len(body)}\r\n\r\n"
        connection.sendall(head.encode() + body)

    return handler


def old_master_pages(metrics: str = METRICS_WITH_POOL) -> Handler:
    """The metrics port of 0.3.7 to 0.3.9."""
    return pages({"/health": (200, "OK"), "/metrics": (200, metrics)})


def new_master_pages(
    metrics: str = METRICS_WITH_POOL,
    role: str = "leader",
    state: str = "serving",
    ready: str = "true",
    leader: str = "null",
) -> Handler:
    """The metrics port of 0.3.10 and newer."""
    health = (
        f'{{"status":"ok","role":"{role}","ha_state":"{state}","service_ready":{ready},'
        f'"leader_address":{leader},"view_version":null}}'
    )
    return pages(
        {
            "/health": (200, health),
            "/role": (200, role),
            "/leader": (200, f'{{"present":true,"leader_address":{leader},"view_version":1}}'),
            "/metrics": (200, metrics),
        }
    )


def silent(connection: socket.socket) -> None:
    while connection.recv(4096):
        pass


def closes_at_once(connection: socket.socket) -> None:
    pass


def banner(text: bytes) -> Handler:
    """A service that speaks first."""

    def handler(connection: socket.socket) -> None:
        connection.sendall(text)
        silent(connection)

    return handler
