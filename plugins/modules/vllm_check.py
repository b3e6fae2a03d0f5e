#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Wait until a vLLM instance answers a request, or fail with what is wrong."""

from __future__ import annotations

DOCUMENTATION = r"""
module: vllm_check
short_description: Prove that a vLLM instance answers, and where the tokens of a prompt came from
version_added: 0.1.0
description:
  - Waits until C(/health) says that the engine runs, checks the model's name, and lets it continue a prompt by one token.
  - With O(expect=cache) or O(expect=pool) the prompt must have come from a cache, token by token, as the instance counts it.
    Where a release counts nothing of the pool (vLLM 0.11), the connector's line in the instance's journal tells it.
  - Ends early when the instance's service ends by itself, instead of waiting for a port that never opens.
  - Fails with what is wrong and what to do.
author:
  - The kvcache.ascend authors (@kvcache-ascend)
extends_documentation_fragment:
  - kvcache.ascend.attributes
  - kvcache.ascend.vllm
options:
  model:
    description: Name under which the instance must serve its model. The first that it serves when empty.
    type: str
    default: ""
  timeout:
    description: Seconds to wait until it is healthy. V(0) asks once.
    type: float
    default: 30.0
  interval:
    description: Seconds between two questions.
    type: float
    default: 2.0
  completion_timeout:
    description: Seconds in which a request must be answered.
    type: float
    default: 120.0
  prompt_seed:
    description: The same text makes the same prompt. A new prompt each time when empty.
    type: str
    default: ""
  prompt_tokens:
    description: Tokens of the prompt, at most what the model takes. V(0) stands for a short one.
    type: int
    default: 0
  repeat:
    description: How often the prompt is sent.
    type: int
    default: 1
  expect:
    description:
      - What the last request must show.
      - V(answer), that there is one. V(cache), that all whole blocks of its prompt came from the instance's own cache or the
        pool. V(pool), that they came from the pool.
    type: str
    choices: [answer, cache, pool]
    default: answer
  unit:
    description: Service of the instance on this host, to see when it ends by itself and to read its journal.
    type: str
    default: ""
  log_pattern:
    description: How the connector tells of a hit in the log, C(release_spec.connector.hit_log.pattern).
    type: str
    default: ""
seealso:
  - module: kvcache.ascend.vllm_info
"""

EXAMPLES = r"""
- name: Wait until an instance serves
  kvcache.ascend.vllm_check:
    port: 8100
    model: qwen
    unit: vllm@a.service
    timeout: 1800

- name: Send a long prompt twice
  kvcache.ascend.vllm_check:
    port: 8100
    prompt_seed: one
    prompt_tokens: 1031
    repeat: 2
    expect: cache
    metrics: "{{ release_spec.connector.metrics }}"

- name: Prove that another instance finds it in the pool
  kvcache.ascend.vllm_check:
    port: 8101
    prompt_seed: one
    prompt_tokens: 1031
    expect: pool
    metrics: "{{ release_spec.connector.metrics }}"
"""

RETURN = r"""
msg:
  description: One line that says what the instance serves, or what is wrong and what to do.
  returned: always
  type: str
  sample: "127.0.0.1:8101 serves qwen (vLLM 0.23.0); 1031 tokens in 0.21 s: 1024 from the pool, 7 computed"
waited_seconds:
  description: Seconds until it was healthy.
  returned: always
  type: float
requests:
  description: What was sent, and what the instance counted meanwhile; null for what the release does not count.
  returned: always
  type: list
  elements: dict
  contains:
    status:
      description: HTTP status of the answer.
      type: int
    seconds:
      description: How long the answer took.
      type: float
    prompt_tokens:
      description: Tokens of the prompt.
      type: int
    computed_tokens:
      description: Those that were computed.
      type: int
    local_tokens:
      description: Those from the instance's own cache.
      type: int
    pool_tokens:
      description: Those from the pool.
      type: int
    exact:
      description: Whether the counters moved by this request alone.
      type: bool
findings:
  description: What is wrong, each with its fix; none when all is well.
  returned: always
  type: list
  elements: dict
"""

import platform
from typing import Any, Mapping

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.kvcache.ascend.plugins.module_utils import (
    finding,
    proc_services,
    vllm_arguments,
    vllm_check,
    vllm_findings,
)

LOG_LINES = "2000"


def host_of(module: AnsibleModule, unit: str) -> vllm_check.Host:
    """Reads the state of the unit and the end of its journal; nothing without a unit."""

    def unit_state() -> Mapping[str, Any]:
        if not unit:
            return {}
        text = module.run_command(
            ["systemctl", "show", unit, "--property", "ActiveState,NRestarts"]
        )[1]
        properties = proc_services.parse_properties(text)
        return {
            "active": properties.get("ActiveState"),
            "restarts": int(properties.get("NRestarts") or 0),
        }

    def log() -> str:
        if not unit:
            return ""
        command = ["journalctl", "--unit", unit, "--lines", LOG_LINES, "--output", "cat"]
        return str(module.run_command([*command, "--no-pager"])[1])

    return vllm_check.Host(unit_state, log)


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            **vllm_arguments.SPEC,
            "model": {"type": "str", "default": ""},
            "timeout": {"type": "float", "default": 30.0},
            "interval": {"type": "float", "default": 2.0},
            "completion_timeout": {"type": "float", "default": 120.0},
            "prompt_seed": {"type": "str", "default": ""},
            "prompt_tokens": {"type": "int", "default": 0, "no_log": False},  # no secret
            "repeat": {"type": "int", "default": 1},
            "expect": {"type": "str", "choices": ["answer", "cache", "pool"], "default": "answer"},
            "unit": {"type": "str", "default": ""},
            "log_pattern": {"type": "str", "default": ""},
        },
        supports_check_mode=True,
    )
    params = module.params
    options = vllm_check.Options(
        host=platform.node(),
        model=params["model"],
        unit=params["unit"],
        timeout_seconds=params["timeout"],
        interval_seconds=params["interval"],
        completion_seconds=params["completion_timeout"],
        prompt_seed=params["prompt_seed"],
        prompt_tokens=params["prompt_tokens"],
        repeat=params["repeat"],
        expect=params["expect"],
        metrics=params["metrics"],
        log_pattern=params["log_pattern"],
    )
    result = vllm_check.run(vllm_arguments.target(params), options, host_of(module, params["unit"]))
    told = {
        "findings": result.findings,
        "requests": result.requests,
        "waited_seconds": result.waited_seconds,
    }
    if result.findings:
        module.fail_json(msg=finding.render(result.findings), **told)
    module.exit_json(changed=False, msg=vllm_findings.served(result.seen, result.requests), **told)


if __name__ == "__main__":
    main()
