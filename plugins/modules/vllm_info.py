#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""What a vLLM instance says of itself."""

from __future__ import annotations

DOCUMENTATION = r"""
module: vllm_info
short_description: Tell whether a vLLM instance is healthy, what it serves, and what it has counted
version_added: 0.1.0
description:
  - Asks C(/health), C(/version), C(/v1/models) and C(/metrics) once. Sends no prompt.
  - Never fails because of what it saw; M(kvcache.ascend.vllm_check) does, and waits.
author:
  - The kvcache.ascend authors (@kvcache-ascend)
extends_documentation_fragment:
  - kvcache.ascend.attributes
  - kvcache.ascend.vllm
seealso:
  - module: kvcache.ascend.vllm_check
"""

EXAMPLES = r"""
- name: Look at an instance
  kvcache.ascend.vllm_info:
    port: 8100
    metrics: "{{ release_spec.connector.metrics }}"
  register: seen

- name: Show how many tokens came from the pool since its start
  ansible.builtin.debug:
    msg: "{{ seen.vllm.counters.external_hits }} of {{ seen.vllm.counters.prompt_tokens }}"
"""

RETURN = r"""
vllm:
  description: What was seen. What is unknown is null.
  returned: always
  type: dict
  contains:
    address:
      description: Host and port.
      type: str
      sample: 127.0.0.1:8100
    health:
      description: How far the question for C(/health) came.
      type: dict
      contains:
        outcome:
          description:
            - V(answered), V(refused), V(timed_out), V(unreachable), V(failed), V(closed), V(silent) or V(not_asked).
          type: str
        detail:
          description: The error behind the outcome in words.
          type: str
        status:
          description: HTTP status, 200 when the engine runs, 503 when it is dead.
          type: int
    version:
      description: vLLM's version.
      type: str
      sample: 0.13.0
    models_status:
      description: HTTP status of C(/v1/models).
      type: int
    models:
      description: Name (C(name)) and longest context (C(max_model_len)) of each model.
      type: list
      elements: dict
    block_size:
      description: Tokens in a block of the KV cache.
      type: int
      sample: 128
    counters:
      description:
        - Tokens since the instance's start. C(prompt_tokens); C(local_queries) and C(local_hits), its own cache;
          C(external_queries) and C(external_hits), the pool; C(source_computed), C(source_local) and C(source_external)
          where the release counts them.
      type: dict
findings:
  description: What is wrong with it, each with its fix; none when all is well.
  returned: always
  type: list
  elements: dict
"""

import platform

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.kvcache.ascend.plugins.module_utils import (
    vllm_api,
    vllm_arguments,
    vllm_evidence,
    vllm_findings,
)


def main() -> None:
    module = AnsibleModule(argument_spec=vllm_arguments.SPEC, supports_check_mode=True)
    target = vllm_arguments.target(module.params)
    host = platform.node()
    seen = vllm_api.look(target)
    findings = vllm_findings.health(seen, host)
    exposition = vllm_api.exposition(target)
    seen["block_size"] = vllm_evidence.block_size(exposition)
    seen["counters"] = vllm_evidence.counters(exposition, module.params["metrics"])
    findings = findings or vllm_findings.models(seen, host, "")
    module.exit_json(changed=False, vllm=seen, findings=findings)


if __name__ == "__main__":
    main()
