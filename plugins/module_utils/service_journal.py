# SPDX-License-Identifier: Apache-2.0
"""Why a service of Mooncake does not serve, in one line, read from the last lines of its journal and its state.

Here is what the linker, systemd and glog write whatever the program; a service's own words come with it as a `Subject`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Tuple

Cause = Tuple[str, str, str]
"""Pattern, cause and fix. The last two may hold {what}, a group of the pattern, and {root}, {name}, {role}, {file}."""


@dataclass(frozen=True)
class Subject:
    """A service: its unit's Description=, the unit's name without ending, its role, its file of settings, its own words."""

    title: str
    name: str
    role: str
    file: str
    causes: tuple[Cause, ...]
    quiet_end: str
    """Cause and fix of an end with status 1 and no word."""


EARLY_CAUSES: tuple[Cause, ...] = (
    (
        r"unknown command line flag '?(?P<what>[\w-]+)",
        "it does not know the flag {what}",
        "remove it from {role}_flags; does the build in use belong to release_name?",
    ),
    (
        r"error while loading shared libraries: (?P<what>[^\s:]+)",
        "it does not find the library {what}",
        "run site.yml, whose role mooncake installs the libraries and proves the build",
    ),
    (
        r"(?P<what>version `[^\n]*' not found)",
        "the host's C library is too old for it ({what})",
        "choose a release whose Mooncake is built for this system",
    ),
)
"""The more telling first; those of a service itself stand behind them."""

LATE_CAUSES: tuple[Cause, ...] = (
    (
        r"Failed to execute (?P<what>/[^\n]*)(?:\n[^\n]*){1,3}?status=203/EXEC",
        "systemd can't execute {what}",
        "see that its user may enter each folder of {root} (namei -l), then run site.yml",
    ),
    (
        r"status=203/EXEC",
        "systemd can't execute it",
        "look at {root}/current, then run site.yml",
    ),
    (
        r"Failed to load environment files",
        "its file {file} is missing or can't be read",
        "run site.yml, which writes it",
    ),
    (
        r"status=217/USER",
        "its user does not exist",
        "run site.yml, which makes the user {role}_user",
    ),
    (
        r"status=(?P<what>216/GROUP|226/NAMESPACE|200/CHDIR)",
        "systemd can't set it up ({what})",
        "look at the unit with its drop-ins (systemctl cat {name})",
    ),
    (
        r"status=31/SYS",
        "it was killed for a system call that its unit does not allow",
        "add a drop-in with a wider SystemCallFilter= and report it",
    ),
    (
        r"OOM killer|Failed with result 'oom-kill'",
        "it was killed since memory ran out",
        "see what needs the memory (sudo journalctl -k), or raise MemoryMax= of a drop-in",
    ),
    (
        r"status=9/KILL",
        "it was killed by signal 9, by a person or since memory ran out",
        "look for the kernel's words (sudo journalctl -k)",
    ),
    (
        r"(?P<what>Failed to set up [^\n]*|Failed at step (?!EXEC|USER)[^\n]*)",
        "systemd can't give it its sandbox ({what})",
        "look what this kernel lacks; a drop-in for the unit can switch that protection off",
    ),
    (
        r"(?m:^F[0-9]{4} [^\n\]]*\] (?P<what>[^\n]*))",
        "it refuses to start: {what}",
        "correct the setting that it names",
    ),
    (
        r"(?P<what>code=dumped, status=(?!6/ABRT)[^\n]*|status=(?:11/SEGV|4/ILL|7/BUS)[^\n]*)",
        "it crashed ({what})",
        "report it with the journal; does the build belong to this CPU (site.yml proves it)?",
    ),
)

QUIET_END = re.compile(r"Main process exited, code=exited, status=1/")
TOO_OFTEN = re.compile(r"Start request repeated too quickly")

NOISE = re.compile(
    r"I[0-9]{4} |\*\*\* |\s*@ |WARNING: Logging before|(?:Start|Stopp)(?:ing|ed) "
    r"|\S+\.service: (?:Scheduled restart|Failed with result|Start request|Main process exited|Deactivated|Consumed)"
    r"|Failed to start "
)
"""Beginnings of lines that tell no cause: glog's information, stack traces, systemd's bookkeeping."""


def latest_cause(journal: str, about: Subject) -> tuple[str, str, str] | None:
    """Return the words, the cause and the fix of the last known line; None when no line is known."""
    latest = None
    for pattern, cause, fix in (*EARLY_CAUSES, *about.causes, *LATE_CAUSES):
        for match in re.finditer(pattern, journal):
            if latest is None or match.end() > latest[0].end():
                latest = (match, cause, fix)
    if latest is None:
        return None
    match, cause, fix = latest
    return (match.groupdict().get("what") or "").strip(), cause, fix


def _event(word: str, about: Subject) -> re.Pattern[str]:
    return re.compile(rf"^{word} [^\n]*{re.escape(about.title)}", re.MULTILINE)


def present_life(journal: str, is_active: bool, about: Subject) -> str:
    """Return the lines that can tell the cause: what was before has been dealt with.

    They begin where a person or a run last stopped it, and for a service that runs where it was last started.
    """
    begins = list(_event("Stopping", about).finditer(journal)) + (
        list(_event("Start(?:ing|ed)", about).finditer(journal)) if is_active else []
    )
    return journal[max((match.start() for match in begins), default=0) :]


def was_stopped(recent: str, about: Subject) -> bool:
    """Return whether the last that happened was a stop that somebody asked for."""
    return bool(
        _event("Stopping", about).match(recent)
        and _event("Stopped", about).search(recent)
        and not _event("Start(?:ing|ed)", about).search(recent)
    )


def process_words(service: dict[str, Any], about: Subject) -> str:
    """Return what is wrong with a process that runs and doesn't answer; empty when nothing is seen."""
    if service.get("main_state") in ("T", "t"):
        return (
            f"its process {service['main_pid']} is halted by a signal or a debugger. "
            f"Fix: let it go on (sudo systemctl kill --signal=CONT {about.name}) or restart it "
            f"(sudo systemctl restart {about.name})."
        )
    return ""


def words_of_journal(recent: str, root: str, is_active: bool, about: Subject) -> str:
    """Return ``cause. Fix: what to do`` as far as the journal tells it."""
    known = latest_cause(recent, about)
    if known:
        what, cause, fix = known
        names = {
            "what": what,
            "root": root,
            "name": about.name,
            "role": about.role,
            "file": about.file,
        }
        return f"{cause.format(**names)}. Fix: {fix.format(**names)}."
    if was_stopped(recent, about):
        return (
            "it was stopped, by a person or another program. "
            f"Fix: start it (sudo systemctl start {about.name}), or run site.yml, which does."
        )
    telling = [
        line.strip() for line in recent.splitlines() if line.strip() and not NOISE.match(line)
    ]
    see = f"Fix: read its journal on the host (sudo journalctl -u {about.name})."
    if telling:
        return f'the last line of its journal that tells anything is "{telling[-1][:200]}". {see}'
    if QUIET_END.search(recent):
        return about.quiet_end
    if is_active:
        return (
            "its service runs, and its journal tells nothing of it. "
            f"Fix: compare {about.file} with your variables; run site.yml if they differ."
        )
    return f"its journal {'tells no cause' if recent.strip() else 'is empty'}. {see}"


def explain(
    about: Subject,
    journal: str,
    root: str,
    service: dict[str, Any] | None = None,
    port_problems: list[str] | None = None,
) -> str:
    """Return ``cause. Fix: what to do`` for a service that does not serve.

    `journal` is its end, `root` is mooncake_root, `service` what service_state_info returned, `port_problems` the messages
    about ports that something else has now. What was written last counts.
    """
    service = service or {}
    is_active = service.get("active") == "active"
    recent = present_life(journal, is_active, about)
    words = (
        process_words(service, about)
        or " ".join(port_problems or [])
        or words_of_journal(recent, root, is_active, about)
    )
    if service.get("active") == "failed" and TOO_OFTEN.search(recent):
        words += " It failed so often that systemd no longer restarts it; site.yml does."
    drop_ins = service.get("drop_ins") or []
    if drop_ins:
        words += f" Its unit is changed by {', '.join(drop_ins)}."
    return words
