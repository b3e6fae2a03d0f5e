# SPDX-License-Identifier: Apache-2.0
"""TTFT of a long document that is computed, that the pool has, that it lacks: evaluate.yml on the hosts of "make demo"."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from measure import output_of, ratio, show

FIX = "run 'make demo' first."
# Twice as many as the instance's own cache holds, so that what is found comes out of the pool alone.
DOCUMENTS = 4
POOL, BARE = "with the pool", "without it"


def measure(folder: Path) -> dict[str, list[dict[str, float]]]:
    """Evaluate once; return the rounds of each variant, the first of which finds nothing in a cache."""
    asked = {
        "evaluate_documents": [DOCUMENTS],
        "evaluate_again": True,
        "evaluate_dir": str(folder),
    }
    output_of(["ansible-playbook", "-i", "demo", "evaluate.yml", "-e", json.dumps(asked)], FIX)
    variants = json.loads((folder / "verdict.json").read_text())
    rounds = {each["name"]: each["rows"][0]["rounds"] for each in variants}
    first, last = rounds[POOL][0], rounds[POOL][-1]
    if first["pool"] or not last["pool"]:
        sys.exit(
            f"bench: {first['pool']} tokens of new documents and {last['pool']} of known ones came from the pool. "
            "Fix: run verify.yml on the demo."
        )
    return rounds


def main(runs: int) -> None:
    times: dict[str, list[float]] = {"hit": [], "with": [], "without": []}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(runs):
            print(f"run {number + 1} of {runs}", file=sys.stderr)
            rounds = measure(Path(folder))
            times["hit"].append(rounds[POOL][-1]["mean"])
            times["with"].append(rounds[POOL][0]["mean"])
            times["without"].append(rounds[BARE][0]["mean"])
    show("hit in the pool", times["hit"], f"mean TTFT of {DOCUMENTS} documents")
    recompute = ratio(times["without"], times["hit"])
    show("computed, without a pool", times["without"], f"{recompute:.1f} times a hit")
    miss = ratio(times["with"], times["without"])
    show("computed, not in the pool", times["with"], f"{miss:.2f} times without a pool")


if __name__ == "__main__":
    main(int(sys.argv[1]))
