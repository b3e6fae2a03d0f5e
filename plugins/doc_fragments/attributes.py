# SPDX-License-Identifier: Apache-2.0
"""What every module of this collection says about check mode and diff mode."""

from __future__ import annotations


class ModuleDocFragment:
    """Fragments for modules that only look; a module that changes things writes its own."""

    DOCUMENTATION = r"""
attributes:
  check_mode:
    support: full
    description: Runs in check mode exactly as it does otherwise, since it changes nothing.
  diff_mode:
    support: none
    description: There is nothing to show, since nothing changes.
"""
