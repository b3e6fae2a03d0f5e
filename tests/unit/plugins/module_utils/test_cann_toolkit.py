# SPDX-License-Identifier: Apache-2.0
"""CANN's toolkit as its installers lay it out, and what is said when it will not do."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from ansible_collections.kvcache.ascend.plugins.module_utils import cann_toolkit

NEEDS = {
    "headers": ["acl/acl.h", "adxl/adxl_engine.h"],
    "libraries": ["libascendcl.so", "libmetadef.so|libgraph_base.so"],
    "min": "8.3.RC1",
}
FILES = (
    "include/acl/acl.h",
    "include/adxl/adxl_engine.h",
    "lib64/libascendcl.so",
    "lib64/libgraph_base.so",
)


def run(command: list[str], environment: dict[str, str]) -> tuple[int, str, str]:
    done = subprocess.run(
        command, env=environment or None, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


def toolkit(home: Path, version: str, files: tuple[str, ...] = FILES) -> Path:
    for name in files:
        path = home / "aarch64-linux" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (home / "aarch64-linux").mkdir(parents=True, exist_ok=True)
    (home / "aarch64-linux" / "ascend_toolkit_install.info").write_text(f"version={version}\n")
    return home


def look(*homes: Path) -> dict:
    return cann_toolkit.look(NEEDS, "aarch64", [str(home) for home in homes], run)


def test_the_first_that_has_all_is_taken(tmp_path: Path) -> None:
    seen = look(
        tmp_path / "absent",
        toolkit(tmp_path / "runtime", "9.0.0", FILES[2:]),
        toolkit(tmp_path / "good", "8.5.0"),
        toolkit(tmp_path / "other", "9.0.0"),
    )
    assert seen["home"] == str(tmp_path / "good")
    assert seen["version"] == "8.5.0"
    assert seen["include"] == f"{tmp_path}/good/aarch64-linux/include"
    assert seen["environment"]["ASCEND_HOME_PATH"] == str(tmp_path / "good")
    assert [item["reason"] for item in seen["rejected"]] == [
        "is not there",
        f"lacks {tmp_path}/runtime/aarch64-linux/include/acl/acl.h",
    ]
    assert cann_toolkit.findings(seen, NEEDS, "npu-1", "Mooncake") == []


def test_one_that_is_too_old_is_named_with_its_path(tmp_path: Path) -> None:
    seen = look(toolkit(tmp_path / "old", "8.0.RC3"))
    (found,) = cann_toolkit.findings(seen, NEEDS, "npu-1", "Mooncake 0.3.7")
    assert f"{tmp_path}/old is CANN 8.0.RC3, older than 8.3.RC1" in found["observed"]
    assert "8.3.RC1 or newer" in found["expected"]
    assert "mooncake_cann_home" in found["fix"]


def test_without_any_the_places_are_named() -> None:
    (found,) = cann_toolkit.findings(look(), NEEDS, "npu-1", "Mooncake")
    assert "there is no CANN at /usr/local/Ascend/cann" in found["observed"]


def test_what_set_env_sets_is_kept_but_not_its_pythonpath(tmp_path: Path) -> None:
    home = toolkit(tmp_path / "cann", "9.0.0")
    (home / "set_env.sh").write_text(
        "export ASCEND_TOOLKIT_HOME=/x\nexport LD_LIBRARY_PATH=/x/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}\n"
        "export PYTHONPATH=/x/python\nexport PATH=/x/bin:$PATH\necho noise\n"
    )
    assert look(home)["environment"] == {
        "ASCEND_HOME_PATH": str(home),
        "ASCEND_TOOLKIT_HOME": "/x",
        "LD_LIBRARY_PATH": "/x/lib64",
    }


def test_set_env_beside_the_version_is_found_through_the_link(tmp_path: Path) -> None:
    toolkit(tmp_path / "ascend-toolkit" / "8.3.RC2", "8.3.RC2")
    (tmp_path / "ascend-toolkit" / "set_env.sh").write_text("export A=b\n")
    link = tmp_path / "ascend-toolkit" / "latest"
    link.symlink_to("8.3.RC2")
    assert look(link)["environment"]["A"] == "b"


def test_the_site_s_choice_is_the_only_one(tmp_path: Path) -> None:
    places = (f"{tmp_path}/cann*",)
    for name in ("cann-1", "cann-2"):
        (tmp_path / name).mkdir()
    assert cann_toolkit.candidates("/mine", "/env", places) == ["/mine"]
    assert cann_toolkit.candidates("", "/env", places) == [
        "/env",
        f"{tmp_path}/cann-2",
        f"{tmp_path}/cann-1",
    ]


@pytest.mark.parametrize(
    ("seen", "wanted", "older"),
    [
        ("8.0.RC3", "8.3.RC1", True),
        ("8.5.0", "8.3.RC1", False),
        ("9.0.0-beta.1", "8.3.RC1", False),
        (None, "8.3.RC1", False),
        ("8.0", None, False),
    ],
)
def test_only_what_is_known_to_be_older_is(
    seen: str | None, wanted: str | None, older: bool
) -> None:
    assert cann_toolkit.is_older(seen, wanted) is older
