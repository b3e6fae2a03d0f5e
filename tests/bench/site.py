# SPDX-License-Identifier: Apache-2.0
"""What a run of site.yml that changes nothing costs, beside a ping of the same hosts (those of "make demo")."""

from __future__ import annotations

import re
import sys

from measure import in_turns, output_of, ratio, show

FIX = "run 'make demo' first."
PING = ["ansible", "-i", "demo", "all", "-m", "ansible.builtin.ping"]
SITE = ["ansible-playbook", "-i", "demo", "site.yml"]


def main(runs: int) -> None:
    recap = output_of(SITE, FIX).split("PLAY RECAP")[1]
    if re.search(r"changed=[1-9]", recap):
        sys.exit("bench: site.yml changed something. Fix: run it once more, then bench.")
    tasks = sum(int(count) for count in re.findall(r"ok=(\d+)", recap))
    works = {"ping": lambda: output_of(PING, FIX), "site": lambda: output_of(SITE, FIX)}
    times = in_turns(works, runs)
    times_a_ping = ratio(times["site"], times["ping"])
    show("ansible -m ping", times["ping"], "two hosts")
    show("site.yml, no change", times["site"], f"{tasks} tasks; {times_a_ping:.1f} times a ping")


if __name__ == "__main__":
    main(int(sys.argv[1]))
