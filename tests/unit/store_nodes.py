# SPDX-License-Identifier: Apache-2.0
"""A store node as its role describes it to `store_node`, for tests."""

from __future__ import annotations

from typing import Any

GOOD: dict[str, Any] = {
    "address": "npu-03",
    "port": 50052,
    "segment_size": "40GiB",
    "flags": {},
    "user": "mooncake",
    "environment": {},
    "root": "/opt/kvcache/mooncake",
    "protocol": "tcp",
    "release": "cpu",
    "master_address": "npu-01:50088",
    "is_alone": False,
    "wait_seconds": 60,
}
