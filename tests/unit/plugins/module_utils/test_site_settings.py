# SPDX-License-Identifier: Apache-2.0
"""Addresses of a site's network: which are none, and that no password gets into a message."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.kvcache.ascend.plugins.module_utils import site_settings


@pytest.mark.parametrize(
    "url",
    ["http://proxy:3128", "https://user:p%40ss@mirror.example.com/simple", "http://[fd00::1]:8080"],
)
def test_an_address(url: str) -> None:
    assert site_settings.url_problem(url) == ""


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("proxy:3128", "does not begin with http:// or https://"),
        ("bob:S3cret@proxy", "'***@proxy' does not begin with"),
        ("ftp://bob:S3/cret@proxy", "'ftp://***@proxy' does not begin with"),
        ("http:/proxy", "does not begin with"),
        ("http://bob:S3cret@proxy:99999", "'http://***@proxy:99999' has no port from 1 to 65535"),
        ("http://proxy:0", "has no port"),
        ("http://proxy:three", "has no port"),
        ("http://", "names no host"),
        ("http://a proxy", "names no host"),
        (3128, "int is no text"),
    ],
)
def test_what_is_no_address(url: Any, words: str) -> None:
    problem = site_settings.url_problem(url)
    assert words in problem
    assert "S3" not in problem


def test_each_setting_is_named_with_its_fix() -> None:
    found = site_settings.problems(
        {
            "site_http_proxy": "",
            "site_https_proxy": "proxy",
            "site_package_index_url": "https://mirror/simple",
            "site_extra_package_index_urls": ["https://a/simple", "b"],
        }
    )
    assert found == [
        "site_https_proxy: 'proxy' does not begin with http:// or https://. Fix: write it as http://proxy:3128.",
        "site_extra_package_index_urls: 'b' does not begin with http:// or https://. Fix: write it as https://mirror/simple.",
    ]
