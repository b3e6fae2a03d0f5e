# SPDX-License-Identifier: Apache-2.0
"""Whether the loader would find CANN's libraries."""

from __future__ import annotations

import subprocess
from pathlib import Path

from ansible_collections.kvcache.ascend.plugins.module_utils import mooncake_cann

NAMES = ["libascendcl.so", "libmetadef.so"]


def really(command: list[str], environment: dict[str, str]) -> tuple[int, str, str]:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        return 127, "", str(error)
    return done.returncode, done.stdout, done.stderr


def test_a_host_without_cann(tmp_path: Path) -> None:
    seen = mooncake_cann.look(
        NAMES, {"LD_LIBRARY_PATH": f"{tmp_path}:"}, really, (f"{tmp_path}/x*",)
    )
    assert seen["missing"] == NAMES
    assert seen["looked_in"][0] == str(tmp_path)
    (one,) = mooncake_cann.findings(seen, "h1", "Mooncake 1")
    assert "Mooncake 1 needs libascendcl.so, libmetadef.so of CANN" in one["observed"]
    assert str(tmp_path) in one["observed"]
    assert "install CANN" in one["fix"]


def test_libraries_that_ld_library_path_or_the_cache_names(tmp_path: Path) -> None:
    for name in NAMES:
        (tmp_path / name).write_text("")
    seen = mooncake_cann.look(NAMES, {"LD_LIBRARY_PATH": f"/nowhere:{tmp_path}"}, really)
    assert mooncake_cann.findings(seen, "h1", "Mooncake 1") == []
    cached = [name for name in mooncake_cann.loader_cache(really) if name.startswith("libc.so")]
    assert cached
    assert mooncake_cann.look(cached, {}, really)["missing"] == []


def test_libraries_elsewhere_are_named_with_the_setting(tmp_path: Path) -> None:
    lib = tmp_path / "cann-9" / "lib64"
    lib.mkdir(parents=True)
    (lib / NAMES[0]).write_text("")
    seen = mooncake_cann.look(NAMES, {}, really, (f"{tmp_path}/cann*/lib64",))
    assert seen["elsewhere"] == [str(lib)]
    (one,) = mooncake_cann.findings(seen, "h1", "Mooncake 1")
    assert f"LD_LIBRARY_PATH: {lib}:" in one["fix"]


def test_nothing_is_looked_for_when_nothing_is_needed() -> None:
    assert mooncake_cann.look([], {"LD_LIBRARY_PATH": "/x"}, really)["looked_in"] == []
