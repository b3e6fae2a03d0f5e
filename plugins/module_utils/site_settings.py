# SPDX-License-Identifier: Apache-2.0
"""Whether the settings of a site's network are addresses at all. Nobody is asked; no password gets into a message."""

from __future__ import annotations

import re
from typing import Any, Mapping
from urllib.parse import urlsplit

PROXIES = ("site_http_proxy", "site_https_proxy")
INDEXES = ("site_package_index_url", "site_extra_package_index_urls")
NAMES = (*PROXIES, *INDEXES)
SCHEMES = ("http://", "https://")


def without_password(url: str) -> str:
    """Return the address with ``***`` in place of a user and a password."""
    return re.sub(r"^(\w+://|).*@", r"\1***@", url)


def url_problem(url: Any) -> str:
    """Return why `url` is no address that pip, git and the package managers take; empty when it is one."""
    if not isinstance(url, str):
        return f"{type(url).__name__} is no text"
    shown = repr(without_password(url))
    if not url.startswith(SCHEMES):
        return f"{shown} does not begin with http:// or https://"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return f"{shown} has no port from 1 to 65535"
    if not parts.hostname or re.search(r"\s", url):
        return f"{shown} names no host"
    return f"{shown} has no port from 1 to 65535" if port == 0 else ""


def problems(settings: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with a site's addresses, each as one message that names the variable and the fix."""
    found = []
    for name in NAMES:
        value = settings.get(name) or []
        for url in value if isinstance(value, (list, tuple)) else [value]:
            problem = url_problem(url)
            example = "http://proxy:3128" if name in PROXIES else "https://mirror/simple"
            if problem:
                found.append(f"{name}: {problem}. Fix: write it as {example}.")
    return found
