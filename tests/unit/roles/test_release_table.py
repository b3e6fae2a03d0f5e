# SPDX-License-Identifier: Apache-2.0
"""The tables of the role release are complete, fit each other and the role's own specification, and the docs show them."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible_collections.kvcache.ascend.plugins.module_utils import release
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

ROOT = Path(__file__).parents[3]
ROLE = ROOT / "roles" / "release"


def load_generator() -> Any:
    spec = importlib.util.spec_from_file_location(
        "release_docs", ROOT / "tests" / "tools" / "release_docs.py"
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GENERATOR = load_generator()
TABLES = GENERATOR.load_tables()
ROWS = TABLES["releases"]
MOONCAKE = TABLES["mooncake"]
FLAGS = TABLES["master_flags"]
CONNECTORS = TABLES["connectors"]
SPECS = GENERATOR.compose_all(TABLES)
OPTIONS = yaml.safe_load((ROLE / "meta" / "argument_specs.yml").read_text())["argument_specs"][
    "main"
]["options"]["release_extra_rows"]["options"]
# The master's own flags, as counted in the help of the published programs and in the sources at the tags.
OWN_FLAGS = {
    "0.3.7": 24,
    "0.3.7.post2": 25,
    "0.3.8.post1": 35,
    "0.3.9": 38,
    "0.3.10": 47,
    "0.3.10.post2": 56,
    "0.3.11.post1": 66,
    "0.3.12.post1": 87,
    "0.3.13.post1": 97,
}
NOT_OF_MASTER_CPP = {"use_mmap_arena_allocator", "mmap_arena_pool_size"}
LOGGING_FLAGS = {
    "v", "vmodule", "log_dir", "log_link", "log_prefix", "logtostderr", "alsologtostderr",
    "colorlogtostderr", "stderrthreshold", "minloglevel", "logbuflevel", "logbufsecs",
    "logfile_mode", "max_log_size", "stop_logging_if_full_disk",
}  # fmt: skip


def names(entries: list[dict[str, Any]]) -> list[str]:
    return [entry["name"] for entry in entries]


def by_name(rows: list[dict[str, Any]]) -> Any:
    return pytest.mark.parametrize("row", rows, ids=names(rows))


def by_key(entries: dict[str, Any]) -> Any:
    return pytest.mark.parametrize("entry", entries.values(), ids=list(entries))


def without_docs(options: dict[str, Any]) -> dict[str, Any]:
    """Return options as ArgumentSpecValidator takes them."""
    return {
        name: {
            key: without_docs(value) if key == "options" else value
            for key, value in option.items()
            if key != "description"
        }
        for name, option in options.items()
    }


@by_name(ROWS)
def test_a_row_satisfies_what_the_role_asks_of_a_sites_row(row: dict[str, Any]) -> None:
    result = ArgumentSpecValidator(without_docs(OPTIONS)).validate(row)
    assert result.error_messages == []


@by_name(ROWS)
def test_validation_converts_nothing_in_a_row(row: dict[str, Any]) -> None:
    # A number where a text is meant (Python 3.10 without quotes is 3.1) would be converted.
    validated = ArgumentSpecValidator(without_docs(OPTIONS)).validate(row).validated_parameters
    assert all(holds(validated[key], value) for key, value in row.items())


def holds(validated: Any, value: Any) -> bool:
    """Return whether `validated` is `value`, but for keys that validation adds to a dict."""
    if isinstance(value, dict):
        return all(holds(validated[key], item) for key, item in value.items())
    if isinstance(value, list):
        return all(holds(*pair) for pair in zip(validated, value))
    return type(validated) is type(value) and validated == value


def test_the_function_fills_in_exactly_what_a_row_may_leave_out() -> None:
    optional = {name for name, option in OPTIONS.items() if not option.get("required")}
    assert set(release.ROW_DEFAULTS) == optional
    documented = {name: o["default"] for name, o in OPTIONS.items() if "default" in o}
    assert documented == {name: release.ROW_DEFAULTS[name] for name in documented}
    for name, defaults in release.NESTED_DEFAULTS.items():
        assert set(defaults) == set(OPTIONS[name]["options"])


def test_every_release_has_the_same_keys() -> None:
    assert len({frozenset(spec) for spec in SPECS}) == 1
    assert names(SPECS) == names(ROWS)


@by_key(MOONCAKE)
def test_every_mooncake_entry_has_the_same_keys(entry: dict[str, Any]) -> None:
    first = MOONCAKE["0.3.11.post1"]
    assert list(entry) == list(first)
    assert set(entry["source"]) == set(first["source"])
    assert set(entry["wheels"]) == {"npu", "cpu"}


@by_key(CONNECTORS)
def test_every_connector_has_the_same_keys(entry: dict[str, Any]) -> None:
    first = CONNECTORS["0.23"]
    assert list(entry) == list(first)
    assert set(entry["metrics"]) == set(first["metrics"])
    assert set(entry["hit_log"]) == set(first["hit_log"])
    for field in ("extra_config", "config", "ineffective"):
        assert {frozenset(key) for key in entry[field]} == {frozenset(first[field][0])}


@by_key(MOONCAKE)
def test_values_of_a_mooncake_entry_are_known_words(entry: dict[str, Any]) -> None:
    assert entry["health_format"] in ("text", "json")
    assert entry["metrics_port_busy"] in ("continues", "exits")
    assert entry["ascend_environment"] == sorted(set(entry["ascend_environment"]))
    for wheel in filter(None, entry["wheels"].values()):
        assert set(wheel) == {
            "package",
            "architectures",
            "pythons",
            "platform_tag",
            "glibc_min",
            "cann_libraries",
            "hashes",
        }
        assert re.fullmatch(r"manylinux_2_\d+", wheel["platform_tag"])
        assert bool(wheel["cann_libraries"]) == wheel["package"].endswith("-npu")
        assert set(wheel["architectures"]) <= {"x86_64", "aarch64"}
        assert all(re.fullmatch(r"cp3\d+", tag) for tag in wheel["pythons"])
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", digest) for digest in wheel["hashes"])
        assert len(set(wheel["hashes"])) == len(wheel["pythons"]) * len(wheel["architectures"])


@pytest.mark.parametrize("version", MOONCAKE)
def test_an_entry_agrees_with_the_flags_of_its_master(version: str) -> None:
    known = names(release.flags_known(version, FLAGS))
    assert MOONCAKE[version]["metrics_host_flag"] == ("metrics_host" in known)
    assert MOONCAKE[version]["reads_ascend_base_port"] == (
        "ASCEND_BASE_PORT" in MOONCAKE[version]["ascend_environment"]
    )


@pytest.mark.parametrize(("version", "count"), OWN_FLAGS.items())
def test_as_many_flags_are_known_as_the_program_lists(version: str, count: int) -> None:
    known = set(names(release.flags_known(version, FLAGS)))
    assert len(known - LOGGING_FLAGS - NOT_OF_MASTER_CPP) == count
    assert known >= LOGGING_FLAGS


@pytest.mark.parametrize("version", [*OWN_FLAGS, *MOONCAKE])
def test_no_flag_is_known_twice_in_one_version(version: str) -> None:
    known = names(release.flags_known(version, FLAGS))
    assert len(known) == len(set(known))


@pytest.mark.parametrize(
    ("flag", "unknown", "known"),
    [
        ("enable_offload", "0.3.7.post2", "0.3.8.post1"),
        ("global_file_segment_size", "0.3.7", "0.3.7.post1"),
        ("rpc_interface", "0.3.10.post1", "0.3.10.post2"),
        ("ha_backend_type", "0.3.10", "0.3.10.post1"),
        ("snapshot_backend_type", "0.3.10.post1", "0.3.10"),
        ("metrics_host", "0.3.12.post1", "0.3.13"),
    ],
)
def test_a_flag_came_and_went_with_its_version(flag: str, unknown: str, known: str) -> None:
    assert flag not in names(release.flags_known(unknown, FLAGS))
    assert flag in names(release.flags_known(known, FLAGS))


@pytest.mark.parametrize(
    ("version", "flag", "default"),
    [
        ("0.3.11.post1", "eviction_high_watermark_ratio", 0.95),
        ("0.3.12", "eviction_high_watermark_ratio", 0.9),
        ("0.3.11.post1", "max_threads", 4),
        ("0.3.12", "max_threads", 16),
        ("0.3.11.post1", "default_kv_lease_ttl", 5000),
        ("0.3.12", "default_kv_lease_ttl", 10000),
    ],
)
def test_defaults_changed_with_the_version(version: str, flag: str, default: Any) -> None:
    known = {entry["name"]: entry["default"] for entry in release.flags_known(version, FLAGS)}
    assert known[flag] == default


@pytest.mark.parametrize("flag", FLAGS, ids=lambda flag: f"{flag['name']}-{flag['since']}")
def test_a_flag_is_described_and_its_default_is_of_its_type(flag: dict[str, Any]) -> None:
    assert set(flag) - {"until", "replaced_by"} == {"name", "type", "since", "default", "summary"}
    kinds = {"bool": bool, "int": int, "uint": int, "duration": int, "double": float, "string": str}
    assert isinstance(flag["default"], kinds[flag["type"]])
    assert isinstance(flag["default"], bool) == (flag["type"] == "bool")
    assert flag["summary"]
    assert flag.get("replaced_by", "port") in names(FLAGS)
    if "until" in flag:
        assert release.version_key(flag["since"]) < release.version_key(flag["until"])


@by_key(CONNECTORS)
def test_values_of_a_connector_are_known_words(entry: dict[str, Any]) -> None:
    assert entry["platform"] in ("npu", "cpu")
    assert entry["size_format"] in ("integer", "text")
    assert entry["keyed_by_rank"] in (True, False, None)
    assert entry["key_model"] in ("path", "folder")
    assert entry["key_ranks"] in (True, False)
    assert entry["hit_log"]["level"] in ("INFO", "DEBUG")
    assert {key["type"] for key in entry["config"]} <= {"str", "size", "bool", "path"}
    assert {key["type"] for key in entry["extra_config"]} <= {"str", "int", "bool", "list"}


@by_key(CONNECTORS)
def test_a_connector_agrees_with_its_own_keys(entry: dict[str, Any]) -> None:
    read = {"config": names(entry["config"]), "extra_config": names(entry["extra_config"])}
    assert entry["rpc_port_key"] in read["extra_config"]
    assert set(entry["fixed_config"]) <= set(read["config"])
    assert set(entry["fixed_extra_config"]) <= set(read["extra_config"])
    for key in entry["ineffective"]:
        assert key["name"] not in read[key["where"]]
    assert all(len(set(keys)) == len(keys) for keys in read.values())


@pytest.mark.parametrize(
    ("family", "word"), [("0.11", "mooncake"), *((f, "kvpool") for f in CONNECTORS if f != "0.11")]
)
def test_the_line_that_tells_of_a_hit_is_found_in_a_log(family: str, word: str) -> None:
    line = (
        "(EngineCore_0 pid=77) INFO 12-03 10:00:00 [scheduler.py:217] Reqid: cmpl-1-0, Total tokens 2000, "
        f"{word} hit tokens: 1920, need to load: 1792"
    )
    match = re.search(CONNECTORS[family]["hit_log"]["pattern"], line)
    assert match is not None
    assert match.groupdict() == {
        "request": "cmpl-1-0",
        "total": "2000",
        "hit": "1920",
        "load": "1792",
    }


@by_name(SPECS)
def test_numbers_of_a_release_are_versions_and_specifiers(row: dict[str, Any]) -> None:
    assert release.version_key(row["python"]["min"]) <= release.version_key(row["python"]["max"])
    for package in ("vllm", "vllm_ascend", "torch", "torch_npu"):
        if row[package]:
            Version(row[package]["version"])
    for package in ("torchvision", "torchaudio", "triton_ascend", "transformers"):
        SpecifierSet(row[package] or "")
    for package, specifier in row["pins"].items():
        Requirement(package + specifier)
    for override in row["overrides"]:
        Requirement(override["package"] + (override["specifier"] or ""))
    for limits in filter(None, (row["cann"], row["driver"])):
        if limits["min"]:
            assert release.version_key(limits["min"]) <= release.version_key(limits["recommended"])


@by_name(SPECS)
def test_torch_fits_torch_npu_and_the_overrides(row: dict[str, Any]) -> None:
    torch = Version(row["torch"]["version"])
    if row["torch_npu"]:
        # torch_npu asks for the torch of its own number.
        assert torch.base_version == Version(row["torch_npu"]["version"]).base_version
    for override in row["overrides"]:
        if override["package"] == "torch":
            assert torch in SpecifierSet(override["specifier"])
        wanted = row.get(override["package"])
        if isinstance(wanted, str):
            assert override["specifier"] == wanted


@by_name(SPECS)
def test_platform_decides_what_a_release_holds(row: dict[str, Any]) -> None:
    npu = row["platform"] == "npu"
    assert all(bool(row[key]) == npu for key in ("vllm_ascend", "torch_npu", "cann", "soc"))
    assert row["connector"]["platform"] == row["platform"]
    assert row["sources"]


def test_the_page_in_docs_shows_the_tables() -> None:
    page = (ROOT / "docs" / "releases.md").read_text(encoding="utf-8")
    assert page == GENERATOR.render(TABLES), (
        "run: python3 tests/tools/release_docs.py > docs/releases.md"
    )
