# SPDX-License-Identifier: Apache-2.0
"""Why git could not bring sources, in one line, with what to do: read from git's own output (2.25 to 2.50)."""

from __future__ import annotations

import re

CAUSES = (
    (
        r"No space left on device|Disk quota exceeded",
        "host",
        "the disk is full",
        "free space there (df -h), or set mooncake_build_dir to a folder with more, then run again",
    ),
    (
        r"[Cc]ouldn't find remote ref|unknown revision|did not match any file\(s\) known to git|reference is not a tree"
        r"|not our ref|unadvertised object|upload-pack: not our ref",
        "source",
        "the repository has no such revision",
        "correct mooncake_git_revision, or bring the mirror up to date",
    ),
    (
        r"SSL certificate problem|certificate verify failed|unable to get local issuer|self.signed certificate",
        "host",
        "the git server has a certificate that this host does not trust",
        "name the CA of your network in site_ca_files, then run again",
    ),
    (
        r"Authentication failed|could not read Username|HTTP Basic: Access denied|returned error: 40[13]"
        r"|Permission denied \(publickey",
        "host",
        "the git server refused access",
        "give the host access, or name a repository that needs none in mooncake_git_url or mooncake_git_mirrors",
    ),
    (
        r"Proxy CONNECT aborted|Received HTTP code \d+ from proxy|Could not resolve proxy|Failed to connect to \S*proxy",
        "host",
        "the proxy refused the connection",
        "correct site_http_proxy and site_https_proxy, then run again",
    ),
    (
        r"transport 'file' not allowed",
        "source",
        "a submodule names a local path, which git refuses",
        "name its address and your mirror in mooncake_git_mirrors",
    ),
    (
        r"Could not resolve host|Connection refused|Connection timed out|Network is unreachable|No route to host"
        r"|Failed to connect|unable to access|does not appear to be a git repository|does not exist"
        r"|Repository not found|repository '.*' not found|Could not read from remote repository|timed out",
        "host",
        "the git server can't be reached from this host, or there is no such repository",
        "name a mirror in mooncake_git_mirrors, a proxy in site_http_proxy, or bring the sources from the control node "
        "with mooncake_source_archive (docs/build.md)",
    ),
)
"""Pattern of git's output; kind (``host``: another host may succeed); cause; fix."""

SUBMODULE = re.compile(r"clone of '(?P<url>[^']+)' into submodule path '(?P<path>[^']+)' failed")
SUBMODULE_FETCH = re.compile(r"(?:Unable to fetch in|in) submodule path '(?P<path>[^']+)'")


def explain(output: str, url: str, revision: str) -> dict[str, str]:
    """Return ``kind``, ``cause`` and ``fix`` for the output of git that was to bring `revision` of `url`."""
    where = f"{url} at {revision}" if revision else url
    submodule = SUBMODULE.search(output) or SUBMODULE_FETCH.search(output)
    if submodule:
        named = submodule.groupdict()
        where = f"submodule {named['path'].rsplit('/source/', 1)[-1]}"
        where += f" ({named['url']})" if named.get("url") else ""
    for pattern, kind, cause, fix in CAUSES:
        if re.search(pattern, output):
            return {"kind": kind, "cause": f"{where}: {cause}", "fix": fix}
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    reason = lines[-1] if lines else "git said nothing"
    return {"kind": "host", "cause": f"{where}: {reason}", "fix": "run git by hand on the host"}


def without_password(text: str) -> str:
    """Return `text` with the user and password of each URL left out."""
    return re.sub(r"(\w+://)[^/@\s']+@", r"\1***@", text)
