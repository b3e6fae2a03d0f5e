# SPDX-License-Identifier: Apache-2.0
"""Why a master does not stay up, in one line, read from the last lines of its journal."""

from __future__ import annotations

import re

CAUSES = (
    (
        r"unknown command line flag '?(?P<what>[\w-]+)",
        "it does not know the flag {what}",
        "remove it from mooncake_master_flags; does the build in use belong to release_name?",
    ),
    (
        r"error while loading shared libraries: (?P<what>[^\s:]+)",
        "it does not find the library {what}",
        "run the role mooncake again, which installs and proves it",
    ),
    (
        r"(?P<what>[^\n]*Address already in use[^\n]*)",
        "another process took its port while it started ({what})",
        "see who listens with 'ss -ltnp', stop it or change mooncake_master_rpc_port or mooncake_master_metrics_port",
    ),
    (
        r"(?P<what>[^\n]*(?:Cannot assign requested address|bad address)[^\n]*)",
        "it can't bind its address ({what})",
        "set mooncake_master_bind_address to an address of this host, or to 0.0.0.0",
    ),
    (
        r"status=203/EXEC",
        "systemd can't execute it",
        "look at /opt/kvcache/mooncake/current and run the role mooncake again",
    ),
    (
        r"status=(?P<what>216/GROUP|217/USER|226/NAMESPACE|200/CHDIR)",
        "systemd can't set it up ({what})",
        "look at the unit with its drop-ins ('systemctl cat mooncake-master') and at mooncake_master_user",
    ),
    (
        r"status=31/SYS",
        "it was killed for a system call that its unit does not allow",
        "add a drop-in with a wider SystemCallFilter= and report it",
    ),
    (
        r"(?P<what>Failed to set up [^\n]*|Failed at step [^\n]*)",
        "systemd can't give it its sandbox ({what})",
        "look what this kernel lacks; a drop-in for the unit can switch that protection off",
    ),
    (
        r"(?P<what>[^\n]*ratio must be[^\n]*)",
        "it refuses a setting ({what})",
        "correct the ratio",
    ),
)
"""Pattern of the journal, cause and fix; the words are the master's (0.3.7 to 0.3.13), the linker's and systemd's."""


def explain(journal: str) -> str:
    """Return ``cause. Fix: what to do`` for the end of the journal of a master that does not serve.

    What was written last counts: earlier lines tell of causes that have been mended since.
    """
    latest = None
    for pattern, cause, fix in CAUSES:
        for match in re.finditer(pattern, journal):
            if latest is None or match.start() > latest[0].start():
                latest = (match, cause, fix)
    if latest:
        match, cause, fix = latest
        what = (match.groupdict().get("what") or "").strip()
        return f"{cause.format(what=what)}. Fix: {fix}."
    lines = [line.strip() for line in journal.splitlines() if line.strip()]
    last = lines[-1] if lines else "its journal is empty"
    return f"the last line of its journal is: {last} Fix: read 'journalctl -u mooncake-master' on the host."
