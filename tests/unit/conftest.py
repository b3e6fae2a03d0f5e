# SPDX-License-Identifier: Apache-2.0
"""Make `ansible_collections.kvcache.ascend` importable when pytest runs from the repository."""

from __future__ import annotations

import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "collections"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

# A property holds on a busy machine too: how long an example takes decides nothing.
settings.register_profile("kvcache", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("kvcache")
