# SPDX-License-Identifier: Apache-2.0
"""Why an installation by pip or uv failed, in one line, with what to do: read from their own output.

They say the cause somewhere in dozens of lines, behind retries and tracebacks. The patterns below are the words of
pip 23 to 26, of uv 0.13 and of the C library; what matches none of them is passed on as the last ``ERROR`` line.
"""

from __future__ import annotations

import re
from typing import Any

from ansible_collections.kvcache.ascend.plugins.module_utils import failure

CAUSES = (
    (
        r"No space left on device|Disk quota exceeded",
        "the disk is full",
        "free space below {root} (df -h {root}; df -i {root} shows the inodes), then run again",
    ),
    (
        r"CERTIFICATE_VERIFY_FAILED|self[- ]signed certificate|unable to get local issuer|invalid peer certificate",
        "the package index has a certificate that this host does not trust",
        "name the CA of your network in site_ca_files, then run again",
    ),
    (
        r"Hashes are required in --require-hashes mode",
        "this host's own pip settings name a constraint, which a lock with hashes can't be installed with",
        "remove the constraint there (pip config list shows it; pip config debug shows the file), then run again",
    ),
    (
        r"DO NOT MATCH THE HASHES|Hash mismatch for",
        "the downloaded wheel is not the one that the release names (its sha256 differs)",
        "look at what the package index or mirror serves (site_package_index_url); never skip this check",
    ),
    (
        r"ProxyError|Tunnel connection failed|407 Proxy|tunnel error",
        "the proxy refused the connection",
        "correct site_http_proxy and site_https_proxy, then run again",
    ),
    (
        r"401 Client Error|403 Client Error|401 Unauthorized|403 Forbidden",
        "the package index refused access",
        "correct the user and password in site_package_index_url, then run again",
    ),
    (
        r"NewConnectionError|NameResolutionError|Name or service not known|Temporary failure in name resolution"
        r"|Connection refused|Network is unreachable|No route to host|ConnectTimeout|Read timed out"
        r"|ReadTimeoutError|Connection timed out|tcp connect error|operation timed out|dns error",
        "the package index can't be reached from this host",
        "set site_package_index_url to your mirror or site_http_proxy to your proxy; without any network, name a folder "
        "of the control node that has the wheels in {wheel_dir}",
    ),
    (
        r"No matching distribution found|Could not find a version|there is no version of|was not found in the",
        "the package index has no such wheel for this host",
        "look whether the mirror (site_package_index_url) or {wheel_dir} has this very version",
    ),
    (
        r"ensurepip is not available|No module named (ensurepip|venv)|No module named pip",
        "this Python can't make virtual environments",
        "install its venv package (Debian and Ubuntu: python3-venv, or pythonX.Y-venv for {python})",
    ),
)
"""Pattern of the output, cause and fix. The order matters: the last ones are printed as a consequence of the first."""


def explain(
    output: str, root: str, wheel_dir: str = "mooncake_wheel_dir", python: str = "mooncake_python"
) -> str:
    """Return ``cause. Fix: what to do`` for the output of a failed run of pip or uv that installs below `root`.

    `wheel_dir` and `python` are the variables of the role that ran it.
    """
    for pattern, cause, fix in CAUSES:
        if re.search(pattern, output):
            return f"{cause}. Fix: {fix.format(root=root, wheel_dir=wheel_dir, python=python)}."
    errors = [line.strip() for line in output.splitlines() if line.strip().startswith("ERROR:")]
    lines = errors or [line.strip() for line in output.splitlines() if line.strip()]
    reason = lines[-1] if lines else "it said nothing"
    return f"{reason} Fix: run the command by hand on the host, with -v, for the whole story."


def explain_failure(result: dict[str, Any], root: str) -> str:
    """Return cause and fix for the result of a failed task of an installation below `root`, a command's or a module's."""
    if "stderr" in failure.failed_item(result):
        return explain(failure.output(result), root)
    message = failure.text(result)
    full, cause, fix = CAUSES[0]
    return f"{cause}. Fix: {fix.format(root=root)}." if re.search(full, message) else message
