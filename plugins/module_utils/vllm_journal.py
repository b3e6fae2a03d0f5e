# SPDX-License-Identifier: Apache-2.0
"""Why an instance does not serve, in one line, read from its journal.

vLLM ends with "Engine core initialization failed. See root cause above" whatever the cause was, so that its last line tells
nothing: the causes below are looked for in all that it wrote since it was last started.
"""

from __future__ import annotations

import re

CAUSES = (
    (
        r"unrecognized arguments: (?P<what>[^\n]*)",
        "vLLM does not know {what}",
        "correct the options of the instance (vllm serve --help=all lists those of this release)",
    ),
    (
        r"error: argument (?P<what>[^\n]*)",
        "vLLM refuses the argument {what}",
        "correct the options of the instance",
    ),
    (
        r"Initialize (?:MooncakeDistributedStore|mooncake) failed|Failed to connect to master|mount_segment[^\n]*RPC_FAIL",
        "it could not join the pool: the master was not reached, or speaks another version",
        "check the master from this host (ansible-playbook verify.yml), and that all hosts have one Mooncake",
    ),
    (
        r"Register mem ret:\s*(?P<what>20700\d)[^\n]*|[Rr]egister[^\n]*(?:memory|buffer)[^\n]*failed",
        "the NPU could not register the segment's memory {what}",
        "give a smaller segment_size; before driver 25.5 an NPU takes no more than about 20 to 32 GB",
    ),
    (
        r"Free memory on device[^\n]*(?P<what>\([^\n]*?\))[^\n]*less than desired",
        "the device has too little free memory {what}",
        "see who holds it (npu-smi info): a worker that was left behind, another instance; or lower gpu-memory-utilization",
    ),
    (
        r"(?P<what>\d+(?:\.\d+)? GiB) KV cache is needed|No available memory for the cache blocks",
        "its KV cache has no room {what}",
        "raise gpu-memory-utilization (on platform cpu VLLM_CPU_KVCACHE_SPACE) or lower max-model-len",
    ),
    (
        r"local_world_size[^\n]*visible devices|[Ii]nvalid device|device_count[^\n]*\b0\b|error code is 107001",
        "it does not see the NPUs of its devices",
        "compare devices of the instance with npu-smi info -l; is its user in the devices' group?",
    ),
    (
        r"(?P<what>lib[\w.+-]+\.so[\w.]*): cannot open shared object file",
        "it does not find the library {what}",
        "is CANN installed, with nnal? The environment of the instance is what its set_env.sh sets; run site.yml",
    ),
    (
        r"No module named '(?P<what>[\w.]+)'",
        "the stack lacks the Python module {what}",
        "run site.yml with --tags python_stack_verify, which tells what is wrong with it",
    ),
    (
        r"(?:Repo id must be in the form|is not a local folder|Can't load the configuration of|does not appear to have a "
        r"file named|Invalid repository ID or local directory specified)[^\n]*",
        "it does not find the model",
        "correct model: a folder that is on this host and that the user of the service may read",
    ),
    (
        r"Permission denied: '(?P<what>[^'\n]+)'",
        "its user may not use {what}",
        "let it: chmod, or vllm_writable_paths for a folder that it must write to",
    ),
    (
        r"[Aa]ddress already in use[^\n]*",
        "another process has its port",
        "see who listens (sudo ss -ltnp); correct port",
    ),
    (
        r"OOM killer|Failed with result 'oom-kill'|status=9/KILL",
        "it was killed since memory ran out, or by a person",
        "see the kernel's words (sudo journalctl -k); segments and KV caches must fit into the host's memory",
    ),
    (
        r"status=203/EXEC",
        "systemd can't execute vLLM",
        "see that its user may enter each folder of the stack (namei -l), then run site.yml",
    ),
    (
        r"status=(?P<what>216/GROUP|217/USER|226/NAMESPACE|200/CHDIR)",
        "systemd can't set it up ({what})",
        "look at the unit with its drop-ins (systemctl cat)",
    ),
    (
        r"status=31/SYS",
        "it was killed for a system call that its unit does not allow",
        "add a drop-in with a wider SystemCallFilter= and report it",
    ),
)
"""Pattern, cause and fix, the more telling first: what only follows from another stands behind it."""

STARTED = re.compile(r"^Starting [^\n]*vLLM", re.MULTILINE)
RAISED = re.compile(r"\b(?P<what>[A-Z]\w*(?:Error|Exception): [^\n]+)")
EMPTY_WORDS = "Engine core initialization failed"


def explain(journal: str) -> str:
    """Return ``cause. Fix: what to do``; `journal` is its end, and what was before the last start but one is past."""
    starts = list(STARTED.finditer(journal))
    # When it is restarted over and over, the last life has not told its cause yet.
    recent = journal[starts[-2].start() if len(starts) > 1 else 0 :]
    for pattern, cause, fix in CAUSES:
        match = re.search(pattern, recent)
        if match:
            what = match.groupdict().get("what") or ""
            return f"{' '.join(cause.format(what=what).split())}. Fix: {fix}."
    raised = [
        match.group("what")
        for match in RAISED.finditer(recent)
        if EMPTY_WORDS not in match.group("what")
    ]
    see = "Fix: read its journal on the host."
    if raised:
        return f'its journal says "{raised[0][:200]}". {see}'
    return f"its journal {'tells no cause' if recent.strip() else 'is empty'}. {see}"
