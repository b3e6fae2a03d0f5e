# SPDX-License-Identifier: Apache-2.0
"""The preflight on fleets that are healthy but for one thing: it is found, on its host, with its fix."""

from __future__ import annotations

import copy
import functools
import re
from pathlib import Path
from typing import Any, Callable

import pytest
import yaml
from ansible_collections.kvcache.ascend.plugins.filter.release import release_spec
from ansible_collections.kvcache.ascend.plugins.module_utils import (
    finding,
    preflight,
    preflight_input,
    preflight_table,
)
from ansible_collections.kvcache.ascend.plugins.module_utils.preflight_model import Host
from ansible_collections.kvcache.ascend.tests.testbed.ascend import states
from ansible_collections.kvcache.ascend.tests.unit import npu_hosts

ROOT = Path(__file__).parents[4]
DRIVERS = yaml.safe_load((ROOT / "roles/preflight/files/drivers.yml").read_text())["drivers"]
GIB = 1024**3
CP311 = {
    "architecture": "aarch64",
    "glibc": "2.38",
    "python_version": "3.11.6",
    "python_tag": "cp311",
}
Change = Callable[["list[Host]"], None]
spec_of = functools.lru_cache(maxsize=None)(lambda name: release_spec(name, []))


@pytest.fixture(scope="module")
def npus(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    names = ("healthy-8x910b", "sick-card", "none", "dcmi-8005", "old-driver", "a3-16-dies")
    return {
        name: npu_hosts.look(
            npu_hosts.make(tmp_path_factory.mktemp(name), states.STATES[name](), "9.1.0")
        )
        for name in names
    }


def seen(name: str) -> dict[str, Any]:
    return {
        "hostname": name,
        "architecture": "aarch64",
        "glibc": "2.38",
        "os": {"id": "openEuler", "id_like": None, "name": "openEuler", "version": "24.03"},
        "python": {"path": "/usr/bin/python3", "platform": dict(CP311), "problem": None},
        "memory": {
            "total_bytes": 1500 * GIB,
            "available_bytes": 1400 * GIB,
            "hugepage_bytes": 2 << 20,
            "hugepages_total": 0,
            "hugepages_free": 0,
        },
        "memlock_limit_bytes": None,
        "disks": [{"path": "/opt/kvcache", "free_bytes": 99 * GIB, "total_bytes": 200 * GIB}],
        "listeners": [],
        "local_ports": [32768, 60999],
        "master": {
            "host": "npu-1",
            "port": 50088,
            "resolved": ["192.0.2.11"],
            "name_problem": None,
            "outcome": "refused",
            "reached": True,
        },
        "mooncake": {"current": None, "version": None},
        "time": 1000.0,
        "clock": {"host": 1000.2, "asked": 1000.0, "answered": 1001.0},
    }


def healthy(npus: dict[str, Any], count: int = 3) -> list[Host]:
    hosts = []
    names = [f"npu-{number}" for number in range(1, count + 1)]
    for number, name in enumerate(names, 1):
        settings = {
            "release_name": "0.23.0",
            "mooncake_master_rpc_port": 50088,
            "mooncake_master_metrics_port": 10022,
            "mooncake_install_method": "wheel",
            "preflight_disks": [{"path": "/opt/kvcache", "free": "3GiB"}],
            "preflight_npu_links_up": True,
            "__preflight_known": ["mooncake_master_rpc_port", "vllm_instances", "release_name"],
            "__preflight_drivers": DRIVERS,
            "mooncake_master_address": "npu-1",
            "vllm_hash_seed": "0",
            "vllm_instances": [
                {"name": "a", "model": "/m", "devices": [0, 1], "segment_size": "40GiB"},
                {"name": "b", "model": "/m", "devices": [2, 3], "port": 8001},
            ],
        }
        hosts.append(
            Host(
                name,
                groups=["vllm", "mooncake_master"] if number == 1 else ["vllm"],
                settings=settings,
                spec=copy.deepcopy(spec_of("0.23.0")),
                seen=seen(name),
                npu=copy.deepcopy(npus["healthy-8x910b"]),
                inventory={"mooncake_master": ["npu-1"], "vllm": names},
            )
        )
    return hosts


def told(report: preflight.Report) -> list[tuple[str, str, str, str]]:
    for each in report.findings:
        assert each["expected"], each
        assert each["fix"], each
    return [(e["severity"], e["check"], e["host"], e["observed"]) for e in report.findings]


def test_a_healthy_fleet(npus: dict[str, Any]) -> None:
    report = preflight.run(healthy(npus))
    assert told(report) == []
    assert [entry["check"] for entry in report.not_checked] == ["mooncake_versions"]
    assert preflight.summary(report) == "preflight: 3 hosts, nothing is wrong"


def _set(path: str, value: Any, index: int = 1) -> Change:
    """A change of one host: `seen.memory.total_bytes`, `settings.x`, `npu`, ..."""

    def change(hosts: list[Host]) -> None:
        first, *keys = path.split(".")
        target: Any = hosts[index]
        if not keys:
            setattr(target, first, value)
            return
        target = getattr(target, first)
        for key in keys[:-1]:
            target = target[key]
        target[keys[-1]] = value

    return change


def _instance(**changes: Any) -> Change:
    def change(hosts: list[Host]) -> None:
        hosts[1].settings["vllm_instances"][0].update(changes)

    return change


def _store_node(**settings: Any) -> Change:
    """The second host is a store node, too."""

    def change(hosts: list[Host]) -> None:
        hosts[1].groups.append("mooncake_store")
        hosts[1].settings.update({"store_node_port": 50052, "store_node_segment_size": "40GiB"})
        hosts[1].settings.update(settings)

    return change


def _second_instance(**changes: Any) -> Change:
    def change(hosts: list[Host]) -> None:
        hosts[1].settings["vllm_instances"][1].update(changes)

    return change


def _no_instances(hosts: list[Host]) -> None:
    for host in hosts:
        host.settings["vllm_instances"] = []


def _unreachable(hosts: list[Host]) -> None:
    hosts[1].seen, hosts[1].npu, hosts[1].trouble = None, None, "No route to host"


def _unknown_release(hosts: list[Host]) -> None:
    hosts[1].spec = None
    hosts[
        1
    ].release_problem = (
        "release_name '1' is unknown. Known: a, b. Add a row of your own with release_extra_rows."
    )


def _listener(port: int, unit: str | None) -> dict[str, Any]:
    return {"port": port, "uid": 0, "pid": 4711, "command": "python3", "unit": unit}


def _nobody_lends(hosts: list[Host]) -> None:
    for host in hosts:
        for instance in host.settings["vllm_instances"]:
            instance["segment_size"] = 0


def _both(*changes: Change) -> Change:
    def change(hosts: list[Host]) -> None:
        for each in changes:
            each(hosts)

    return change


STORE_SETTINGS = {
    "address": "npu-2", "port": 50052, "segment_size": "40GiB", "flags": {}, "user": "mooncake", "environment": {},
    "root": "/opt/kvcache/mooncake", "protocol": "tcp", "release": "0.23.0", "master_address": "npu-1:50088",
    "is_alone": False, "wait_seconds": 60,
}  # fmt: skip
CASES: list[tuple[str, str, Change, str]] = [
    ("error", "inventory", _set("inventory", {"mooncake_master": ["npu-1", "npu-9"]}, index=0),
     "the group mooncake_master has 2 hosts (npu-1, npu-9), expected one: two masters would be two pools"),
    ("error", "inventory", _nobody_lends, "no instance lends memory to the pool (segment_size 0), and there is no store"),
    ("error", "release", _unknown_release, "release_name '1' is unknown. Known: a, b"),
    ("error", "release", _set("spec", spec_of("0.11.0")), "release_name gives the hosts different Mooncake versions"),
    ("error", "clock", _set("seen.clock", {"host": 1601.0, "asked": 1000.0, "answered": 1001.0}),
     "its clock is 10 minutes ahead of the others'"),
    ("error", "clock", _set("seen.clock", {"host": 930.0, "asked": 1000.0, "answered": 1001.0}),
     "its clock is 70 s behind the others'"),
    ("error", "reachable", _unreachable, "it could not be looked at: No route to host"),
    ("error", "reachable", _set("npu_trouble", "a reason"), "its NPUs could not be looked at: a reason"),
    ("error", "variables", _set("broken", {"mooncake_root": "'x' is undefined"}),
     "mooncake_root can't be used: 'x' is undefined"),
    ("error", "variables", _set("names", ["mooncake_master_port"]), "mooncake_master_port does nothing"),
    ("error", "site_settings", _set("settings.site_http_proxy", "bob:pa/ss@proxy:3128"),
     "site_http_proxy: '***@proxy:3128' does not begin with http:// or https://"),
    ("error", "site_settings", _set("settings.__preflight_ca_problems", ["site_ca_files: /x is not there. Fix: bring it."]),
     "site_ca_files: /x is not there"),
    ("warning", "variables", _set("names", ["mooncake_master_rpc_prot"]), "no role reads mooncake_master_rpc_prot"),
    ("error", "instances", _instance(port=8001), "a and b both have port 8001"),
    ("error", "instances", _instance(devices=[2]), "a and b both claim NPU 2"),
    ("error", "instances", _set("settings.vllm_environment", {"A": [1]}), "vllm_environment: A is a list ([1])"),
    ("error", "instances", _set("settings.vllm_options", "x"), "vllm_options is 'x', expected a dict"),
    ("error", "configuration_keys", _instance(mooncake={"local_buffer_size": "1G"}),
     "instance a: mooncake: local_buffer_size is '1G', expected a size"),
    ("error", "instances", _instance(colour="red"), "vllm_instances[0] (a): unknown key colour"),
    ("error", "instances", _set("settings.vllm_instances", "a"), "vllm_instances is 'a', expected a list of instances"),
    ("error", "instances", _instance(options={"tensor-parallel-size": 4}), "instance a has 4 ranks and 2 devices"),
    ("warning", "configuration_keys", _instance(mooncake={"alloc_in_same_node": True}),
     "instance a: mooncake: alloc_in_same_node does nothing"),
    ("warning", "configuration_keys", _instance(env={"ASCEND_CONECT_TIMEOUT": "1"}),
     "instance a: env: Mooncake 0.3.11.post1 does not read ASCEND_CONECT_TIMEOUT"),
    ("error", "pool_keys", _instance(options={"tensor-parallel-size": 1, "data-parallel-size": 2}),
     "instance a has tensor-parallel-size 1, others with the same keys in the pool (m) have 2"),
    ("warning", "pool_keys", _instance(model="/other/m/"),
     "instance a has model /other/m, another /m; in the pool both are m"),
    ("warning", "pool_keys", _set("settings.vllm_hash_seed", 7), "vllm_hash_seed is 7, and 0 on other hosts"),
    ("error", "operating_system", _set("seen.os", {"id": "arch", "id_like": None, "name": "Arch", "version": None}),
     "it runs Arch"),
    ("error", "architecture", _set("seen.architecture", "riscv64"), "it is riscv64"),
    ("error", "glibc", _set("seen.glibc", "2.28"), "glibc is 2.28"),
    ("error", "glibc", _set("seen.glibc", None), "glibc is another C library"),
    ("error", "python", _set("seen.python.platform", {**CP311, "python_version": "3.9.9"}),
     "/usr/bin/python3 is 3.9.9"),
    ("error", "python", _set("seen.python", {"path": "/x", "platform": None, "problem": "No such file"}),
     "/x: No such file"),
    ("error", "mooncake_wheel", _set("seen.python.platform", {**CP311, "glibc": "2.28"}),
     "Mooncake 0.3.11.post1 can't be installed: the wheel needs glibc"),
    ("error", "memory", _set("seen.memory.total_bytes", 90 * GIB),
     "the pool takes 92 GiB of 90 GiB (a 2 x (40GiB + 1GiB), b 2 x (4GiB + 1GiB))"),
    ("error", "memlock", _set("seen.memlock_limit_bytes", 8 << 20), "a service may lock 8 MiB of memory"),
    ("error", "hugepages", _instance(env={"MC_STORE_USE_HUGEPAGE": "1"}), "0 bytes are reserved as huge pages"),
    ("warning", "hugepages", _set("seen.memory.hugepages_total", 500000), "976.6 GiB of 1.5 TiB are reserved"),
    ("error", "disk", _set("seen.disks", [{"path": "/opt/kvcache", "free_bytes": GIB, "total_bytes": GIB}]),
     "/opt/kvcache has 1 GiB free"),
    ("error", "ports_busy", _set("seen.listeners", [_listener(8001, "other.service")]),
     "port 8001 (port of instance b) is taken by python3 (pid 4711, other.service)"),
    ("error", "ports_busy", _set("seen.listeners", [_listener(50088, None)], index=0),
     "port 50088 (mooncake_master_rpc_port) is taken by python3 (pid 4711, no systemd unit)"),
    ("error", "ports_collide", _set("settings.mooncake_master_metrics_port", 8001, index=0),
     "port 8001 is claimed by mooncake_master_metrics_port and by instance b"),
    ("error", "ports_collide", _instance(port=20010),
     "port 20010 (instance a) is inside the ports of the transfer engines"),
    ("error", "ports_collide", _store_node(store_node_port=8001),
     "port 8001 is claimed by store_node_port and by instance b"),
    ("error", "ports_collide", _second_instance(env={"HCCL_IF_BASE_PORT": "59997"}),
     "instances a and b both take port 60000 for HCCL"),
    ("error", "ports_collide", _second_instance(env={"HCCL_HOST_SOCKET_PORT_RANGE": "7000-7010,8001-8010"}),
     "port 8001 (instance b) is one of HCCL's of instance b"),
    ("error", "ports_collide", _second_instance(env={"HCCL_IF_BASE_PORT": "low"}),
     "instance b: env: HCCL_IF_BASE_PORT 'low' can't be read"),
    ("error", "ports_busy", _both(_store_node(), _set("seen.listeners", [_listener(50052, None)])),
     "port 50052 (store_node_port) is taken by python3"),
    ("error", "memory", _store_node(store_node_segment_size="1450GiB"),
     "the pool takes 1.5 TiB of 1.5 TiB (a 2 x (40GiB + 1GiB), b 2 x (4GiB + 1GiB), its store node 1450GiB)"),
    ("error", "configuration_keys", _store_node(__store_node_settings={**STORE_SETTINGS, "protocol": None}),
     "release 0.23.0 has no store nodes"),
    ("warning", "ports_collide", _set("seen.local_ports", [15000, 60999]), "the kernel hands out ports 15000 to 60999"),
    ("error", "master_name", _set("seen.master.name_problem", "Name or service not known"),
     "npu-1 is not resolved: Name or service not known"),
    ("error", "master_name", _set("seen.master.resolved", ["127.0.1.1"]), "npu-1 is 127.0.1.1 here, this host itself"),
    ("error", "master_name", _set("settings.mooncake_master_address", "127.0.0.1"),
     "mooncake_master_address: 127.0.0.1 is npu-2 itself when npu-2 uses it, but the master is npu-1"),
    ("error", "master_reachable", _set("seen.master", {**seen("x")["master"], "reached": False, "outcome": "timed_out"}),
     "npu-1 (192.0.2.11) port 50088: timed out"),
    ("error", "instance_devices", _instance(devices=[0, 11]), "instance a names NPU 11, which the host does not have"),
    ("error", "npu_count", _set("settings.preflight_npu_count", 16), "npu-smi lists 8 chips"),
    ("error", "npu_memory", _set("settings.preflight_npu_min_free_memory", "61GiB"),
     "NPU 0 chip 0 (/dev/davinci0) has 61572 of 65536 MB free"),
    ("error", "npu_driver_version", _set("settings.preflight_npu_min_driver", "26.0"), "driver 25.5.0 is too old"),
    ("error", "npu_access", _set("npu.verdicts.visible", {"ok": False, "reason": "root may not open x", "fix": "y"}),
     "root may not open x"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("severity", "check", "change", "observed"), CASES, ids=[f"{c[1]}-{c[3][:20]}" for c in CASES]
)
def test_one_fault(
    npus: dict[str, Any], severity: str, check: str, change: Change, observed: str
) -> None:
    hosts = healthy(npus)
    change(hosts)
    found = [each for each in told(preflight.run(hosts)) if each[1] == check]
    assert len(found) == 1, found
    assert found[0][0] == severity
    assert found[0][3].startswith(observed)
    if check not in preflight.FLEET_CHECKS:
        assert found[0][2] in ("npu-1", "npu-2")
    # Left out by its name, and said so.
    report = preflight.run(hosts, [check])
    assert check not in {each["check"] for each in report.findings}
    assert {"check": check, "reason": "preflight_skip"}.items() <= next(
        entry for entry in report.not_checked if entry["check"] == check
    ).items()


@pytest.mark.parametrize(
    ("state", "checks"),
    [
        ("none", {"npu_hardware", "npu_devices", "instance_devices"}),
        ("dcmi-8005", {"npu_tool"}),
        ("old-driver", {"npu_driver_version", "npu_compatibility"}),
        ("sick-card", {"npu_health"}),
        ("a3-16-dies", {"npu_series", "npu_compatibility"}),
    ],
)
def test_npus_in_each_state(npus: dict[str, Any], state: str, checks: set[str]) -> None:
    hosts = healthy(npus)
    hosts[1].npu = copy.deepcopy(npus[state])
    found = told(preflight.run(hosts))
    assert {each[2] for each in found} == {"npu-2"}
    assert {each[1] for each in found} == checks - {"npu_devices"} if state == "none" else checks


def test_a_process_of_others_on_a_claimed_chip(npus: dict[str, Any]) -> None:
    hosts = healthy(npus, 1)
    hosts[0].npu = copy.deepcopy(npus["a3-16-dies"])
    hosts[0].settings["vllm_instances"] = [{"name": "a", "model": "/m", "devices": [8, 9]}]
    found = [each for each in told(preflight.run(hosts)) if each[1] == "npu_processes"]
    assert [each[3] for each in found] == [
        "NPU 4 chip 1 (/dev/davinci9) is used by pt_main_thread (pid 951828, other.service)"
    ]


def test_several_installed_mooncakes(npus: dict[str, Any]) -> None:
    hosts = healthy(npus)
    for host, version in zip(hosts, ("0.3.11.post1", "0.3.9", "0.3.11.post1")):
        host.seen = {**seen(host.name), "mooncake": {"current": "x", "version": version}}
    assert told(preflight.run(hosts)) == [
        (
            "warning",
            "mooncake_versions",
            "npu-2",
            "Mooncake 0.3.9 is installed, other hosts have another",
        )
    ]


def test_a_slow_connection_is_no_wrong_clock(npus: dict[str, Any]) -> None:
    hosts = healthy(npus)
    assert hosts[1].seen
    hosts[1].seen["clock"] = {"host": 1060.0, "asked": 1000.0, "answered": 1061.0}
    assert told(preflight.run(hosts)) == []


def test_platform_cpu_skips_what_does_not_apply_and_says_so(npus: dict[str, Any]) -> None:
    hosts = healthy(npus)
    for host in hosts:
        host.spec = copy.deepcopy(spec_of("cpu"))
        host.npu = copy.deepcopy(npus["none"])
        host.settings["release_name"] = "cpu"
        host.settings["vllm_instances"] = [{"name": "a", "model": "/m"}]
        assert host.seen
        host.seen["python"]["platform"]["architecture"] = "x86_64"
    report = preflight.run(hosts)
    assert told(report) == []
    silent = {str(entry["check"]) for entry in report.not_checked if entry["reason"] == "platform is cpu"}  # fmt: skip
    assert silent == {name for name in preflight.NAMES if name.startswith("npu_")} | {"instance_devices"}  # fmt: skip
    assert "since platform is cpu: instance_devices, npu_*" in preflight_table.render(report)


def test_the_fleet_without_instances_is_not_held_to_them(npus: dict[str, Any]) -> None:
    hosts = healthy(npus)
    _no_instances(hosts)
    assert told(preflight.run(hosts)) == []


@pytest.mark.parametrize(
    "value", [None, "x", 7, [], {}, ["x"], [None], {"a": 1}, [{"name": []}], True, "\ud800"]
)
@pytest.mark.parametrize(
    "name", ["vllm_instances", "preflight_disks", "mooncake_master_rpc_port", "preflight_npu_count",
             "preflight_memory_reserve", "__preflight_drivers", "vllm_options", "preflight_npu_health"],
)  # fmt: skip
def test_values_of_any_type_are_findings_at_most(
    npus: dict[str, Any], name: str, value: Any
) -> None:
    hosts = healthy(npus, 2)
    hosts[0].settings[name] = value
    report = preflight.run(hosts)
    preflight_table.render(report)
    assert not [each for each in told(report) if each[2] == "npu-2"]


# --- the table ---------------------------------------------------------------------------------------


def _broken_fleet(npus: dict[str, Any], count: int) -> preflight.Report:
    hosts = healthy(npus, count)
    for host in hosts:
        host.npu = npus["sick-card"]
        host.settings["vllm_instances"][0]["devices"] = [0, 11]
    _unreachable(hosts)
    return preflight.run(hosts)


@pytest.mark.parametrize("count", [2, 200])
def test_the_table_fits_a_terminal(npus: dict[str, Any], count: int) -> None:
    table = preflight_table.render(_broken_fleet(npus, count))
    lines = table.splitlines()
    assert not [line for line in lines if len(line) > 100]
    # The same finding stands once, whatever the number of hosts.
    assert len(lines) < 40
    assert lines[-1].startswith(f"preflight: {count} hosts, ")


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["a"], "a"),
        (["npu-1", "npu-2"], "npu-1, npu-2"),
        (["npu-1", "npu-2", "npu-3", "x"], "npu-[1-3], x"),
        (["n8.example", "n9.example", "n10.example"], "n[8-10].example"),
        ([f"h{n}-x" for n in "abcdefgh"], "8 hosts: ha-x, hb-x, hc-x, hd-x, he-x, hf-x, ..."),
        (["192.0.2.1", "192.0.2.2", "192.0.2.3"], "192.0.2.[1-3]"),
        (["1" * 30, "2" * 30], f"{'1' * 30}, {'2' * 30}"),
    ],
)
def test_hosts_in_short(names: list[str], text: str) -> None:
    assert preflight_table.host_list(names) == text


def test_errors_come_first_and_odd_characters_do_not_reach_the_terminal() -> None:
    report = preflight.Report(["a"])
    for severity, text in (("warning", "w"), ("error", "bad \x1b[31m\x00\x9b name")):
        report.findings.append(
            finding.make("disk", severity, "a", observed=text, expected="e", fix="f")
        )
    table = preflight_table.render(report)
    assert table.index("ERROR") < table.index("WARNING")
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", table)


# --- what tasks returned -----------------------------------------------------------------------------


def test_results_of_tasks_become_hosts() -> None:
    results = [
        {"name": "a", "groups": ["vllm"], "settings": {"settings": {"release_name": 0.23}},
         "host": {"unreachable": True, "msg": "Task failed: Module failed: Failed to\n connect."}, "npu": {}},
        {"name": "b", "groups": [], "settings": {}, "host": {"host": {"x": 1}}, "npu": {"npu": {"y": 2}}},
        {"name": "c"},
        {"name": "d", "host": {"host": {"x": 1}}, "npu": {"msg": "boom", "failed_when_result": False}},
        {"name": "e", "host": {"host": {"x": 1}}, "npu": {"skipped": True, "skip_reason": "x"}},
    ]  # fmt: skip
    asked: list[str] = []

    def look_up(name: str, rows: list[Any]) -> dict[str, Any]:
        asked.append(name)
        raise ValueError("there is none")

    first, second, third, fourth, fifth = preflight_input.read_hosts(
        results, look_up, {"vllm": ["a"]}
    )
    assert (first.trouble, first.release_problem) == ("Failed to connect", "there is none")
    assert (second.trouble, second.seen, second.npu) == ("", {"x": 1}, {"y": 2})
    assert "release_name is not set" in second.release_problem
    assert third.trouble == "the run did not come so far"
    assert (fourth.trouble, fourth.npu_trouble, fifth.npu_trouble) == ("", "boom", "")
    assert asked == ["0.23"]


# --- documentation -----------------------------------------------------------------------------------


def test_every_check_is_documented_and_can_be_left_out() -> None:
    page = (ROOT / "docs" / "preflight.md").read_text()
    sections = re.findall(r"(?ms)^### `(\w+)`\n(.*?)(?=^##|\Z)", page)
    assert sorted(name for name, _text in sections) == sorted(preflight.NAMES)
    for name, text in sections:
        for label in ("* Looks at: ", "* Why: ", "* Fix: "):
            assert label in text, f"{name}: {label}"
    specs = yaml.safe_load((ROOT / "roles/preflight/meta/argument_specs.yml").read_text())
    choices = specs["argument_specs"]["main"]["options"]["preflight_skip"]["choices"]
    assert choices == preflight.NAMES


def test_every_check_is_provoked_here() -> None:
    """A check that no test provokes could be one that never finds anything."""
    elsewhere = {"mooncake_versions", "npu_processes", "npu_hardware", "npu_tool", "npu_health", "npu_series",
                 "npu_compatibility"}  # fmt: skip
    # Against hosts in every state: test_npu_requirements.
    elsewhere |= {"npu_driver", "npu_devices", "npu_cann", "npu_firmware", "npu_links"}
    assert {case[1] for case in CASES} | elsewhere == set(preflight.NAMES)


def test_the_table_of_drivers_can_be_read() -> None:
    for row in DRIVERS:
        assert set(row) <= {"cann", "drivers", "fails"}
        for version in [row["cann"], *row["drivers"], *row.get("fails", [])]:
            assert isinstance(version, str), row
