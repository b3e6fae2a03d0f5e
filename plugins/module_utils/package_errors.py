# SPDX-License-Identifier: Apache-2.0
"""Why OS packages could not be installed, in one line, with what to do: read from what apt and dnf print.

The patterns are the words of apt 2.0 to 3.0, of dpkg and of dnf 4; what matches none of them is passed on as the lines
that begin with ``E:`` or, when there are none, as the message itself.
"""

from __future__ import annotations

import re
from typing import Any

from ansible_collections.kvcache.ascend.plugins.module_utils import failure

LOCK = r"Could not get lock|Unable to acquire the dpkg|Unable to lock|Waiting for process with pid|dnf is currently locked"
INTERRUPTED = r"dpkg was interrupted"
MIRROR = "site_apt_repositories or site_dnf_repositories for a mirror, site_http_proxy for a proxy"

CAUSES = (
    (
        r"No space left on device|Disk quota exceeded|enough free space|At least \d+\w+ more space needed",
        "the disk is full",
        "free space on the host (df -h / /var), then run again",
    ),
    (
        LOCK,
        "another package manager is at work on the host (waited {seconds} s)",
        "let it end (ps -ef | grep -E 'apt|dpkg|dnf' shows it), "
        "or wait longer with site_package_lock_timeout, then run again",
    ),
    (
        INTERRUPTED
        + r"|Sub-process \S*dpkg\S* returned an error code|unmet dependencies|have held broken packages",
        "packages on the host are half installed or do not fit each other",
        "run sudo dpkg --configure -a and sudo apt-get --fix-broken install on the host, then run again",
    ),
    (
        r"NO_PUBKEY|is not signed|GPG check FAILED|Public key for .* is not installed|signatures couldn't be verified",
        "a repository is not signed by a key that the host knows",
        "name its key (signed_by or gpgkey of the repository), then run again",
    ),
    (
        r"certificate verif|certificate is NOT trusted|SSL certificate problem|Certificate verification failed",
        "a repository has a certificate that the host does not trust",
        "name the CA of your network in site_ca_files, then run again",
    ),
    (
        r"407 |Proxy Authentication Required|Could not connect to \S*proxy|from proxy after CONNECT",
        "the proxy refused the connection",
        "correct site_http_proxy, then run again",
    ),
    (
        r"Temporary failure resolving|Could not resolve|Could not connect|Connection refused|Connection timed out"
        r"|Network is unreachable|Unable to connect|Failed to connect|Curl error",
        "a repository can't be reached from the host",
        f"set {MIRROR}, then run again",
    ),
    (
        r"No package matching|Unable to locate package|has no installation candidate|No match for argument"
        r"|No package \S+ available",
        "no repository of the host has a package of that name",
        f"set {MIRROR}; where the distribution names it differently, bring it by hand; then run again",
    ),
)
"""Pattern, cause and fix. The order matters: what is printed last is often a consequence of what comes first."""


def is_locked(text: str) -> bool:
    """Return whether waiting may help, since another package manager holds a lock."""
    return re.search(LOCK, text) is not None


def explain(text: str, seconds: int) -> str:
    """Return ``cause: the program's own words. Fix: what to do`` for what a package manager printed."""
    lines = re.findall(r"\b[EW]: ?(.+?)(?=\s+[EW]: ?|\n|$)", text)
    words = "; ".join(dict.fromkeys(line.strip().rstrip(".") for line in lines)) or " ".join(
        text.split()
    )
    for pattern, cause, fix in CAUSES:
        if re.search(pattern, text, re.IGNORECASE):
            return f"{cause.format(seconds=seconds)}: {words[:300]}. Fix: {fix}."
    return f"{words[:600].rstrip('.')}. Fix: make these packages reachable for the host: {MIRROR}; then run again."


def told(result: dict[str, Any]) -> str:
    """Return all that a failed task says, be it a package module's or dpkg's own."""
    return f"{failure.text(result)}\n{failure.output(result)}"


def is_locked_result(result: dict[str, Any]) -> bool:
    """Return whether a task failed since another package manager holds a lock."""
    return is_locked(told(result))


def explain_result(result: dict[str, Any], seconds: int) -> str:
    """Return cause and fix for the result of a failed task; a message that has its fix already is passed on."""
    message = " ".join(failure.text(result).split())
    if "Fix: " in message:
        return message
    return explain(told(result), seconds)
