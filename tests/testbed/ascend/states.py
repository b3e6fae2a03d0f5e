# SPDX-License-Identifier: Apache-2.0
"""What a simulated Ascend host shows in each of its states: python3 states.py lists them.

The texts are the samples of npu-smi and hccn_tool, with rows left out or replaced where a state needs it.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Iterable

HERE = Path(__file__).resolve().parent
# In the repository, or beside this file on the host.
SAMPLES = next(
    (
        folder
        for folder in (HERE / "samples", HERE.parents[1] / "unit" / "samples" / "npu")
        if folder.is_dir()
    ),
    HERE / "samples",
)
NOT_KNOWN = 1  # status of a failure whose real status is not on record
MANAGERS = ["davinci_manager", "devmm_svm", "hisi_hdc"]
A2, A3, ATLAS_950, A310P = "0xd802", "0xd803", "0xd806", "0xd500"


@dataclass
class State:
    """All that `simulate` makes true on a host. Physical ids number the nodes."""

    summary: str
    driver: str = ""  # version on disk; empty: no driver installed
    nodes: list[int] = field(default_factory=list)
    node_mode: str = "0660"
    pci_device: str = ""
    pci_count: int = 0
    has_tools: bool = False
    addresses: dict[int, str] = field(default_factory=dict)  # hccn.conf
    answers: dict[str, dict[str, Any]] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        return dict(vars(self))


def sample(number: str) -> str:
    (path,) = SAMPLES.glob(f"{number}-*.txt")
    return path.read_bytes().decode("utf-8", "surrogateescape")


def answer(output: str, status: int = 0, error: str = "", seconds: float = 0) -> dict[str, Any]:
    return {"output": output, "error": error, "status": status, "seconds": seconds}


# --- texts -------------------------------------------------------------------------------------------


def keep_cards(table: str, cards: Iterable[int]) -> str:
    """Leave the other cards out of a table whose chips take three lines and whose idle cards take two."""
    wanted = set(cards)
    lines = table.split("\n")
    kept: list[str] = []
    index = 0
    while index < len(lines):
        chip = re.match(r"\| (\d+) +\d\w+ +\| \w", lines[index])
        idle = re.match(r"\| No running processes found in NPU (\d+)", lines[index])
        length = 3 if chip else 2 if idle else 1
        found = chip or idle
        if found is None or int(found.group(1)) in wanted:
            kept += lines[index : index + length]
        index += length
    return "\n".join(kept)


def with_health(table: str, card: int, health: str) -> str:
    return re.sub(
        rf"(?m)^(\| {card} +\w+ +\| )OK {{{len(health) - 2}}}", rf"\g<1>{health}", table, count=1
    )


def mapping(header: str, rows: Iterable[Iterable[Any]]) -> str:
    return "\n".join([header, *("    ".join(map(str, row)) for row in rows)]) + "\n"


def mapping_a2(cards: Iterable[int]) -> str:
    """`-m` of an A2 host: logic ids count up from 0, whatever the cards are; each card has a controller."""
    header = sample("66").split("\n", maxsplit=1)[0].rstrip()
    rows = []
    for logic, card in enumerate(cards):
        rows += [(card, 0, logic, "Ascend 910B2"), (card, 1, "-", "Mcu")]
    return mapping(header, rows)


def mapping_a3(cards: int) -> str:
    header = sample("67").split("\n", maxsplit=1)[0].rstrip()
    rows: list[tuple[Any, ...]] = []
    for card in range(cards):
        rows += [(card, chip, 2 * card + chip, 2 * card + chip, "Ascend910") for chip in (0, 1)]
        rows.append((card, 2, "-", "-", "Mcu"))
    return mapping(header, rows)


def health_answers(cards: Iterable[int], sick: int | None = None) -> dict[str, dict[str, Any]]:
    """`-t health` of each card with one chip."""
    return {
        f"npu-smi info -t health -i {card} -c 0": answer(sample("81" if card == sick else "79"))
        for card in cards
    }


def hccn_address(device: int) -> str:
    return f"198.51.100.{36 + device}"


def hccn_answers(devices: Iterable[int], down: Iterable[int] = ()) -> dict[str, dict[str, Any]]:
    """Address, link and net health of each RoCE port; a device that is not there is refused."""
    answers: dict[str, dict[str, Any]] = {}
    broken = set(down)
    for device in devices:
        ip = sample("82").replace("198.51.100.36", hccn_address(device))
        link = sample("89") if device in broken else sample("89").replace("DOWN", "UP")
        net = sample("92").split("\n")[2 if device in broken else 0] + "\n"
        answers[f"hccn_tool -i {device} -ip -g"] = answer(ip)
        answers[f"hccn_tool -i {device} -link -g"] = answer(link)
        answers[f"hccn_tool -i {device} -net_health -g"] = answer(net)
    refused = "Device ID is out of the valid range.\nCmd execute failed!\n"
    answers["hccn_tool *"] = answer(refused, NOT_KNOWN)
    return answers


def a2(summary: str, cards: Iterable[int], **changes: Any) -> State:
    """Cards of an 8x910B2 host. On A2 the physical id is the card's."""
    cards = list(cards)
    state = State(
        summary,
        driver="25.5.0",
        nodes=cards,
        pci_device=A2,
        pci_count=len(cards),
        has_tools=True,
        addresses={card: hccn_address(card) for card in cards},
        answers={
            "npu-smi info": answer(keep_cards(sample("44"), cards)),
            "npu-smi info -m": answer(mapping_a2(cards)),
            **health_answers(cards),
            **hccn_answers(cards),
        },
    )
    for name, value in changes.items():
        setattr(state, name, value)
    return state


# --- states ------------------------------------------------------------------------------------------


def healthy() -> State:
    return a2("eight 910B2, all well, idle", range(8))


def container() -> State:
    return a2("cards 4 to 7 of eight, as a container sees them", range(4, 8))


def sick_card() -> State:
    state = a2("eight 910B2, card 5 with an alarm and its link down", range(8))
    state.answers["npu-smi info"] = answer(with_health(sample("44"), 5, "Alarm"))
    state.answers.update(health_answers(range(8), sick=5))
    state.answers.update(hccn_answers(range(8), down=[5]))
    return state


def warning_card() -> State:
    state = a2("eight 910B2, card 2 with a warning", range(8))
    state.answers["npu-smi info"] = answer(with_health(sample("44"), 2, "Warning"))
    return state


def old_driver() -> State:
    """The driver on disk was upgraded, the running one was not: nobody has rebooted."""
    state = a2("eight 910B2, running driver 24.1.rc3, 25.5.0 on disk", range(8))
    state.answers["npu-smi info"] = answer(
        sample("44").replace("Version: 25.5.0  ", "Version: 24.1.rc3")
    )
    return state


def a3() -> State:
    return State(
        "eight A3 cards of two dies, four cards busy",
        driver="24.1.rc3.3",
        nodes=list(range(16)),
        pci_device=A3,
        pci_count=16,
        has_tools=True,
        addresses={device: hccn_address(device) for device in range(16)},
        answers={
            "npu-smi info": answer(sample("07")),
            "npu-smi info -m": answer(mapping_a3(8)),
            **hccn_answers(range(16)),
        },
    )


def duo() -> State:
    table = sample("42").replace("198.51.100. ", "24.1.0.1    ")
    rows = [
        line
        for line in sample("64").replace("xxx", "310P3").split("\n")
        if line[:2] in ("NP", "1 ", "2 ")
    ]
    return State(
        "two 300I Duo cards of two chips, busy",
        driver="24.1.0.1",
        nodes=list(range(4)),
        pci_device=A310P,
        pci_count=2,
        has_tools=True,
        answers={
            "npu-smi info": answer(table),
            "npu-smi info -m": answer("\n".join(rows) + "\n"),
        },
    )


def atlas_950() -> State:
    header = sample("69").split("\n", maxsplit=1)[0]
    return State(
        "seven Ascend950PR",
        driver="25.7.rc1",
        nodes=list(range(7)),
        pci_device=ATLAS_950,
        pci_count=7,
        has_tools=True,
        answers={
            "npu-smi info": answer(sample("36")),
            "npu-smi info -m": answer(
                mapping(header, [(card, card, 0, card, "Ascend950PR") for card in range(7)])
            ),
        },
    )


def dcmi_8005() -> State:
    """The low byte of -8005 is the status that was reported."""
    refused = answer(sample("122"), -8005 % 256)
    return a2(
        "eight 910B2, npu-smi refuses with -8005", range(8), answers={"npu-smi *": refused},
        node_mode="0600",
    )  # fmt: skip


def missing_library() -> State:
    lost = answer("", 127, error=sample("121"))
    return a2("eight 910B2, npu-smi lacks its libraries", range(8), answers={"npu-smi *": lost})


def hanging() -> State:
    state = a2("eight 910B2, npu-smi and hccn_tool never come back", range(8))
    state.answers = {"npu-smi *": answer("", seconds=3600), "hccn_tool *": answer("", seconds=3600)}
    return state


def garbage() -> State:
    state = a2("eight 910B2, npu-smi prints what no program can read", range(8))
    state.answers = {"npu-smi *": answer("\x1b[31m\udcff\udcfe|||| NPU\x00 nan | = \n" * 40)}
    return state


def no_driver() -> State:
    return State("eight 910B2 on PCI, and no driver", pci_device=A2, pci_count=8)


def none() -> State:
    return State("no NPU at all")


STATES: dict[str, Callable[[], State]] = {
    "healthy-8x910b": healthy,
    "a3-16-dies": a3,
    "310p-duo": duo,
    "950": atlas_950,
    "sick-card": sick_card,
    "warning-card": warning_card,
    "old-driver": old_driver,
    "dcmi-8005": dcmi_8005,
    "missing-library": missing_library,
    "hanging": hanging,
    "garbage": garbage,
    "container-4-of-8": container,
    "no-driver": no_driver,
    "none": none,
}


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(STATES[sys.argv[1]]().as_dict(), indent=1))
    else:
        for name, make in STATES.items():
            print(f"{name:<18} {make().summary}")
