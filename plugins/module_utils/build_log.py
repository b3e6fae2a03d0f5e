# SPDX-License-Identifier: Apache-2.0
"""What the output of CMake, make, ninja and the compiler says: how far a build is, and the first thing that went wrong.

Pure: text in, numbers and sentences out. A failed build prints thousands of lines, and the last ones only repeat that
something failed; the cause is the first error, which is looked for here.
"""

from __future__ import annotations

import re
from typing import Any

MAKE_STEP = re.compile(r"^\[\s*(?P<percent>\d{1,3})%\]\s+(?P<what>.+)$", re.MULTILINE)
NINJA_STEP = re.compile(r"^\[(?P<done>\d+)/(?P<total>\d+)\]\s+(?P<what>.+)$", re.MULTILINE)
OBJECT = re.compile(
    r"(?:Building|Linking) \S+ (?:object|executable|static library|shared (?:library|module)) (\S+)"
)

COMPILER_ERROR = re.compile(
    r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+)(?::\d+)?: (?:fatal )?error: (?P<text>.+)$",
    re.MULTILINE,
)
LINKER_ERROR = re.compile(
    r"^.*(?:undefined reference to .+|cannot find -l\S+.*|multiple definition of .+)$", re.MULTILINE
)
CMAKE_ERROR = re.compile(
    r"^CMake Error(?: at (?P<file>[^\s:]+):(?P<line>\d+) \(\w+\))?[^\n]*:?\n(?P<text>(?:[ \t]*\n|[ \t]+.*\n?)+)",
    re.MULTILINE,
)
OUT_OF_MEMORY = re.compile(
    r"Killed signal terminated program (?P<program>\S+)|virtual memory exhausted|cc1plus: out of memory|"
    r"Cannot allocate memory|^Killed$",
    re.MULTILINE,
)
DISK_FULL = re.compile(r"No space left on device|Disk quota exceeded")
NO_SPACE = {
    "kind": "host",
    "cause": "the disk is full",
    "fix": "free space there (df -h), or set mooncake_build_dir to a folder with more, then run again",
}
LITTLE = 1 << 20
"""So few free bytes that a job could not even write down how it ended."""
SHOWN = 300
"""Most characters of a compiler's message: templates make them longer than a screen."""


def progress(output: str) -> dict[str, Any]:
    """Return ``percent``, ``done``, ``total`` and ``what`` of the last step that make or ninja has announced.

    make tells a percentage only, so that ``done`` and ``total`` are None; all are None before the first step.
    """
    steps = list(NINJA_STEP.finditer(output))
    if steps:
        done, total = int(steps[-1].group("done")), int(steps[-1].group("total"))
        return {
            "percent": 100 * done // total if total else 100,
            "done": done,
            "total": total,
            "what": short_step(steps[-1].group("what")),
        }
    steps = list(MAKE_STEP.finditer(output))
    if not steps:
        return {"percent": None, "done": None, "total": None, "what": None}
    # With several jobs make prints a smaller number behind a larger one; a person wants to see it grow.
    percent = max(int(step.group("percent")) for step in steps)
    return {
        "percent": percent,
        "done": None,
        "total": None,
        "what": short_step(steps[-1].group("what")),
    }


def short_step(what: str) -> str:
    """Return a generator's step as ``file.cpp``, or as it is when it names no file."""
    match = OBJECT.search(what)
    if not match:
        return what.strip()
    name = match.group(1).rsplit("/", 1)[-1]
    return name[:-2] if name.endswith(".o") else name


def progress_text(seen: dict[str, Any], seconds: float) -> str:
    """Return a line for a person: how far, on what, for how long."""
    if seen["percent"] is None:
        how_far = "begun"
    elif seen["total"]:
        how_far = f"{seen['percent']:3d} % ({seen['done']} of {seen['total']})"
    else:
        how_far = f"{seen['percent']:3d} %"
    what = f", {seen['what']}" if seen["what"] else ""
    return f"{how_far}{what}, after {duration_text(seconds)}"


def duration_text(seconds: float) -> str:
    """Return seconds as people say them: ``45 s``, ``12 min 5 s``, ``1 h 2 min``."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def first_error(output: str) -> str:
    """Return the first real error with its file; empty when none is known."""
    found = []
    for pattern, render in (
        (CMAKE_ERROR, render_cmake),
        (COMPILER_ERROR, render_compiler),
        (LINKER_ERROR, lambda match: match.group(0).strip()),
    ):
        match = pattern.search(output)
        if match:
            found.append((match.start(), render(match)))
    if not found:
        return ""
    text = min(found)[1]
    return text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."


def render_compiler(match: re.Match[str]) -> str:
    return f"{match.group('file')}:{match.group('line')}: {match.group('text').strip()}"


def render_cmake(match: re.Match[str]) -> str:
    text = " ".join(match.group("text").split())
    if match.group("file"):
        return f"CMake at {match.group('file')}:{match.group('line')}: {text}"
    return f"CMake: {text}"


def last_lines(output: str, count: int = 1) -> str:
    """Return the last lines that are not empty, as one."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return " / ".join(lines[-count:]) if lines else "it said nothing"


def explain(output: str, status: int, step: str) -> dict[str, str]:
    """Return ``kind``, ``cause`` and ``fix`` of a step that ended with a status other than 0.

    kind is ``host`` when another host may well succeed, ``source`` when every host would fail in the same way.
    """
    if DISK_FULL.search(output):
        return NO_SPACE
    killed = OUT_OF_MEMORY.search(output)
    if killed or status in (-9, 137):
        program = (killed.groupdict().get("program") if killed else None) or "the compiler"
        return {
            "kind": "host",
            "cause": f"{program} was killed: there was not enough memory",
            "fix": "set mooncake_build_jobs to fewer jobs (one needs up to 6.5 GiB), or mooncake_build_hosts to a host "
            "with more memory, then run again: it goes on where it stopped",
        }
    error = first_error(output)
    cause = error.rstrip(".?! ") or f"it ended with status {status}: {last_lines(output, 2)}"
    return {"kind": "source", "cause": cause, "fix": fix_for(cause, step)}


def explain_lost(output: str, free: int) -> dict[str, str]:
    """Return the same of a job that ended without a word; `free` is the room in its folder, in bytes."""
    if DISK_FULL.search(output) or free < LITTLE:
        return NO_SPACE
    return {
        "kind": "host",
        "cause": "the job was killed",
        "fix": "look for the cause (journalctl -k), then run again: it goes on where it stopped",
    }


KNOWN = (
    (
        r"acl/|adxl/|graph/ascend_string|libascendcl|-lascendcl|llm_datadist|metadef|aclrt\w+",
        "the CANN that was found lacks it: install the toolkit that this Mooncake needs (docs/build.md), or name "
        "another one in mooncake_cann_home",
    ),
    (
        r"yalantinglibs",
        "the sources lack yalantinglibs: remove the work folder named above, then run again",
    ),
    (
        r"pybind11",
        "the submodule extern/pybind11 is missing: take the sources with their submodules",
    ),
    (
        r"googletest|GTest",
        "tests need the internet: leave BUILD_UNIT_TESTS off (mooncake_cmake_options)",
    ),
    (
        r"Could NOT find (\w+)|Could not find a package|[Ll]ibrary not found|: No such file or directory",
        "a development package is missing: name it in mooncake_extra_build_packages, then run again",
    ),
    (
        r"unrecognized (command.line|command line) option|C\+\+20|coroutine",
        "the compiler is too old: GCC 10 or newer is needed; name one with mooncake_build_environment (CC, CXX)",
    ),
)
"""Pattern of a first error and what to do about it."""


def fix_for(cause: str, step: str) -> str:
    """Return what to do about a first error."""
    for pattern, fix in KNOWN:
        if re.search(pattern, cause):
            return fix
    if step.startswith("configure"):
        return "correct mooncake_cmake_options, or add what it asks for with mooncake_extra_build_packages"
    return "look at the log for more; an error in the sources themselves needs another release or revision"
