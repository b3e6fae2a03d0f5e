# SPDX-License-Identifier: Apache-2.0
"""What the modules that look at a Python stack have in common."""

from __future__ import annotations


class ModuleDocFragment:
    """Options of python_stack_info and python_stack_check."""

    DOCUMENTATION = r"""
options:
  root:
    description: Folder that holds one folder per stack, and the link C(current).
    type: path
    default: /opt/kvcache/stack
  python:
    description: The Python that environments are made with.
    type: path
    default: /usr/bin/python3
  place:
    description: Folder below O(root) to find fault with. Empty for the one that C(current) points to.
    type: str
    default: ""
  deep:
    description: Whether to read every file and compare its checksum, rather than its size alone.
    type: bool
    default: false
  prove:
    description: Whether to import torch, torch_npu, vllm_ascend's operators and vLLM's platform, and run C(vllm --version).
    type: bool
    default: false
  mooncake:
    description: Folder with Mooncake's Python package; with O(prove=true) it is imported too when it is there.
    type: path
    default: ""
  set_env_files:
    description: On a host with NPUs, files of CANN that are sourced before the imports, where they exist.
    type: list
    elements: path
    default: []
  environment:
    description: Further environment variables for the imports.
    type: dict
    default: {}
"""
