# SPDX-License-Identifier: Apache-2.0
"""The master's probe against real mooncake_master processes on 127.0.0.1.

tests/masters/fetch_masters.sh DIRECTORY
KVCACHE_REAL_MASTERS=DIRECTORY pytest tests/masters/test_real_master.py
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import pytest
from ansible_collections.kvcache.ascend.plugins.module_utils import (
    finding,
    master_address,
    mooncake_master,
)
from ansible_collections.kvcache.ascend.tests.unit import loopback_servers

REPOSITORY = Path(__file__).resolve().parents[2]
VERSIONS = ("0.3.7.post1", "0.3.8.post1", "0.3.13.post1")
NEWEST = VERSIONS[-1]
SEGMENT_BYTES = 64 * 1024 * 1024

HOLD_A_SEGMENT = """
import sys
from mooncake.store import MooncakeDistributedStore
store = MooncakeDistributedStore()
status = store.setup(
    "127.0.0.1", "P2PHANDSHAKE", int(sys.argv[2]), 16 * 1024 * 1024, "tcp", "", sys.argv[1]
)
print("SETUP", status, "PUT", store.put("a key", b"x" * 1000), flush=True)
sys.stdin.read()
store.close()
"""


def folder_of(version: str) -> Path:
    setting = os.environ.get("KVCACHE_REAL_MASTERS")
    how = "run tests/masters/fetch_masters.sh DIRECTORY and set it to DIRECTORY"
    if not setting:
        pytest.fail(f"KVCACHE_REAL_MASTERS is not set: {how}", pytrace=False)
    folder = Path(setting) / version
    if not (folder / "mooncake" / "mooncake_master").exists():
        pytest.fail(f"{folder} has no mooncake/mooncake_master: {how}", pytrace=False)
    return folder


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Processes:
    """Starts processes and ends each of them by its own handle."""

    def __init__(self, log_folder: Path) -> None:
        self._log_folder = log_folder
        self._started: list[subprocess.Popen] = []

    def start(self, *command: object, **options) -> subprocess.Popen:
        log = self._log_folder / f"{len(self._started)}-{Path(str(command[0])).name}.log"
        with log.open("wb") as output:
            options = {"stdout": output, "stderr": output, "stdin": subprocess.DEVNULL, **options}
            process = subprocess.Popen([str(word) for word in command], **options)
        self._started.append(process)
        return process

    def end_all(self) -> None:
        for process in reversed(self._started):
            if process.poll() is None:
                process.kill()  # Also ends a process that is stopped by SIGSTOP.
            process.wait(timeout=20)
            for pipe in (process.stdin, process.stdout):
                if pipe:
                    pipe.close()


@pytest.fixture
def processes(tmp_path):
    started = Processes(tmp_path)
    yield started
    started.end_all()


class Master:
    def __init__(
        self, processes: Processes, version: str, *flags: str, metrics_port: int = 0
    ) -> None:
        self.rpc_port = free_port()
        self.metrics_port = metrics_port or free_port()
        self.folder = folder_of(version)
        self.process = processes.start(
            self.folder / "mooncake" / "mooncake_master",
            f"--rpc_port={self.rpc_port}",
            f"--metrics_port={self.metrics_port}",
            "--rpc_address=127.0.0.1",
            *flags,
        )

    def check(self, timeout_seconds: float = 0.0, port: int = 0, **options):
        return mooncake_master.wait_until_all_serve(
            [master_address.MasterAddress("127.0.0.1", port or self.rpc_port)],
            mooncake_master.Options(
                **{"metrics_port": self.metrics_port, "step_timeout_seconds": 2.0, **options}
            ),
            "demo-2",
            timeout_seconds,
            0.2,
        )

    def wait_until_it_serves(self):
        result = self.check(20.0)
        assert finding.worst(result.findings) != finding.ERROR, finding.render(result.findings)
        return result

    def check_until(self, is_reached, **options):
        """Ask until the facts are as wanted; for states in which a check never succeeds."""
        for _number in range(300):
            result = self.check(**options)
            if is_reached(result.masters[0]):
                return result
            assert self.process.poll() is None, "the master ended"
            time.sleep(0.1)
        pytest.fail(f"not reached; last seen: {result.masters[0]}")

    def metrics_text(self) -> str:
        url = f"http://127.0.0.1:{self.metrics_port}/metrics"
        with urllib.request.urlopen(url, timeout=5) as answer:
            return answer.read().decode()


def only(result):
    assert len(result.findings) == 1, finding.render(result.findings)
    return result.findings[0]


def attach_client(processes: Processes, master: Master) -> None:
    client = processes.start(
        sys.executable,
        "-c",
        HOLD_A_SEGMENT,
        f"127.0.0.1:{master.rpc_port}",
        SEGMENT_BYTES,
        env={**os.environ, "PYTHONPATH": str(master.folder)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert client.stdout
    for line in client.stdout:
        if b"SETUP" in line:
            assert line.strip() == b"SETUP 0 PUT 0"
            return
    pytest.fail("the client ended before it was set up")


@pytest.mark.parametrize("version", VERSIONS)
def test_a_master_without_clients_serves_and_the_probe_leaves_no_trace(processes, version):
    master = Master(processes, version)
    found = only(master.wait_until_it_serves())
    assert (found["check"], found["severity"]) == ("mooncake_master_clients", "ok")
    before = master.metrics_text()
    for _number in range(5):
        result = master.check()
    assert master.metrics_text() == before
    (facts,) = result.masters
    assert facts["serving"] is True
    assert facts["rpc"]["is_master"] is True
    assert facts["health"]["is_master"] is True
    expected = {
        "0.3.7.post1": (None, None, None, None, None),
        "0.3.8.post1": ("2.0.0", None, None, 0, 0),
        "0.3.13.post1": ("2.0.0", "leader", True, 0, 0),
    }
    assert expected[version] == (
        facts["rpc"]["protocol_version"],
        facts["role"],
        facts["health"]["service_ready"],
        facts["metrics"]["capacity_bytes"],
        facts["metrics"]["active_clients"],
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_a_master_with_a_client(processes, version):
    master = Master(processes, version)
    master.wait_until_it_serves()
    assert only(master.check(min_clients=1))["severity"] == "error"
    attach_client(processes, master)
    result = master.check(10.0, min_clients=1)
    assert only(result)["severity"] == "ok"
    metrics = result.masters[0]["metrics"]
    assert metrics["capacity_bytes"] == SEGMENT_BYTES
    assert metrics["allocated_bytes"] == 1000
    assert metrics["key_count"] == 1
    assert metrics["active_clients"] == (None if version == "0.3.7.post1" else 1)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_killed_master(processes, version):
    master = Master(processes, version)
    master.wait_until_it_serves()
    master.process.kill()
    master.process.wait()
    found = only(master.check())
    assert found["observed"] == f"127.0.0.1:{master.rpc_port} refused the connection"


@pytest.mark.parametrize("version", VERSIONS)
def test_a_stopped_master_is_silent(processes, version):
    master = Master(processes, version)
    master.wait_until_it_serves()
    master.process.send_signal(signal.SIGSTOP)
    found = only(master.check(step_timeout_seconds=0.5))
    assert "accepts connections but gives no answer within 0.5 s" in found["observed"]
    assert f"nor does its metrics port {master.metrics_port}" in found["observed"]
    master.process.send_signal(signal.SIGCONT)
    master.wait_until_it_serves()


@pytest.mark.parametrize("version", VERSIONS)
def test_the_ports_are_mixed_up(processes, version):
    master = Master(processes, version)
    master.wait_until_it_serves()
    found = only(master.check(port=master.metrics_port, step_timeout_seconds=0.5))
    assert "is the metrics port of a Mooncake master" in found["observed"]
    found = only(master.check(port=free_port()))
    assert f"but a master's metrics port {master.metrics_port} answers" in found["observed"]
    found = only(master.check(metrics_port=free_port()))
    assert found["check"] == "mooncake_master_metrics"
    assert "refused the connection, although 127.0.0.1:" in found["observed"]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_metrics_port_belongs_to_somebody_else(processes, version):
    stranger = loopback_servers.pages({"/health": (200, "fine")}, server="stranger/1")
    with loopback_servers.serve(stranger) as port:
        master = Master(processes, version, metrics_port=port)
        if version == NEWEST:
            # Since 0.3.11 the master does not start in this case.
            assert master.process.wait(timeout=30) == 1
            found = only(master.check())
            assert found["observed"] == f"127.0.0.1:{master.rpc_port} refused the connection"
            return
        result = master.check_until(lambda facts: facts["serving"])
    found = only(result)
    assert found["check"] == "mooncake_master_metrics"
    assert "but an HTTP server (stranger/1)" in found["observed"]
    assert result.masters[0]["serving"] is True


@pytest.mark.parametrize("version", VERSIONS)
def test_it_waits_for_a_master_that_is_started_later(processes, version):
    port, metrics_port = free_port(), free_port()
    binary = folder_of(version) / "mooncake" / "mooncake_master"

    def start() -> None:
        processes.start(binary, f"--rpc_port={port}", f"--metrics_port={metrics_port}")

    timer = threading.Timer(1.0, start)
    timer.start()
    result = mooncake_master.wait_until_all_serve(
        [master_address.MasterAddress("127.0.0.1", port)],
        mooncake_master.Options(metrics_port, 2.0),
        "demo-2",
        20.0,
        0.2,
    )
    timer.join()
    assert finding.worst(result.findings) != finding.ERROR, finding.render(result.findings)
    assert result.attempts > 1


def test_a_store_node_is_not_taken_for_a_master(processes):
    master = Master(processes, NEWEST)
    master.wait_until_it_serves()
    port, http_port = free_port(), free_port()
    processes.start(
        master.folder / "mooncake" / "mooncake_client",
        f"--master_server_address=127.0.0.1:{master.rpc_port}",
        "--host=127.0.0.1",
        "--protocol=tcp",
        "--metadata_server=P2PHANDSHAKE",
        "--global_segment_size=64MB",
        f"--port={port}",
        "--enable_http_server=true",
        f"--http_port={http_port}",
        env={**os.environ, "LD_LIBRARY_PATH": str(master.folder / "mooncake")},
    )
    result = master.check(20.0, min_clients=1)
    assert only(result)["severity"] == "ok"
    result = master.check_until(
        lambda facts: facts["rpc"]["outcome"] != "refused", port=port, metrics_port=http_port
    )
    assert "is another coro_rpc service" in only(result)["observed"]
    found = only(master.check(metrics_port=http_port))
    assert found["check"] == "mooncake_master_metrics"
    assert "is not the metrics port of" in found["observed"]


# --- high availability -------------------------------------------------------------------------


@pytest.fixture
def etcd_endpoint(processes, tmp_path):
    binary = shutil.which("etcd")
    if binary is None:
        pytest.fail("etcd is not installed (Debian: apt-get install etcd-server)", pytrace=False)
    client_url = f"http://127.0.0.1:{free_port()}"
    peer_url = f"http://127.0.0.1:{free_port()}"
    processes.start(
        binary,
        f"--data-dir={tmp_path / 'etcd'}",
        f"--listen-client-urls={client_url}",
        f"--advertise-client-urls={client_url}",
        f"--listen-peer-urls={peer_url}",
        f"--initial-advertise-peer-urls={peer_url}",
        f"--initial-cluster=default={peer_url}",
    )
    return client_url.partition("//")[2]


def test_a_standby_says_so_and_takes_over(processes, etcd_endpoint):
    flags = ("--enable_ha=true", f"--etcd_endpoints={etcd_endpoint}")
    leader = Master(processes, NEWEST, *flags)
    result = leader.check_until(lambda facts: facts["health"]["ha_state"] == "leader_warmup")
    found = only(result)
    assert (found["check"], found["severity"]) == ("mooncake_master_role", "error")
    assert "is a master that is not ready: state leader_warmup" in found["observed"]
    result = leader.check(60.0)
    assert result.masters[0]["serving"] is True, finding.render(result.findings)
    assert result.masters[0]["role"] == "leader"

    standby = Master(processes, NEWEST, *flags)
    # In its first moments a standby does not know its leader yet.
    result = standby.check_until(
        lambda facts: facts["role"] == "standby" and facts["health"]["leader_address"]
    )
    found = only(result)
    assert (found["check"], found["severity"]) == ("mooncake_master_role", "error")
    assert "is a standby master and does not serve" in found["observed"]
    assert f"127.0.0.1:{leader.rpc_port}" in found["fix"]
    assert result.masters[0]["rpc"]["outcome"] == "refused"

    leader.process.kill()
    leader.process.wait()
    result = standby.check(60.0)
    assert result.masters[0]["serving"] is True, finding.render(result.findings)
    assert result.masters[0]["role"] == "leader"


# --- the modules, as an operator runs them -------------------------------------------------------


def run_module(name: str, arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [
            *(sys.executable, "-m", "ansible", "adhoc", "localhost"),
            *("-m", f"kvcache.ascend.{name}", "-a", arguments),
        ],
        env={
            **os.environ,
            "ANSIBLE_COLLECTIONS_PATH": str(REPOSITORY / "collections"),
            "ANSIBLE_NOCOLOR": "1",
        },
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_the_modules_through_ansible(processes):
    master = Master(processes, NEWEST)
    master.wait_until_it_serves()
    arguments = f"address=127.0.0.1:{master.rpc_port} metrics_port={master.metrics_port}"
    for name in ("mooncake_master_check", "mooncake_master_info"):
        run = run_module(name, arguments)
        assert run.returncode == 0, run.stdout + run.stderr
        assert "serving: true" in run.stdout
    master.process.kill()
    master.process.wait()
    run = run_module("mooncake_master_info", arguments)
    assert run.returncode == 0
    assert "serving: false" in run.stdout
    run = run_module("mooncake_master_check", f"{arguments} timeout=0")
    assert run.returncode != 0
    for words in (
        f"127.0.0.1:{master.rpc_port} refused the connection (from host ",
        "Expected: a Mooncake master.",
        "Fix: start it there (sudo systemctl start mooncake-master)",
    ):
        assert words in run.stdout + run.stderr


def test_a_wrong_argument_is_explained(processes):
    run = run_module("mooncake_master_info", "address=etcd://10.0.0.1:2379 interval=3")
    assert run.returncode != 0
    run = run_module("mooncake_master_info", "address=etcd://10.0.0.1:2379")
    assert run.returncode != 0
    assert "HA addresses are not supported yet" in run.stdout + run.stderr


@contextlib.contextmanager
def without_setting():
    setting = os.environ.pop("KVCACHE_REAL_MASTERS", None)
    try:
        yield
    finally:
        if setting is not None:
            os.environ["KVCACHE_REAL_MASTERS"] = setting


def test_without_the_masters_it_fails_and_says_how_to_get_them():
    with without_setting(), pytest.raises(pytest.fail.Exception, match=r"fetch_masters\.sh"):
        folder_of(NEWEST)
