# SPDX-License-Identifier: Apache-2.0
"""The tree of a build, made from what Mooncake's install rules leave behind."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from ansible_collections.kvcache.ascend.plugins.module_utils import (
    build_host,
    host_files,
    mooncake_assemble,
    mooncake_steps,
)


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    made = tmp_path / "install"
    for name in (
        "bin/mooncake_master",
        "bin/other",
        "lib/libasio.so",
        "lib/libx.a",
        "lib64/libtransfer_engine.so.1.2",
    ):
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).write_text(name)
    package = made / "packages" / "mooncake"
    package.mkdir(parents=True)
    for name in ("__init__.py", "store.cpython-311-x86_64-linux-gnu.so", "libasio.so"):
        (package / name).write_text(name)
    return made


def test_only_what_runs_is_taken_and_libraries_are_beside_the_modules(
    prefix: Path, tmp_path: Path
) -> None:
    staging = tmp_path / "staging"
    (staging / "old").mkdir(parents=True)
    mooncake_assemble.assemble(str(prefix), str(staging))
    names = sorted(
        str(path.relative_to(staging)) for path in staging.rglob("*") if not path.is_dir()
    )
    assert names == [
        "bin/mooncake_master",
        "lib/libasio.so",
        "lib/libtransfer_engine.so.1.2",
        "python/mooncake/__init__.py",
        "python/mooncake/libasio.so",
        "python/mooncake/libtransfer_engine.so.1.2",
        "python/mooncake/store.cpython-311-x86_64-linux-gnu.so",
    ]
    link = staging / "python/mooncake/libtransfer_engine.so.1.2"
    assert link.is_symlink() and link.read_text() == "lib64/libtransfer_engine.so.1.2"
    assert not (staging / "python/mooncake/libasio.so").is_symlink()


@pytest.mark.parametrize(
    ("lost", "words"), [("bin/mooncake_master", "WITH_STORE"), ("packages", "elsewhere")]
)
def test_an_installation_that_is_not_whole_is_refused(
    prefix: Path, tmp_path: Path, lost: str, words: str
) -> None:
    path = prefix / lost
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    with pytest.raises(mooncake_assemble.AssembleError, match=words):
        mooncake_assemble.assemble(str(prefix), str(tmp_path / "staging"))


def test_the_packages_of_libraries_are_those_that_own_them(tmp_path: Path) -> None:
    """With dpkg and rpm as canned answers: on a merged /usr the loader and dpkg name a file differently."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "mooncake_master").touch()

    def run(command: list[str], environment: dict[str, str]) -> tuple[int, str, str]:
        if command[0] == "ldd":
            return (
                0,
                "\tlibglog.so.1 => /lib/libglog.so.1 (0x1)\n\tlibacl.so => /opt/cann/libacl.so (0x2)\n",
                "",
            )
        if command[-1] == "/usr/lib/libglog.so.1":
            return 0, "libgoogle-glog0v6:amd64: /usr/lib/libglog.so.1\n", ""
        return 1, "", "dpkg-query: no path found"

    assert mooncake_assemble.runtime_packages(str(tmp_path), "apt", run, {}) == [
        "libgoogle-glog0v6"
    ]


def test_real_libraries_belong_to_real_packages(tmp_path: Path) -> None:
    if not shutil.which("dpkg-query"):
        pytest.skip("no dpkg here")
    (tmp_path / "bin").mkdir()
    shutil.copy("/bin/ls", tmp_path / "bin" / "mooncake_master")

    def run(command: list[str], environment: dict[str, str]) -> tuple[int, str, str]:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    assert "libc6" in mooncake_assemble.runtime_packages(str(tmp_path), "apt", run, {})


def test_the_steps_use_a_prefix_of_their_own_and_lead_python_to_it() -> None:
    steps = mooncake_steps.steps(
        "/w",
        {"CMAKE_CXX_FLAGS": "-DX", "CMAKE_PREFIX_PATH": "/p"},
        python="/usr/bin/python3",
        jobs=3,
        cann_include="/cann",
    )
    assert [step["name"] for step in steps] == [
        "configure yalantinglibs",
        "install yalantinglibs",
        "configure Mooncake",
        "compile Mooncake",
        "install Mooncake",
    ]
    configure = steps[2]["argv"]
    assert "-DCMAKE_PREFIX_PATH=/w/prefix;/p" in configure
    assert "-DCMAKE_CXX_FLAGS=-isystem /w/prefix/include -isystem /cann -DX" in configure
    assert "-DCMAKE_INSTALL_PREFIX=/w/install" in configure
    assert steps[3]["argv"][-1] == "3"
    environment = mooncake_steps.environment(
        "/w", {"home": "/c", "lib": "/c/lib", "environment": {"A": "b"}}, site={"N": 1}
    )
    assert environment["PYTHONPATH"] == "/w/install/packages"
    assert (environment["A"], environment["LIBRARY_PATH"], environment["N"]) == ("b", "/c/lib", "1")


def test_ccache_and_ninja_are_used_when_told() -> None:
    steps = mooncake_steps.steps(
        "/w", {}, python="/p", jobs=1, generator="ninja", ccache="/usr/bin/ccache"
    )
    assert "-DCMAKE_CXX_COMPILER_LAUNCHER=/usr/bin/ccache" in steps[2]["argv"]
    assert steps[2]["argv"][1:3] == ["-G", "Ninja"]


def test_a_container_s_limit_counts_as_memory() -> None:
    meminfo = "MemTotal: 32000000 kB\nMemAvailable:   16000000 kB\n"
    assert build_host.memory_bytes(meminfo, ["max\n", ""]) == 16000000 * 1024
    assert build_host.memory_bytes(meminfo, ["1073741824\n"]) == 1 << 30
    assert build_host.memory_bytes("", []) == 0


def test_os_release_in_all_its_spellings() -> None:
    text = '# c\nNAME="openEuler"\nID=\'openEuler\'\nVERSION_ID=24.03\nBAD="x\n\n'
    seen = host_files.os_release(text)
    assert (seen["NAME"], seen["ID"], seen["VERSION_ID"]) == ("openEuler", "openEuler", "24.03")
