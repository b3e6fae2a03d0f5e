#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Run the load of an evaluation on a host, detached, and tell how far it is."""

from __future__ import annotations

DOCUMENTATION = r"""
module: evaluate_sweep
short_description: Send an instance growing numbers of documents, and show the progress
version_added: 0.1.0
description:
  - Runs the role's program C(load.py), which calls vLLM's load generator, as a job that lives on when a connection is lost.
    It writes a line into the file of results after each number of documents.
  - While it runs, a line with what is left is printed on the control node every O(interval) seconds.
author:
  - The kvcache.ascend authors (@kvcache-ascend)
attributes:
  check_mode:
    support: full
    description: Says that it would measure.
  diff_mode:
    support: none
    description: Nothing but results is written.
options:
  folder:
    description: Folder of the job, with its log.
    type: path
    required: true
  python:
    description: The interpreter of the environment that has vLLM.
    type: path
    required: true
  script:
    description: The program, on the host.
    type: path
    required: true
  plan:
    description: What the program is to do. C(documents) is a list of numbers of documents.
    type: dict
    required: true
  user:
    description: User that the load runs as.
    type: str
    required: true
  api_key:
    description: Key of the instance's API.
    type: str
  later_requests:
    description: Requests that come after this sweep, for the time that is left.
    type: int
    default: 0
  request_seconds:
    description: Most seconds of a request, for the time that is left.
    type: float
    default: 0.0
  interval:
    description: Seconds between two lines of progress.
    type: int
    default: 30
  state:
    description:
      - V(done) runs it to its end.
      - V(followed) only looks at it, for at most O(interval) seconds.
    type: str
    choices: [done, followed]
    default: done
"""

EXAMPLES = r"""
- name: Look whether a sweep of an earlier run is under way
  kvcache.ascend.evaluate_sweep:
    folder: /var/lib/kvcache/evaluate/job
    python: /opt/kvcache/stack/current/bin/python
    script: /var/lib/kvcache/evaluate/load.py
    plan: {}
    user: vllm
    interval: 0
    state: followed
"""

RETURN = r"""
phase:
  description: V(absent), V(running), V(ended), or V(lost) when the job was killed.
  returned: always
  type: str
seconds:
  description: Seconds since the job began.
  returned: always
  type: float
pid:
  description: Its process; null without one.
  returned: always
  type: int
progress:
  description: How far it is.
  returned: always
  type: dict
  contains:
    done:
      description: Steps that are done.
      type: int
    what:
      description: What is under way.
      type: str
progress_text:
  description: The same in words, with what is left.
  returned: always
  type: str
"""

import json
import os
import shutil
import sys
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.kvcache.ascend.plugins.module_utils import (
    build_job,
    evaluate_job,
    host_files,
)


def begin(module: AnsibleModule) -> dict[str, Any]:
    """Start the job, with the key in its environment and in no file."""
    params = module.params
    os.makedirs(params["folder"], mode=0o755, exist_ok=True)
    plan_file = os.path.join(params["folder"], "sweep.json")
    with open(plan_file, "w", encoding="utf-8") as handle:
        json.dump(params["plan"], handle)
    os.environ["OPENAI_API_KEY"] = params["api_key"] or "none"
    argv = ["runuser", "-u", params["user"], "--", params["python"], params["script"], plan_file]
    step = {"name": "load", "argv": argv, "cwd": "/", "environment": {}}
    job = {"niceness": 0, "environment": {"HOME": "/tmp"}, "steps": [step]}
    build_job.start(params["folder"], job, sys.executable)
    return build_job.wait(params["folder"], 1)


def told(params: dict[str, Any], state: dict[str, Any], log: str) -> dict[str, Any]:
    seen = evaluate_job.progress(log)
    plan = params["plan"]
    return {
        "phase": state["phase"],
        "seconds": state.get("seconds", 0),
        "pid": state.get("pid"),
        "progress": seen,
        "progress_text": evaluate_job.progress_text(
            seen,
            plan.get("documents", []),
            int(plan.get("passes", 1)),
            params["later_requests"],
            params["request_seconds"],
        ),
    }


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "folder": {"type": "path", "required": True},
            "python": {"type": "path", "required": True},
            "script": {"type": "path", "required": True},
            "plan": {"type": "dict", "required": True},
            "user": {"type": "str", "required": True},
            "api_key": {"type": "str", "no_log": True},
            "later_requests": {"type": "int", "default": 0},
            "request_seconds": {"type": "float", "default": 0.0},
            "interval": {"type": "int", "default": 30},
            "state": {"type": "str", "choices": ["done", "followed"], "default": "done"},
        },
        supports_check_mode=True,
    )
    params, is_look = module.params, module.params["state"] == "followed"
    state: dict[str, Any] = {"phase": "absent"}
    if is_look:
        state = build_job.wait(params["folder"], params["interval"])
    elif not module.check_mode:
        if shutil.which("runuser") is None:
            module.fail_json(msg="there is no runuser (package util-linux). Fix: install it.")
        try:
            state = begin(module)
        except OSError as error:
            module.fail_json(
                msg=f"{error.filename or params['folder']}: {error.strerror}. Fix: correct this on the host, then run again."
            )
    log = build_job.log_of_step(params["folder"], state)
    result = told(params, state, log)
    if is_look and params["interval"] == 0:
        module.exit_json(changed=False, **result)
    if state["phase"] == "lost" or (state["phase"] == "ended" and state["status"] != 0):
        free = host_files.free_bytes(params["folder"])
        why = evaluate_job.failure(log, state["status"], free)
        module.fail_json(msg=f"{why}. Log: {params['folder']}/log", **result)
    module.exit_json(changed=True, **result)


if __name__ == "__main__":
    main()
