# SPDX-License-Identifier: Apache-2.0
"""Options of the modules that ask a vLLM instance."""

from __future__ import annotations


class ModuleDocFragment:
    """Where the instance is, and how it is asked."""

    DOCUMENTATION = r"""
options:
  host:
    description: Name or address of the instance, as this host reaches it.
    type: str
    default: 127.0.0.1
  port:
    description: Port of its API.
    type: int
    default: 8000
  api_key:
    description: Key that the instance asks for (E(VLLM_API_KEY) in C(vllm_secrets)).
    type: str
  step_timeout:
    description: Seconds that one question about health, version, models or metrics may take.
    type: float
    default: 5.0
  metrics:
    description:
      - Names of the release's metrics, C(release_spec.connector.metrics).
      - Without them nothing is counted.
    type: dict
    default: {}
notes:
  - Needs nothing but Python on the host on which it runs; in particular not vLLM.
"""
