#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Run the steps of a build on a host, detached, and tell how far they are."""

from __future__ import annotations

DOCUMENTATION = r"""
module: mooncake_compile
short_description: Run the steps of a long build and show its progress
version_added: 0.1.0
description:
  - Runs commands one after the other in a job that lives on when the connection is lost or Ansible is killed; the next run
    of this module follows the job that is under way.
  - While it runs, a line with the percentage is printed on the control node every O(interval) seconds.
  - When a step fails, says the first real error of its output, not all of it.
author:
  - The kvcache.ascend authors (@kvcache-ascend)
attributes:
  check_mode:
    support: full
    description: Says that the steps would be run.
  diff_mode:
    support: none
    description: A build is a tree of binaries.
options:
  folder:
    description: Folder of the job, with its log. A job in it that has ended well is not run again.
    type: path
    required: true
  steps:
    description: What to run, in order; the first that fails ends the job.
    type: list
    elements: dict
    required: true
    suboptions:
      name:
        description: What the step does, for messages. Names that begin with V(configure) are taken for runs of CMake.
        type: str
        required: true
      argv:
        description: The command.
        type: list
        elements: str
        required: true
      cwd:
        description: Folder to run it in.
        type: path
        default: /
      environment:
        description: Environment variables of this step alone.
        type: dict
        default: {}
  environment:
    description: Environment variables of all steps.
    type: dict
    default: {}
  niceness:
    description: How far the job stands back behind other processes, 0 to 19.
    type: int
    default: 10
  interval:
    description: Seconds between two lines of progress.
    type: int
    default: 30
  state:
    description:
      - V(done) runs the job to its end.
      - V(followed) only looks at it, for at most O(interval) seconds. The module itself uses this.
    type: str
    choices: [done, followed]
    default: done
"""

EXAMPLES = r"""
- name: Compile
  kvcache.ascend.mooncake_compile:
    folder: /var/tmp/build/job
    steps:
      - name: configure Mooncake
        argv: [cmake, -S, /var/tmp/build/source, -B, /var/tmp/build/build]
      - name: compile Mooncake
        argv: [make, -C, /var/tmp/build/build, -j4]
"""

RETURN = r"""
phase:
  description: V(running), V(ended), or V(lost) when the job was killed or could not write down how it ended.
  returned: always
  type: str
step:
  description: Step that is under way or that was the last.
  returned: always
  type: str
seconds:
  description: Seconds since the job began.
  returned: always
  type: float
cpu_seconds:
  description: Processor time of all steps that have ended, in seconds.
  returned: always
  type: float
peak_process_bytes:
  description: Most memory that a single process of the job had, in bytes.
  returned: always
  type: int
progress:
  description: How far the step is, by its own output.
  returned: always
  type: dict
  contains:
    percent:
      description: Percentage; null when the step tells none.
      type: int
    done:
      description: Parts that are done; null when the step tells only a percentage.
      type: int
    total:
      description: All parts.
      type: int
    what:
      description: What is under way.
      type: str
kind:
  description: V(host) when another host may well succeed, V(source) when every host would fail in the same way.
  returned: failure
  type: str
"""

import sys

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.kvcache.ascend.plugins.module_utils import build_job, build_log, host_files


def plan_of(module: AnsibleModule) -> dict:
    return {
        "niceness": module.params["niceness"],
        "environment": {key: str(value) for key, value in module.params["environment"].items()},
        "steps": [
            dict(step, environment={key: str(value) for key, value in step["environment"].items()})
            for step in module.params["steps"]
        ],
    }


def result_of(folder: str, state: dict) -> dict:
    """Return what is told of a job, and what is wrong with one that failed."""
    output = build_job.log_of_step(folder, state)
    result = {
        "phase": state["phase"],
        "step": state.get("step"),
        "seconds": state.get("seconds", 0),
        "cpu_seconds": state.get("cpu_seconds", 0),
        "peak_process_bytes": state.get("peak_process_bytes", 0),
        "progress": build_log.progress(output),
    }
    if state["phase"] == "lost":
        why = build_log.explain_lost(output, host_files.free_bytes(folder))
    elif state["phase"] == "ended" and state["status"] != 0:
        why = build_log.explain(output, state["status"], state["step"])
    else:
        return result
    log = f"{folder}/log"
    return dict(
        result,
        failed=True,
        kind=why["kind"],
        msg=f"{state['step']}: {why['cause']}. Fix: {why['fix']}. Log: {log}",
    )


def main() -> None:
    step = {
        "name": {"type": "str", "required": True},
        "argv": {"type": "list", "elements": "str", "required": True},
        "cwd": {"type": "path", "default": "/"},
        "environment": {"type": "dict", "default": {}},
    }
    module = AnsibleModule(
        argument_spec={
            "folder": {"type": "path", "required": True},
            "steps": {"type": "list", "elements": "dict", "required": True, "options": step},
            "environment": {"type": "dict", "default": {}},
            "niceness": {"type": "int", "default": 10},
            "interval": {"type": "int", "default": 30},
            "state": {"type": "str", "choices": ["done", "followed"], "default": "done"},
        },
        supports_check_mode=True,
    )
    folder = module.params["folder"]
    if module.check_mode:
        module.exit_json(changed=True, phase="running", step=None, seconds=0)
    try:
        if module.params["state"] == "followed":
            state = build_job.wait(folder, module.params["interval"])
        else:
            state = build_job.ensure(folder, plan_of(module), sys.executable)
    except OSError as error:
        module.fail_json(
            msg=f"{error.filename or folder}: {error.strerror}. Fix: correct this on the host, then run again.",
            kind="host",
        )
    result = result_of(folder, state)
    if result.pop("failed", False):
        module.fail_json(**result)
    module.exit_json(changed=True, **result)


if __name__ == "__main__":
    main()
