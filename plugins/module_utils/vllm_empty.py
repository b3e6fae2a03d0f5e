# SPDX-License-Identifier: Apache-2.0
"""vLLM built without a device (``VLLM_TARGET_DEVICE=empty``): one wheel of Python alone, for every host and architecture.

vLLM's own wheel brings hundreds of MB that are for CUDA. This one brings what an NPU needs, in some MB. It is made from the
source archive on the package index, whose sha256 the release names.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from typing import Any, NamedTuple

from ansible_collections.kvcache.ascend.plugins.module_utils import (
    host_files,
    pip_errors,
    python_lock,
)
from ansible_collections.kvcache.ascend.plugins.module_utils.mooncake_proof import Runner

STAND_IN = {
    "__init__.py": "from . import version\n",
    "version.py": "cuda = None\nhip = None\nxpu = None\n",
    "utils/__init__.py": "",
    "utils/cpp_extension.py": "CUDA_HOME = None\nROCM_HOME = None\n",
}
"""What vLLM's setup.py asks torch, answered without the 3 GB of torch: that there is no CUDA and no ROCm."""


class Source(NamedTuple):
    """vLLM's source archive: the version that it is of, and its sha256."""

    version: str
    sha256: str


class BuildError(Exception):
    """The wheel could not be made; the text says why and what to do."""


def version_of(release_version: str) -> str:
    """Return the version that such a wheel carries."""
    return f"{release_version}+empty"


def wheel_name(release_version: str) -> str:
    """Return the wheel's file name."""
    return f"vllm-{version_of(release_version)}-py3-none-any.whl"


def record_of(wheel: str) -> str:
    """Return the path of the file that says from what a wheel was made."""
    return f"{wheel}.json"


def made_before(folder: str, source: Source) -> dict[str, Any] | None:
    """Return a lock's entry of the wheel when `folder` has it whole and made from this source; else None."""
    wheel = os.path.join(folder, wheel_name(source.version))
    record = host_files.read_dict(record_of(wheel)) or {}
    try:
        whole = host_files.sha256(wheel) == record["wheel"]["sha256"]
    except (OSError, KeyError, TypeError):
        return None
    return record["wheel"] if whole and record["source_sha256"] == source.sha256 else None


def write_stand_in(folder: str) -> None:
    """Write the package torch that answers setup.py."""
    for name, text in STAND_IN.items():
        path = os.path.join(folder, "torch", name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write(path, text)


def write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as handle:
        handle.write(text)


def call(run: Runner, command: list[str], environment: dict[str, str], what: str) -> str:
    """Run a command and return its output; BuildError explains why it failed."""
    status, output, error = run(command, environment)
    if status != 0:
        explained = pip_errors.explain(f"{output}\n{error}", environment["TMPDIR"])
        raise BuildError(f"{what}: {explained}")
    return output


def address_of(source: Source, found: str) -> str:
    """Return where the source archive is, with its checksum for pip to compare; `found` is what pip says of its search.

    Pip would not build an archive that it was asked for by version, since the wheel has another one.
    """
    name = f"vllm-{source.version}.tar.gz"
    links = re.findall(rf"Found link (\S+/{re.escape(name)})\b", found)
    if not links:
        raise BuildError(
            f"the package index of this machine has no {name}. Fix: see that the index or mirror that pip uses here has "
            "source archives, too (pip config list), or set python_stack_vllm_build: wheel"
        )
    return f"{links[0]}#sha256={source.sha256}"


def make(folder: str, source: Source, tools: str, python: str, run: Runner) -> dict[str, Any]:
    """Make the wheel in `folder` and return a lock's entry of it; `tools` is a lock of what builds it."""
    os.makedirs(folder, exist_ok=True)
    staging = tempfile.mkdtemp(prefix=".vllm-", dir=folder)
    try:
        return keep(build(staging, source, tools, python, run), folder, source)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def build(staging: str, source: Source, tools: str, python: str, run: Runner) -> str:
    """Build the wheel below `staging`; return its path."""
    environment = {
        "TMPDIR": staging,
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PYTHONPATH": os.path.join(staging, "stand-in"),
        "VLLM_TARGET_DEVICE": "empty",
        # The same source makes the same bytes: 2020-01-01.
        "SOURCE_DATE_EPOCH": "1577836800",
    }
    write_stand_in(environment["PYTHONPATH"])
    tools_file = os.path.join(staging, "tools.txt")
    write(tools_file, tools)
    venv = os.path.join(staging, "venv")
    call(run, [python, "-m", "venv", venv], environment, "making an environment for the build")
    pip = [os.path.join(venv, "bin", "python"), "-m", "pip", "--no-input", "--no-color"]
    careful = ["--no-deps", "--no-cache-dir", "--retries", "2", "--timeout", "20"]
    only = ["--require-hashes", "--only-binary", ":all:", "--requirement", tools_file]
    call(run, [*pip, "install", *careful, *only], environment, "bringing what builds vLLM")
    # The wheel is Python alone: the Python that builds it need not be one that it is for.
    search = ["index", "versions", "vllm", "-vv", "--no-binary", "vllm", "--ignore-requires-python"]
    found = call(run, [*pip, *search], environment, "looking for vLLM's source archive")
    target = os.path.join(staging, "wheels")
    build_it = ["--no-build-isolation", "--ignore-requires-python", "--wheel-dir", target]
    call(
        run,
        [*pip, "wheel", *careful, *build_it, address_of(source, found)],
        environment,
        "building vLLM without a device",
    )
    made = os.listdir(target)
    if made != [wheel_name(source.version)]:
        raise BuildError(
            f"vLLM's source made {', '.join(made)}, expected {wheel_name(source.version)}. "
            "Fix: set python_stack_vllm_build: wheel"
        )
    return os.path.join(target, made[0])


def keep(made: str, folder: str, source: Source) -> dict[str, Any]:
    """Move a wheel into its folder, after the file that says from what it was made; return a lock's entry of it."""
    name = os.path.basename(made)
    entry = {
        "name": python_lock.normal_name("vllm"),
        "version": name.split("-")[1],
        "sha256": host_files.sha256(made),
        "wheel": name,
        "size_bytes": os.path.getsize(made),
    }
    write(record_of(made), json.dumps({"wheel": entry, "source_sha256": source.sha256}) + "\n")
    for path in (record_of(made), made):
        os.chmod(path, 0o644)
        os.replace(path, os.path.join(folder, os.path.basename(path)))
    return entry
