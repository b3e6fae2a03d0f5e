# SPDX-License-Identifier: Apache-2.0
"""How the modules that look at NPUs look."""

from __future__ import annotations


class ModuleDocFragment:
    """Options of npu_info, and of all that builds on it."""

    DOCUMENTATION = r"""
options:
  timeout:
    description: Seconds that each call of a tool may take. C(npu-smi) hangs on some sick cards.
    type: float
    default: 20.0
  links:
    description:
      - Whether to ask C(hccn_tool) for the RoCE port of each chip, three calls a chip. It needs root.
      - Chips without such a port (310, 310B, 310P) are not asked.
    type: bool
    default: true
  processes:
    description: Whether to return the processes on the chips.
    type: bool
    default: true
  visible_devices:
    description:
      - A value for C(ASCEND_RT_VISIBLE_DEVICES), to be told what it leaves visible. It is also set for O(python).
      - Not set, the variable in the environment of the module is taken.
    type: str
  cann_roots:
    description: Folders below which CANN is looked for, beside the folder of the driver and what the environment names.
    type: list
    elements: path
    default: [/usr/local/Ascend]
  python:
    description: A Python with torch_npu that is asked for its number of devices. Takes some ten seconds.
    type: path
  python_set_env:
    description: The C(set_env.sh) of CANN that is sourced before O(python) starts, since torch_npu needs its libraries.
    type: path
  python_timeout:
    description: Seconds that O(python) may take.
    type: float
    default: 120.0
"""
