# SPDX-License-Identifier: Apache-2.0
"""Runs npu-smi and hccn_tool: each call once, within its time limit, in English; a tool that hangs is not asked again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Mapping

from ansible_collections.kvcache.ascend.plugins.module_utils import npu_smi
from ansible_collections.kvcache.ascend.plugins.module_utils.limited_command import Answer, Runner
from ansible_collections.kvcache.ascend.plugins.module_utils.npu_files import Files

_ASKED = (
    "address",
    "netmask",
    "state",
    "net_health",
    "net_healthy",
    "configured_address",
    "agrees_with_conf",
)
# Where drivers put npu-smi, beside PATH, which lacks the sbin folders for many users.
USUAL_FOLDERS = ("/usr/local/bin", "/usr/local/sbin", "/usr/bin", "/usr/sbin")


@dataclass
class Tools:
    """The tools of a host. `runs` keeps what was run, with status and seconds."""

    files: Files
    run: Runner
    environment: Mapping[str, str]
    root: str
    seconds: float
    runs: list[dict[str, Any]] = field(default_factory=list)
    _hung: set[str] = field(default_factory=set)

    def find(self, name: str) -> str | None:
        """The path of a tool; None when it is nowhere."""
        folders = [*self.environment.get("PATH", "").split(":"), *USUAL_FOLDERS]
        paths = [f"{folder}/{name}" for folder in [*folders, f"{self.root}/driver/tools"] if folder]
        return next((path for path in paths if self.files.is_program(path)), None)

    def is_folder(self, name: str) -> bool:
        """Whether a container has an empty folder in the tool's place: a bind mount of a file that is not there."""
        return any(self.files.is_folder(f"{folder}/{name}") for folder in USUAL_FOLDERS)

    def ask(self, path: str, *arguments: str) -> tuple[Answer, dict[str, Any]]:
        """What a tool answered, as it is and as parsed."""
        name = path.rsplit("/", 1)[-1]
        command = [self.files.real(path), *arguments]
        if name in self._hung:
            return Answer(command, problem=f"not asked, since {name} hung before"), {}
        answer = self.run(command, dict(self.environment), self.seconds)
        if answer.timed_out:
            self._hung.add(name)
        self.runs.append(
            {
                "command": " ".join([name, *arguments]),
                "status": answer.status,
                "seconds": answer.seconds,
                "problem": answer.problem or None,
            }
        )
        text = f"{answer.output}\n{answer.error}"
        return answer, npu_smi.parse(" ".join([name, *arguments]), text)


def tool_environment(environment: Mapping[str, str], libraries: str) -> dict[str, str]:
    """The environment of the tools: English, the driver's libraries behind those that are set."""
    path = ":".join(filter(None, [environment.get("LD_LIBRARY_PATH"), libraries]))
    return {**environment, "LC_ALL": "C", "LANG": "C", "LANGUAGE": "C", "LD_LIBRARY_PATH": path}


def has_roce(name: str | None) -> bool | None:
    """Whether a chip of this name has a RoCE port that hccn_tool can be asked about; None when that is not known."""
    bare = (name or "").lower().replace("ascend", "").strip()
    if bare.startswith("910"):
        return True
    return False if bare.startswith("310") else None


def link(tools: Tools, path: str, device: int, configured: str | None) -> dict[str, Any]:
    """The RoCE port of the chip with a physical id: address, state, health, and whether hccn.conf has the same address."""
    read = {
        option: tools.ask(path, "-i", str(device), option, "-g")
        for option in ("-ip", "-link", "-net_health")
    }
    address = read["-ip"][1].get("ipaddr")
    failed = [answer for answer, _parsed in read.values() if answer.status != 0]
    return {
        "device": device,
        "applies": True,
        "address": address,
        "netmask": read["-ip"][1].get("netmask"),
        "state": read["-link"][1].get("link_status"),
        "net_health": read["-net_health"][1].get("net_health"),
        "net_healthy": read["-net_health"][1].get("healthy"),
        "configured_address": configured,
        "agrees_with_conf": None if read["-ip"][0].status != 0 else address == configured,
        "problem": _reason(failed[0]) if failed else None,
    }


def no_link(device: int | None, applies: bool | None, problem: str | None) -> dict[str, Any]:
    """The same for a chip whose port was not asked."""
    return {
        "device": device,
        "applies": applies,
        **dict.fromkeys(_ASKED),
        "problem": problem,
    }


def _reason(answer: Answer) -> str:
    lines = [line.strip() for line in (answer.error or answer.output).splitlines() if line.strip()]
    return answer.problem or f"status {answer.status}: {lines[-1] if lines else 'no message'}"
