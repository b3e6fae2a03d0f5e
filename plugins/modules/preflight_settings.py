#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Documentation of the action plugin preflight_settings."""

from __future__ import annotations

DOCUMENTATION = r"""
module: preflight_settings
short_description: Read a host's variables as the roles will read them
version_added: 0.1.0
description:
  - Reads variables together with the defaults of all roles of this collection, and tells of those that can't be read why, in
    place of failing. Runs on the control node; the host is not asked.
  - Meant for the role C(preflight).
author:
  - The kvcache.ascend authors (@kvcache-ascend)
extends_documentation_fragment:
  - kvcache.ascend.attributes
options:
  names:
    description: Variables to read.
    type: list
    elements: str
    required: true
"""

EXAMPLES = r"""
- name: Read the master's port
  kvcache.ascend.preflight_settings:
    names: [mooncake_master_rpc_port]
  register: result
"""

RETURN = r"""
settings:
  description: The variables that are set or have a default.
  returned: always
  type: dict
  sample: {mooncake_master_rpc_port: 50088}
broken:
  description: Why a variable can't be read, by its name.
  returned: always
  type: dict
  sample: {}
ports:
  description: TCP ports on which the host's services will listen.
  returned: always
  type: list
  elements: int
  sample: [10022, 50088]
known:
  description: Every variable that a role of this collection documents.
  returned: always
  type: list
  elements: str
names:
  description: The host's variables that look as if they were meant for this collection.
  returned: always
  type: list
  elements: str
"""
