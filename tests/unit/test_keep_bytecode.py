# SPDX-License-Identifier: Apache-2.0
"""The bytecode that test hosts keep, with a real zip file and Pythons of their own."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "testbed"
PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
import keep_bytecode
keep_bytecode.ROOT = sys.argv[2]
sys.path.insert(0, sys.argv[3])
import thing
print(thing.WORD)
"""


def imported(root: Path, archive: Path) -> str:
    command = [sys.executable, "-c", PROGRAM, str(FOLDER), str(root), str(archive)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def zipped(path: Path, source: str) -> Path:
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("thing.py", source)
    return path


def test_what_is_compiled_once_is_taken_from_the_folder(tmp_path: Path) -> None:
    root = tmp_path / "kept"
    assert imported(root, zipped(tmp_path / "a.zip", "WORD = 'first'")) == "first"
    (kept,) = root.glob("*/*")
    assert kept.parent.stat().st_mode & 0o777 == 0o700
    kept.write_bytes(kept.read_bytes().replace(b"first", b"other"))
    assert imported(root, zipped(tmp_path / "b.zip", "WORD = 'first'")) == "other"
    assert imported(root, zipped(tmp_path / "c.zip", "WORD = 'second'")) == "second"
    assert len(list(root.glob("*/*"))) == 2


def test_what_is_damaged_is_compiled_anew(tmp_path: Path) -> None:
    root, archive = tmp_path / "kept", zipped(tmp_path / "a.zip", "WORD = 'first'")
    imported(root, archive)
    (kept,) = root.glob("*/*")
    whole = kept.read_bytes()
    kept.write_bytes(whole[:9])
    assert imported(root, archive) == "first"
    assert kept.read_bytes() == whole


def test_without_a_folder_python_compiles_as_ever(tmp_path: Path) -> None:
    root = tmp_path / "file"
    root.write_text("in the way")
    assert imported(root, zipped(tmp_path / "a.zip", "WORD = 'first'")) == "first"
