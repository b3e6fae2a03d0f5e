# SPDX-License-Identifier: Apache-2.0
"""How many NPUs PyTorch sees, asked in the Python that a service would use."""

from __future__ import annotations

import json
from typing import Any

from ansible_collections.kvcache.ascend.plugins.module_utils.limited_command import Answer, Runner

MARK = "kvcache-torch: "
# Libraries print on standard output, too: the answer is the line with the mark.
SCRIPT = f"""
import json
seen = dict(torch=None, torch_npu=None, device_count=None, error=None)
try:
    import torch
    seen["torch"] = torch.__version__
    import torch_npu
    seen["torch_npu"] = torch_npu.__version__
    seen["device_count"] = torch.npu.device_count()
except BaseException as error:
    seen["error"] = type(error).__name__ + ": " + str(error)
print({MARK!r} + json.dumps(seen), flush=True)
"""
SOURCE_AND_RUN = '. "$0" >/dev/null && exec "$@"'


def ask(
    python: str, set_env: str | None, environment: dict[str, str], seconds: float, run: Runner
) -> dict[str, Any]:
    """torch, torch_npu (versions), device_count, and error in words; None for what is not known."""
    command = [python, "-c", SCRIPT]
    if set_env:
        command = ["bash", "-c", SOURCE_AND_RUN, set_env, *command]
    return read(run(command, environment, seconds))


def read(answer: Answer) -> dict[str, Any]:
    nothing = {"torch": None, "torch_npu": None, "device_count": None}
    for line in reversed(answer.output.splitlines()):
        if line.startswith(MARK):
            return json.loads(line[len(MARK) :])
    lines = [line.strip() for line in answer.error.splitlines() if line.strip()]
    reason = answer.problem or f"status {answer.status}: {lines[-1] if lines else 'no message'}"
    return {**nothing, "error": reason}
