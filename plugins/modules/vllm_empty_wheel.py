#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Build vLLM without a device, once."""

from __future__ import annotations

DOCUMENTATION = r"""
module: vllm_empty_wheel
short_description: Build vLLM without a device, once
version_added: 0.1.0
description:
  - Builds vLLM from its source archive on the package index with C(VLLM_TARGET_DEVICE=empty), as vllm-ascend's images do,
    and keeps the wheel in a folder. It holds Python alone, so that one wheel is for every host and architecture.
  - A wheel that was made from the same source before is kept as it is.
author:
  - The kvcache.ascend authors (@kvcache-ascend)
attributes:
  check_mode:
    support: full
    description: Says whether the wheel would be built.
  diff_mode:
    support: none
    description: Wheels are binaries; the result names the wheel.
options:
  dest:
    description: Folder for the wheel.
    type: path
    required: true
  version:
    description: Version of vLLM.
    type: str
    required: true
  source_sha256:
    description: The sha256 of the source archive, as 64 hexadecimal digits.
    type: str
    required: true
  tools:
    description: Text of a lock of the packages that build it.
    type: str
    required: true
  python:
    description: A Python on this machine, 3.9 or newer, that has venv.
    type: path
    default: /usr/bin/python3
"""

EXAMPLES = r"""
- name: Build vLLM without a device
  kvcache.ascend.vllm_empty_wheel:
    dest: /srv/kvcache/stack
    version: "{{ release_spec.vllm.version }}"
    source_sha256: "{{ release_spec.vllm.source_sha256 }}"
    tools: "{{ lookup('ansible.builtin.file', 'vllm-build.txt') }}"
    python: "{{ ansible_playbook_python }}"
  delegate_to: localhost
"""

RETURN = r"""
wheel:
  description: The wheel, as a lock names one. None in check mode when it would be built.
  returned: always
  type: dict
  contains:
    name:
      description: Name of the package.
      type: str
      sample: vllm
    version:
      description: Version.
      type: str
      sample: 0.13.0+empty
    sha256:
      description: The wheel's sha256.
      type: str
    wheel:
      description: Name of the file.
      type: str
    size_bytes:
      description: Size of the file, in bytes.
      type: int
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.kvcache.ascend.plugins.module_utils import mooncake_proof, vllm_empty


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "dest": {"type": "path", "required": True},
            "version": {"type": "str", "required": True},
            "source_sha256": {"type": "str", "required": True},
            "tools": {"type": "str", "required": True},
            "python": {"type": "path", "default": "/usr/bin/python3"},
        },
        supports_check_mode=True,
    )
    folder = module.params["dest"]
    source = vllm_empty.Source(module.params["version"], module.params["source_sha256"])
    wheel = vllm_empty.made_before(folder, source)
    if wheel or module.check_mode:
        module.exit_json(changed=not wheel, wheel=wheel)
    run = mooncake_proof.tolerant(module.run_command)
    try:
        wheel = vllm_empty.make(
            folder, source, module.params["tools"], module.params["python"], run
        )
    except vllm_empty.BuildError as error:
        module.fail_json(msg=str(error))
    except OSError as error:
        module.fail_json(
            msg=f"{error.filename or folder}: {error.strerror}. Fix it, or set python_stack_store to another folder."
        )
    module.exit_json(changed=True, wheel=wheel)


if __name__ == "__main__":
    main()
