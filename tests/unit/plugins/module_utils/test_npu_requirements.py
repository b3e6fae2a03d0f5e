# SPDX-License-Identifier: Apache-2.0
"""What is expected of NPUs against hosts in every state: each fault is found and given its fix; a healthy host is silent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.kvcache.ascend.plugins.module_utils import (
    ascend_versions,
    finding,
    npu_requirements,
    npu_wanted,
)
from ansible_collections.kvcache.ascend.tests.testbed.ascend import states
from ansible_collections.kvcache.ascend.tests.unit import npu_hosts

TABLE = (
    {"cann": "8.3", "drivers": [], "fails": ["24.1"]},
    {"cann": "8.3.RC2", "drivers": ["25.5"], "fails": ["24.1"]},
    {"cann": "9.0", "drivers": ["25.X", "26.0.rc1"]},
)


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What is seen of a host in a state, looked at once for all tests."""
    seen: dict[str, Any] = {}

    def look(name: str) -> dict[str, Any]:
        if name not in seen:
            files = npu_hosts.make(tmp_path_factory.mktemp(name), states.STATES[name](), "8.3.RC2")
            seen[name] = npu_hosts.look(files, seconds=1.0 if name == "hanging" else 20.0)
        return seen[name]

    return look


def compare(seen: dict[str, Any], **wanted: Any) -> list[dict[str, str]]:
    return npu_requirements.compare(npu_wanted.Wanted(**wanted), seen, "npu-1")


def told(findings: list[dict[str, str]]) -> list[tuple[str, str, str]]:
    for each in findings:
        assert set(each) == {"check", "severity", "host", "observed", "expected", "fix"}
        assert each["expected"], each
        assert each["fix"], each
        assert each["check"] in npu_requirements.CHECKS
    return [(each["severity"], each["check"], each["observed"]) for each in findings]


def test_a_healthy_host_is_silent(hosts: Any) -> None:
    found = compare(
        hosts("healthy-8x910b"),
        count=8,
        devices=range(8),
        min_driver="25.5.0",
        cann="8.3",
        min_cann="8.3.RC1",
        links_up=True,
        min_free_memory_mb=60000,
        foreign_processes=False,
        compatibility=TABLE,
    )
    assert found == []


@pytest.mark.parametrize(
    ("state", "wanted", "expected"),
    [
        ("none", {"count": 8}, [("error", "npu_hardware", "no NPU on PCI"),
                                ("error", "npu_count", "/dev has the nodes of 0 chips")]),
        ("no-driver", {}, [("error", "npu_driver", "/dev/davinci0, /dev/davinci1, ... are missing: the NPU "
                                                   "driver is not loaded")]),
        ("dcmi-8005", {"count": 8}, [("error", "npu_tool", "npu-smi info failed: the driver's management "
                                                           "interface refused (DCMI -8005)")]),
        ("missing-library", {}, [("error", "npu_tool", "npu-smi info failed: it does not find libdrvdsmi_host.so")]),
        ("garbage", {}, [("error", "npu_tool", "npu-smi info printed no chip that can be read")]),
        ("hanging", {}, [("error", "npu_tool", "npu-smi info did not answer: no end within 1 s")]),
        ("sick-card", {"links_up": True}, [
            ("error", "npu_health", "NPU 5 chip 0 (/dev/davinci5) is in state Alarm, codes 80E3A203: node type=LPM, "
             "sensor type=Chip Hardware, event state=The function of obtaining the current is abnormal"),
            ("error", "npu_links", "the RoCE port of device 5 is DOWN")]),
        ("sick-card", {"devices": [0, 1], "links_up": True}, [
            ("warning", "npu_health", "NPU 5 chip 0 (/dev/davinci5) is in state Alarm, codes 80E3A203: node type=LPM, "
             "sensor type=Chip Hardware, event state=The function of obtaining the current is abnormal")]),
        ("sick-card", {"health": None}, []),
        ("warning-card", {}, [("error", "npu_health", "NPU 2 chip 0 (/dev/davinci2) is in state Warning")]),
        ("warning-card", {"health": "warning"},
         [("warning", "npu_health", "NPU 2 chip 0 (/dev/davinci2) is in state Warning")]),
        ("old-driver", {"min_driver": "25.0.rc1"}, [
            ("warning", "npu_driver_version", "driver 24.1.rc3 runs while 25.5.0 is on disk"),
            ("error", "npu_driver_version", "driver 24.1.rc3 is too old")]),
        ("old-driver", {"compatibility": TABLE}, [
            ("warning", "npu_driver_version", "driver 24.1.rc3 runs while 25.5.0 is on disk"),
            ("error", "npu_compatibility", "CANN 8.3.RC2 does not work with driver 24.1.rc3")]),
        ("a3-16-dies", {"compatibility": [{"cann": "9.0", "drivers": ["25.5"]}]}, [
            ("warning", "npu_compatibility", "whether CANN 8.3.RC2 works with driver 24.1.rc3.3 is not known")]),
        ("container-4-of-8", {"count": 8, "devices": [0, 1, 4]}, [
            ("error", "npu_count", "npu-smi lists 4 chips"),
            ("error", "npu_devices", "/dev/davinci0, /dev/davinci1 are missing")]),
        ("healthy-8x910b", {"cann": "9.1"}, [
            ("error", "npu_cann", "CANN 8.3.RC2 is active (/usr/local/Ascend/ascend-toolkit/latest)")]),
        ("healthy-8x910b", {"min_free_memory_mb": 62000}, [
            ("error", "npu_memory", "NPU 0 chip 0 (/dev/davinci0) has 61572 of 65536 MB free")]),
        ("a3-16-dies", {"devices": [8, 9], "foreign_processes": False, "own_units": ["vllm@*.service"]}, [
            ("error", "npu_processes", "NPU 4 chip 1 (/dev/davinci9) is used by pt_main_thread (pid 951828, "
             "other.service)")]),
        ("950", {"links_up": True}, [
            ("warning", "npu_links", "the RoCE ports of devices 0, 1, 2, 3, 4, 5, 6 could not be asked: how to ask "
             "about the port of a Ascend950PR is not known")]),
        ("310p-duo", {"links_up": True}, []),
    ],
)  # fmt: skip
def test_faults(hosts: Any, state: str, wanted: dict[str, Any], expected: list[Any]) -> None:
    assert told(compare(hosts(state), **wanted)) == expected


def test_no_cann(tmp_path: Path) -> None:
    seen = npu_hosts.look(npu_hosts.make(tmp_path, states.healthy()), links=False)
    (found,) = compare(seen, min_cann="8.5.0", compatibility=TABLE)
    assert (found["observed"], found["expected"]) == (
        "there is no CANN toolkit",
        "CANN 8.5.0 or newer",
    )


def test_a_fitting_cann_that_is_not_the_active_one_is_named(tmp_path: Path) -> None:
    files = npu_hosts.make(tmp_path, states.healthy(), "9.1.0", "8.3.RC2")
    (found,) = compare(npu_hosts.look(files, links=False), min_cann="9.0")
    assert found["fix"].startswith(
        "make /usr/local/Ascend/cann-9.1.0, which is there, the active one"
    )


def test_firmware_outside_the_drivers_range(tmp_path: Path) -> None:
    files = npu_hosts.make(tmp_path, states.healthy())
    path = tmp_path / "usr/local/Ascend/firmware/version.info"
    path.write_text(path.read_text().replace("7.1.0.11.220", "7.3.0.1.231"))
    (found,) = compare(npu_hosts.look(files, links=False))
    assert found["observed"] == "firmware 7.3.0.1.231 is outside what driver 25.5.0 names"
    assert found["expected"] == "7.0.0 to 7.1.99"


def test_links(tmp_path: Path) -> None:
    state = states.healthy()
    state.answers["hccn_tool -i 1 -ip -g"] = states.answer("")
    state.answers["hccn_tool -i 2 -net_health -g"] = states.answer("net health status: Fault\n")
    state.answers["hccn_tool -i 3 -link -g"] = states.answer("")
    state.addresses[4] = "192.0.2.1"
    found = told(compare(npu_hosts.look(npu_hosts.make(tmp_path, state)), links_up=True))
    assert [(severity, what) for severity, _check, what in found] == [
        ("error", "the RoCE port of device 1 has no address"),
        ("error", "the RoCE port of device 2 fails its network check: Fault"),
        ("error", "the RoCE port of device 3 is without a state"),
        (
            "warning",
            "the RoCE port of device 4 has 198.51.100.40, /etc/hccn.conf has 192.0.2.1 for it",
        ),
    ]


def test_messages_fit_a_terminal(hosts: Any) -> None:
    for name in states.STATES:
        text = finding.render(compare(hosts(name), count=8, links_up=True, min_driver="99.0"))
        assert not [line for line in text.splitlines() if len(line) > 100]


@pytest.mark.parametrize(
    "versions",
    [
        ["23.0.rc1.b070", "24.1.RC2", "24.1.rc3", "24.1.rc3.3", "24.1.0", "24.1.0.1", "25.5.2"],
        ["8.3.RC1", "8.3.RC2", "8.3.0", "8.5.0", "9.0.0-beta.3", "9.0.0.beta4", "9.0.0", "9.1.0"],
        ["25.0.rc1", "25.0.rc1.b033", "25.0.0", "25.0.1"],
    ],
)
def test_versions_are_ordered(versions: list[str]) -> None:
    for older, newer in zip(versions, versions[1:]):
        assert ascend_versions.is_older(older, newer) is True
        assert ascend_versions.is_older(newer, older) is False


@pytest.mark.parametrize(("first", "second"), [("25.5", "25.5.0"), ("8.3.RC1", "8.3.rc1")])
def test_versions_that_are_the_same(first: str, second: str) -> None:
    assert ascend_versions.is_older(first, second) is False
    assert ascend_versions.is_older(second, first) is False


@pytest.mark.parametrize("text", [None, "", "xxx", "198.51.100.", "25..5", "1" * 40])
def test_texts_that_are_no_versions(text: str | None) -> None:
    assert ascend_versions.version_key(text) is None
    assert ascend_versions.is_older(text, "25.5") is None


@pytest.mark.parametrize(
    ("version", "family", "belongs"),
    [
        ("25.5.2", "25.5", True),
        ("25.5.rc1", "25.5.X", True),
        ("25.50.1", "25.5", False),
        ("8.3.RC2", "8.3.rc2", True),
        ("8.3.RC2", "8.3.RC1", False),
        (None, "8.3", False),
    ],
)
def test_families(version: str | None, family: str, belongs: bool) -> None:
    assert ascend_versions.belongs_to(version, family) is belongs
