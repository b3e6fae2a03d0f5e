# SPDX-License-Identifier: Apache-2.0
"""npu_info beside a ping on one host that looks like an NPU server, and the parser on the largest tables."""

from __future__ import annotations

import sys
from pathlib import Path

from measure import ROOT, in_turns, output_of, ratio, seconds, show

sys.path.insert(0, str(ROOT / "collections"))

from ansible_collections.kvcache.ascend.plugins.module_utils import npu_smi
from ansible_collections.kvcache.ascend.tests.unit.npu_samples import TABLES

FIX = "run 'make demo' first."
HOST = "demo-1"
TESTBED = str(ROOT / "tests" / "testbed" / "testbed")


def on_host(*module: str) -> list[str]:
    return ["ansible", "-i", "demo", HOST, "-b", "-m", *module]


def hosts(runs: int) -> None:
    info = "kvcache.ascend.npu_info"
    works = {
        "ping": lambda: output_of(on_host("ansible.builtin.ping"), FIX),
        "npu_info without links": lambda: output_of(on_host(info, "-a", "links=false"), FIX),
        "npu_info": lambda: output_of(on_host(info), FIX),
    }
    output_of([TESTBED, "ascend", HOST, "healthy-8x910b", "--cann", "9.1.0"], FIX)
    try:
        times = in_turns(works, runs)
    finally:
        output_of([TESTBED, "ascend", HOST, "none"], FIX)
    show("ansible -m ping", times["ping"], "one host")
    for name, calls in (("npu_info without links", 2), ("npu_info", 26)):
        more = (
            f"8 chips, {calls} calls of tools; {ratio(times[name], times['ping']):.1f} times a ping"
        )
        show(name, times[name], more)


def parser() -> None:
    largest = max(TABLES, key=lambda sample: len(sample.text))
    most = max(TABLES, key=lambda sample: len(sample.answer["chips"]))
    for sample in dict.fromkeys([largest.name, most.name]):
        (found,) = [each for each in TABLES if each.name == sample]
        times = [
            seconds(lambda text=found.text: npu_smi.parse("npu-smi info", text))  # type: ignore[misc]
            for _number in range(50)
        ]
        chips, size = len(found.answer["chips"]), len(found.text.encode())
        show(f"parse {Path(sample).name[:22]}", times, f"{chips} chips, {size} bytes")


if __name__ == "__main__":
    hosts(int(sys.argv[1]))
    parser()
