# SPDX-License-Identifier: Apache-2.0
"""What set_env.sh sets, captured by a real shell."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from ansible_collections.kvcache.ascend.plugins.module_utils import cann_environment
from ansible_collections.kvcache.ascend.plugins.module_utils.npu_files import Files

INSTALL = Path(__file__).parents[3] / "testbed" / "ascend" / "install"


def run(command: list[str], environment: dict[str, str]) -> tuple[int, str, str]:
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("version", "set_env"),
    [("8.3.RC1", "ascend-toolkit/set_env.sh"), ("9.1.0", "cann-9.1.0/set_env.sh")],
)
def test_the_files_of_the_cann_in_use_are_found_in_either_layout(
    tmp_path: Path, version: str, set_env: str
) -> None:
    subprocess.run(
        [INSTALL, tmp_path / "usr/local/Ascend", version], check=True, stdout=subprocess.DEVNULL
    )
    assert cann_environment.find(Files(str(tmp_path))) == [
        f"/usr/local/Ascend/{set_env}",
        "/usr/local/Ascend/nnal/atb/set_env.sh",
    ]
    assert cann_environment.find(Files(str(tmp_path / "none"))) == []


def test_variables_are_those_of_the_files_and_not_of_the_shell(tmp_path: Path) -> None:
    first, second = tmp_path / "one.sh", tmp_path / "two.sh"
    first.write_text(
        "export ASCEND_HOME_PATH=/cann LD_LIBRARY_PATH=/cann/lib64\ncd /\nf() { :; }\nexport -f f\n"
    )
    second.write_text('export LD_LIBRARY_PATH=/atb/lib:$LD_LIBRARY_PATH ODD="two words"\n')
    captured = cann_environment.capture([str(first), str(second)], "/stack/bin", run)
    assert captured["error"] is None
    assert captured["variables"] == {
        "ASCEND_HOME_PATH": "/cann",
        "LD_LIBRARY_PATH": "/atb/lib:/cann/lib64",
        "ODD": "two words",
        "PATH": f"/stack/bin:{cann_environment.SYSTEM_PATH}",
    }


def test_a_file_that_ends_the_shell_is_told(tmp_path: Path) -> None:
    broken = tmp_path / "broken.sh"
    broken.write_text("exit 3\n")
    captured = cann_environment.capture([str(broken)], "", run)
    assert captured["variables"] == {}
    assert "ended with status 3" in captured["error"]
