# SPDX-License-Identifier: Apache-2.0
"""npu-smi and hccn_tool of the simulated Ascend host: python3 tool.py NAME ARGUMENT…

Looks its command line up in the answers of the host's state, prints what stands there and ends with that status.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time

STATE = os.environ.get("TESTBED_ASCEND_STATE", "/var/lib/testbed-ascend/state.json")
NO_ANSWER = 64


def main() -> int:
    call = " ".join([os.path.basename(sys.argv[1]), *sys.argv[2:]])
    with open(STATE, encoding="utf-8") as state:
        answers = json.load(state)["answers"]
    # "*" is the answer of a tool that can't work at all, whatever it is asked.
    answer = answers.get(call) or answers.get(f"{sys.argv[1]} *")
    if answer is None:
        print(f"testbed: no answer is known for: {call}", file=sys.stderr)
        return NO_ANSWER
    if answer["seconds"]:
        # A tool that waits for a sick card does not let itself be interrupted.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(answer["seconds"])
    sys.stdout.buffer.write(answer["output"].encode("utf-8", "surrogateescape"))
    sys.stdout.flush()
    sys.stderr.write(answer["error"])
    return answer["status"]


if __name__ == "__main__":
    sys.exit(main())
