# SPDX-License-Identifier: Apache-2.0
"""What is seen of hosts in every state of the simulated Ascend host, through real files and programs."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.kvcache.ascend.plugins.module_utils import npu_tools
from ansible_collections.kvcache.ascend.plugins.modules import npu_info
from ansible_collections.kvcache.ascend.tests.testbed.ascend import states
from ansible_collections.kvcache.ascend.tests.unit import npu_hosts

VERDICTS = ("hardware_present", "driver_loaded", "tool_usable", "healthy", "visible")


def see(tmp_path: Path, name: str, *cann: str, **options: Any) -> dict[str, Any]:
    """Without the ports, which take three calls a chip, unless they are asked for."""
    options = {"links": False, **options}
    return npu_hosts.look(npu_hosts.make(tmp_path, states.STATES[name](), *cann), **options)


@pytest.mark.parametrize(
    ("name", "verdicts"),
    [
        ("healthy-8x910b", [True, True, True, True, True]),
        ("a3-16-dies", [True, True, True, True, True]),
        ("310p-duo", [True, True, True, True, True]),
        ("950", [True, True, True, True, True]),
        ("sick-card", [True, True, True, False, True]),
        ("warning-card", [True, True, True, True, True]),
        ("old-driver", [True, True, True, True, True]),
        ("dcmi-8005", [True, True, False, None, True]),
        ("missing-library", [True, True, False, None, True]),
        ("garbage", [True, True, False, None, True]),
        ("container-4-of-8", [True, True, True, True, True]),
        ("no-driver", [True, False, False, None, None]),
        ("none", [False, False, False, None, None]),
    ],
)
def test_each_verdict_is_its_own(tmp_path: Path, name: str, verdicts: list[bool | None]) -> None:
    seen = see(tmp_path, name)["verdicts"]
    assert [seen[each]["ok"] for each in VERDICTS] == verdicts
    for each in VERDICTS:
        assert seen[each]["reason"]
        assert bool(seen[each]["fix"]) == (seen[each]["ok"] is False) or seen[each]["ok"] is None


def test_all_states_are_tried() -> None:
    tried = test_each_verdict_is_its_own.pytestmark[0].args[1]  # type: ignore[attr-defined]
    assert {name for name, _verdicts in tried} | {"hanging"} == set(states.STATES)


@pytest.mark.parametrize("name", ["a3-16-dies", "310p-duo", "950", "sick-card", "dcmi-8005"])
def test_every_call_has_an_answer_and_is_made_once(tmp_path: Path, name: str) -> None:
    seen = see(tmp_path, name, links=True)
    assert not [run for run in seen["commands"] if run["status"] == 64]
    counts = Counter(run["command"] for run in seen["commands"])
    assert not [command for command, count in counts.items() if count > 1]


def test_a_call_without_an_answer_is_told(tmp_path: Path) -> None:
    state = states.healthy()
    del state.answers["npu-smi info -m"]
    seen = npu_hosts.look(npu_hosts.make(tmp_path, state))
    assert [run["status"] for run in seen["commands"]].count(64) == 1


def test_only_chips_that_are_not_well_are_asked_for_codes(tmp_path: Path) -> None:
    seen = see(tmp_path, "sick-card")
    asked = [run["command"] for run in seen["commands"] if "health -i" in run["command"]]
    assert [each for each in asked if each.startswith("npu-smi")] == [
        "npu-smi info -t health -i 5 -c 0"
    ]
    assert [chip["error_codes"] for chip in seen["chips"] if chip["error_codes"]] == [["80E3A203"]]


@pytest.mark.parametrize(
    ("name", "ids", "source"),
    [
        ("healthy-8x910b", [(n, 0, n, n) for n in range(8)], "logic_id"),
        # Logic ids start at 0 in a container, the nodes keep the host's numbers.
        ("container-4-of-8", [(n, 0, n - 4, n) for n in range(4, 8)], "npu_id"),
        ("a3-16-dies", [(n // 2, n % 2, n, n) for n in range(16)], "npu-smi"),
        ("310p-duo", [(1 + n // 2, n % 2, n, n) for n in range(4)], "logic_id"),
        ("950", [(n, None, None, n) for n in range(7)], "npu-smi"),
    ],
)
def test_ids(tmp_path: Path, name: str, ids: list[tuple[int, ...]], source: str) -> None:
    chips = see(tmp_path, name)["chips"]
    keys = ("npu_id", "chip_id", "logic_id", "phy_id")
    assert [tuple(chip[key] for key in keys) for chip in chips] == ids
    assert {chip["phy_id_from"] for chip in chips} == {source}
    assert [chip["node"] for chip in chips] == [f"/dev/davinci{each[3]}" for each in ids]


def test_a_physical_id_is_not_invented(tmp_path: Path) -> None:
    """Card 3 is dead: its node is gone, and no printed number agrees with the nodes that are left."""
    state = states.container()
    state.nodes = [0, 1, 2, 9]
    chips = npu_hosts.look(npu_hosts.make(tmp_path, state), links=False)["chips"]
    assert [(chip["phy_id"], chip["node"]) for chip in chips] == [(None, None)] * 4


def test_memory_is_that_of_the_chips_kind(tmp_path: Path) -> None:
    first = see(tmp_path / "a", "healthy-8x910b")["chips"][0]
    keys = ("memory_kind", "memory_used_mb", "memory_total_mb", "memory_free_mb")
    assert [first[key] for key in keys] == ["hbm", 3964, 65536, 61572]
    duo = see(tmp_path / "b", "310p-duo")["chips"][0]
    assert [duo[key] for key in keys] == ["ddr", 11299, 44280, 32981]


def test_links(tmp_path: Path) -> None:
    seen = see(tmp_path, "sick-card", links=True)
    assert [link["state"] for link in seen["links"]] == ["UP"] * 5 + ["DOWN"] + ["UP"] * 2
    assert {link["agrees_with_conf"] for link in seen["links"]} == {True}
    assert seen["links"][5]["net_healthy"] is False
    assert seen["links"][3]["address"] == "198.51.100.39"


def test_links_that_hccn_conf_contradicts(tmp_path: Path) -> None:
    state = states.healthy()
    state.addresses[2] = "192.0.2.77"
    del state.addresses[3]
    links = npu_hosts.look(npu_hosts.make(tmp_path, state))["links"]
    assert [link["agrees_with_conf"] for link in links] == [True] * 2 + [False] * 2 + [True] * 4


@pytest.mark.parametrize(
    ("name", "is_root", "applies", "problem"),
    [
        ("healthy-8x910b", False, True, "hccn_tool needs root"),
        ("310p-duo", True, False, None),
        ("950", True, None, "how to ask about the port of a Ascend950PR is not known"),
    ],
)
def test_ports_that_are_not_asked(
    tmp_path: Path, name: str, is_root: bool, applies: bool | None, problem: str | None
) -> None:
    seen = see(tmp_path, name, is_root=is_root, links=True)
    assert {(link["applies"], link["problem"]) for link in seen["links"]} == {(applies, problem)}
    assert {link["state"] for link in seen["links"]} == {None}
    assert not [run for run in seen["commands"] if run["command"].startswith("hccn_tool")]


def test_a_tool_that_hangs_costs_its_time_limit_once(tmp_path: Path) -> None:
    started = time.monotonic()
    seen = see(tmp_path, "hanging", seconds=0.5)
    assert time.monotonic() - started < 10
    assert [(run["command"], run["status"]) for run in seen["commands"]] == [("npu-smi info", None)]
    assert seen["verdicts"]["tool_usable"]["reason"] == (
        "npu-smi info did not answer: no end within 0.5 s"
    )
    assert seen["verdicts"]["driver_loaded"]["ok"] is True


def test_a_tool_that_hangs_later_is_not_asked_again(tmp_path: Path) -> None:
    state = states.healthy()
    state.answers["hccn_tool -i 0 -ip -g"]["seconds"] = 60
    seen = npu_hosts.look(npu_hosts.make(tmp_path, state), seconds=0.5)
    assert [r["command"] for r in seen["commands"] if "hccn" in r["command"]] == [
        "hccn_tool -i 0 -ip -g"
    ]
    assert "not asked, since hccn_tool hung before" in {link["problem"] for link in seen["links"]}
    assert len(seen["chips"]) == 8


def test_npu_smi_that_is_a_folder(tmp_path: Path) -> None:
    files = npu_hosts.make(tmp_path, states.no_driver())
    (tmp_path / "usr/local/sbin/npu-smi").mkdir(parents=True)
    assert "is a folder" in npu_hosts.look(files, links=False)["verdicts"]["tool_usable"]["reason"]


def test_a_user_without_the_group(tmp_path: Path) -> None:
    files = npu_hosts.make(tmp_path, states.healthy(), accessible=False)
    verdict = npu_hosts.look(files, links=False, is_root=False)["verdicts"]["visible"]
    assert verdict["ok"] is False
    assert "may not open /dev/davinci0 and 10 more" in verdict["reason"]
    assert "usermod -aG HwHiAiUser" in verdict["fix"]


def test_driver_on_disk_and_running(tmp_path: Path) -> None:
    seen = see(tmp_path, "old-driver")["driver"]
    assert (seen["running"], seen["installed"]) == ("24.1.rc3", "25.5.0")


def test_processes_are_known_unknown_or_left_out(tmp_path: Path) -> None:
    assert len(see(tmp_path / "a", "a3-16-dies")["processes"]) == 8
    assert see(tmp_path / "b", "healthy-8x910b")["processes"] == []
    assert see(tmp_path / "c", "healthy-8x910b", processes=False)["processes"] is None
    assert see(tmp_path / "d", "dcmi-8005")["processes"] is None


def test_cann_of_both_layouts(tmp_path: Path) -> None:
    files = npu_hosts.make(tmp_path, states.healthy(), "8.3.RC2", "9.1.0")
    cann = npu_hosts.look(files, links=False)["cann"]
    assert [(each["version"], each["active"]) for each in cann["installed"]] == [
        ("8.3.RC2", False),
        ("9.1.0", True),
    ]
    assert cann["active"] == {
        "version": "9.1.0",
        "path": "/usr/local/Ascend/cann-9.1.0",
        "set_env": "/usr/local/Ascend/cann-9.1.0/set_env.sh",
        "by": "/usr/local/Ascend/cann",
    }


def test_the_environment_names_the_active_cann(tmp_path: Path) -> None:
    files = npu_hosts.make(tmp_path, states.healthy(), "8.3.RC2", "9.1.0")
    home = {"ASCEND_TOOLKIT_HOME": "/usr/local/Ascend/ascend-toolkit/latest"}
    active = npu_hosts.look(files, links=False, environment=home)["cann"]["active"]
    assert (active["version"], active["by"]) == ("8.3.RC2", "ASCEND_TOOLKIT_HOME")


def test_no_link_no_active_cann(tmp_path: Path) -> None:
    files = npu_hosts.make(tmp_path, states.healthy(), "8.3.RC2")
    (tmp_path / "usr/local/Ascend/ascend-toolkit/latest").unlink()
    cann = npu_hosts.look(files, links=False)["cann"]
    assert cann["active"] is None
    assert [each["version"] for each in cann["installed"]] == ["8.3.RC2"]


def test_the_view_of_pytorch(tmp_path: Path) -> None:
    """A torch of the test's own that says what the real one would, in a Python that really runs."""
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch/__init__.py").write_text(
        "import os\nclass npu:\n    @staticmethod\n    def device_count():\n"
        "        return len(os.environ['ASCEND_RT_VISIBLE_DEVICES'].split(','))\n"
        "__version__ = '2.9.0'\nprint('noise on standard output')\n"
    )
    (tmp_path / "torch_npu.py").write_text("__version__ = '2.9.0.post1'\n")
    (tmp_path / "set_env.sh").write_text(f"export PYTHONPATH={tmp_path}\necho noise\n")
    seen = see(
        tmp_path / "host",
        "healthy-8x910b",
        visible_devices="0,1,5",
        python=sys.executable,
        python_set_env=str(tmp_path / "set_env.sh"),
    )
    assert seen["torch"] == {
        "torch": "2.9.0",
        "torch_npu": "2.9.0.post1",
        "device_count": 3,
        "error": None,
    }
    assert seen["visible_devices"]["effective"] == [0, 1, 5]


@pytest.mark.parametrize(
    ("python", "error"),
    [("/nowhere/python", "No such file"), ("/bin/false", "status 1: no message")],
)
def test_a_python_that_does_not_answer(tmp_path: Path, python: str, error: str) -> None:
    seen = see(tmp_path, "none", python=python)["torch"]
    assert seen["device_count"] is None
    assert error in seen["error"]


def documented(contains: dict[str, Any]) -> dict[str, Any]:
    return {key: documented(value.get("contains", {})) for key, value in contains.items()}


def returned(value: Any) -> dict[str, Any]:
    if isinstance(value, list):
        merged: dict[str, Any] = {}
        for each in value:
            merged = {**merged, **returned(each)}
        return merged
    return {k: returned(v) for k, v in value.items()} if isinstance(value, dict) else {}


def test_every_returned_field_is_documented_and_the_other_way_round(tmp_path: Path) -> None:
    seen = see(tmp_path, "a3-16-dies", "8.3.RC2", python="/bin/false", links=True)
    assert returned(seen) == documented(yaml.safe_load(npu_info.RETURN)["npu"]["contains"])
    json.dumps(seen)


@pytest.mark.parametrize(
    ("name", "has"),
    [
        ("910B4-1", True),
        ("Ascend910", True),
        ("910PremiumA", True),
        ("310P3", False),
        ("Ascend950DT", None),
        ("xxx", None),
        (None, None),
    ],
)
def test_which_chips_have_a_port(name: str | None, has: bool | None) -> None:
    assert npu_tools.has_roce(name) is has
