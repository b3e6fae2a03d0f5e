# SPDX-License-Identifier: Apache-2.0
"""Make `ansible_collections.kvcache.ascend` importable when pytest runs from the repository."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "collections"))
