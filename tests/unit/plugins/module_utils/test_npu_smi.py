# SPDX-License-Identifier: Apache-2.0
"""npu_smi.parse against every sample, and against the shapes of which there is no sample."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.kvcache.ascend.plugins.module_utils import npu_smi, npu_smi_keyvalue
from ansible_collections.kvcache.ascend.tests.unit.npu_samples import SAMPLES, Sample, by_name

VERSION = "| npu-smi 25.2.0                   Version: 25.2.0                  |"
A0 = """
| NPU     Name      | Health          | Power(W)          Temp(C)              |
| Chip    Device    | Bus-Id          | AICore(%)         Memory-Usage(MB)     |"""
A1 = """
| NPU     Name      | Health          | Power(W)     Temp(C)           Hugepages-Usage(page) |
| Chip    Device    | Bus-Id          | AICore(%)    Memory-Usage(MB)                        |"""
B1 = """
| NPU   Name        | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
| Chip              | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |"""
CHIP_3 = """
| 3     910B4       | OK            | 90.1        38                0    / 0             |
| 0                 | 0000:81:00.0  | 7           0    / 0          30123/ 32768         |"""
PROCESSES = """
| NPU     Chip      | Process id    | Process name  | Process memory(MB)                 |"""
IDLE_3 = "\n| No running processes found in NPU 3                                           |"


def info(*parts: str) -> dict[str, Any]:
    return npu_smi.parse("npu-smi info", VERSION + "".join(parts))


def only_chip(*parts: str) -> dict[str, Any]:
    (chip,) = info(*parts)["chips"]
    return chip


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_sample(sample: Sample) -> None:
    assert npu_smi.parse(sample.command, sample.text) == sample.answer


def test_samples_are_there() -> None:
    assert len(SAMPLES) >= 67


# --- the table of npu-smi info ------------------------------------------------------------------


def test_a_chip_with_all_its_fields() -> None:
    assert info(B1, CHIP_3, PROCESSES, IDLE_3) == {
        "chips": [
            {
                "npu_id": 3,
                "chip_id": 0,
                "device_id": None,
                "phy_id": None,
                "name": "910B4",
                "health": "OK",
                "bus_id": "0000:81:00.0",
                "power_w": 90.1,
                "temp_c": 38,
                "hugepages": {"used": 0, "total": 0},
                "aicore_pct": 7,
                "memory_used_mb": 0,
                "memory_total_mb": 0,
                "hbm_used_mb": 30123,
                "hbm_total_mb": 32768,
            }
        ],
        "processes": [],
        "versions": {"npu_smi": "25.2.0", "driver": "25.2.0"},
        "complete": True,
        "layout": "B1",
        "idle_npus": [3],
    }


@pytest.mark.parametrize(
    ("line", "versions"),
    [
        ("| npu-smi 22.0.0   Version:22.0.2 |", {"npu_smi": "22.0.0", "driver": "22.0.2"}),
        (
            "| npu-smi 25.0.rc1.b033 Version : 26.1.0 |",
            {"npu_smi": "25.0.rc1.b033", "driver": "26.1.0"},
        ),
        ("| npu-smi 24.1.0", {"npu_smi": "24.1.0", "driver": None}),
        ("[root@host ~]# npu-smi info", {"npu_smi": None, "driver": None}),
    ],
)
def test_versions(line: str, versions: dict[str, str | None]) -> None:
    result = npu_smi.parse("npu-smi info", line + B1 + CHIP_3 + IDLE_3)
    assert result["versions"] == versions
    assert result["complete"] == (versions["driver"] is not None)
    assert len(result["chips"]) == 1


def test_layout_b0_has_hbm_and_no_hugepages() -> None:
    result = npu_smi.parse(
        "npu-smi info",
        """| npu-smi 21.0.2   Version: 21.0.2 |
| NPU   Name | Health | Power(W)  Temp(C) |
| Chip       | Bus-Id | AICore(%) Memory-Usage(MB)  HBM-Usage(MB) |
| 1     910A | OK     | 70.1      41      |
| 0          | 0000:C1:00.0 | 0   2000 / 15137  0 / 32768 |
| 4     910A | OK     | 71.5      40      |
| 0          | 0000:C2:00.0 | 0   2001 / 15137  1 / 32768 |""",
    )
    assert (result["layout"], result["complete"]) == ("B0", True)
    assert [chip["npu_id"] for chip in result["chips"]] == [1, 4]
    assert result["chips"][1]["hbm_used_mb"] == 1
    assert result["chips"][1]["hugepages"] is None


@pytest.mark.parametrize("health", ["OK", "Warning", "Alarm", "Critical", "UNKNOWN"])
def test_health_is_kept_as_printed(health: str) -> None:
    assert only_chip(B1, CHIP_3.replace("OK", health))["health"] == health


@pytest.mark.parametrize("null", ["NA", "N/A", "-", "na"])
def test_what_the_tool_does_not_know_is_none(null: str) -> None:
    chip = only_chip(
        B1,
        f"\n| 3 910B4 | {null} | {null} {null} {null} |",
        f"\n| 0 | {null} | {null} {null} / {null} {null} |",
    )
    known = {name: value for name, value in chip.items() if value is not None}
    assert known == {"npu_id": 3, "chip_id": 0, "name": "910B4"}


@pytest.mark.parametrize(
    "name", ["910B4-1", "Ascend910", "310P3", "xxx", "9", "Ascend 920 X", "NPU Chip"]
)
def test_any_name_will_do(name: str) -> None:
    assert only_chip(B1, CHIP_3.replace("910B4", name))["name"] == name


@pytest.mark.parametrize(
    "ratio", ["65099/ 65536", "65099/65536", "65099 /65536", "65099   /  65536"]
)
def test_a_wide_number_takes_the_blank_before_the_slash(ratio: str) -> None:
    chip = only_chip(B1, CHIP_3.replace("30123/ 32768", ratio))
    assert (chip["hbm_used_mb"], chip["hbm_total_mb"]) == (65099, 65536)


def test_ids_are_no_index_and_the_key_is_card_and_chip() -> None:
    duo = """
| 2304    310P3     | OK              | NA           47                0     / 0             |
| 0       6         | 0000:76:00.0    | 0            1358 / 44280                            |
| 2304    310P3     | OK              | NA           48                0     / 0             |
| 1       6         | 0000:76:00.0    | 0            1391 / 43693                            |"""
    chips = info(A1, duo)["chips"]
    assert [(chip["npu_id"], chip["chip_id"], chip["device_id"]) for chip in chips] == [
        (2304, 0, 6),
        (2304, 1, 6),
    ]


def test_a_chip_listed_twice_counts_once() -> None:
    result = info(B1, CHIP_3, CHIP_3, IDLE_3)
    assert len(result["chips"]) == 1
    assert len(result["unparsed"]) == 2
    assert result["complete"] is False


def test_rows_without_closing_bars_anywhere_are_whole() -> None:
    text = (VERSION + B1 + CHIP_3 + IDLE_3).replace(" |\n", "\n").replace("|\n", "\n").rstrip("| ")
    result = npu_smi.parse("npu-smi info", text)
    assert result["complete"] is True
    assert "truncated_row" not in result


def test_half_a_chip_is_dropped_and_told() -> None:
    half = "\n| 4     910B4       | OK            | 90.1        38                0    / 0             |"
    result = info(B1, CHIP_3, half)
    assert [chip["npu_id"] for chip in result["chips"]] == [3]
    assert result["unparsed"] == [half.strip()]
    assert result["complete"] is False


def test_a_row_cut_inside_is_dropped_with_its_chip() -> None:
    result = info(
        B1, CHIP_3, CHIP_3.replace("| 3", "| 4").split("/ 0          30123", maxsplit=1)[0]
    )
    assert [chip["npu_id"] for chip in result["chips"]] == [3]
    assert result["truncated_row"].startswith("| 0  ")
    assert result["complete"] is False


@pytest.mark.parametrize("end", ["/ 0          30123", "          30123/ 32768"])
def test_a_cut_row_that_lacks_a_value_is_no_row(end: str) -> None:
    cut = CHIP_3.replace("| 3", "| 4").partition(end)[0]
    assert [chip["npu_id"] for chip in info(B1, CHIP_3, cut)["chips"]] == [3]


def test_the_id_stands_first_where_the_rest_of_its_cell_is_empty() -> None:
    chip = only_chip(A1, "\n| 5 | OK | 1.0 47 0 / 0 |\n| 2 | 0000:71:00.0 | 0 1710 / 21527 |")
    assert (chip["npu_id"], chip["name"], chip["chip_id"], chip["device_id"]) == (5, None, 2, None)


def test_rubbish_instead_of_a_second_row_makes_no_chip() -> None:
    text = by_name("36").text.split("\n")
    second = next(i for i, line in enumerate(text) if "0000:37" in line)
    text[second] = "|        |   | rubbish |"
    chips = npu_smi.parse("npu-smi info", "\n".join(text))["chips"]
    assert [chip["npu_id"] for chip in chips] == [1, 2, 3, 4, 5, 6]


def test_one_bad_value_costs_that_value_only() -> None:
    result = info(B1, CHIP_3.replace(" 38 ", " 3x "), IDLE_3)
    (chip,) = result["chips"]
    assert chip["temp_c"] is None
    assert (chip["power_w"], chip["hbm_used_mb"]) == (90.1, 30123)
    assert len(result["unparsed"]) == 1
    assert result["complete"] is False


def test_a_missing_value_is_none_and_shifts_nothing() -> None:
    # Power and temperature are numbers both: which one is missing cannot be told.
    chip = only_chip(B1, CHIP_3.replace("90.1        38 ", "       38 "))
    assert (chip["power_w"], chip["temp_c"]) == (None, None)
    assert chip["hugepages"] == {"used": 0, "total": 0}


def test_columns_never_seen_are_kept_under_their_name() -> None:
    header = B1.replace("Temp(C)", "Fan Speed(%)  Temp(C)").replace("AICore(%)", "AICore(%) Link")
    rows = CHIP_3.replace(" 38 ", " 55  38 ").replace(" 7 ", " 7 UP ")
    chip = only_chip(header, rows)
    assert chip["unparsed"] == {"Fan Speed(%)": "55", "Link": "UP"}
    assert (chip["power_w"], chip["temp_c"], chip["aicore_pct"]) == (90.1, 38, 7)
    assert chip["hbm_used_mb"] == 30123


def test_ids_may_stand_side_by_side() -> None:
    result = info(
        "\n| NPU Chip | Name | Health |\n| Phy-ID | Bus-Id | HBM-Usage(MB) |",
        "\n| 3 1 | 910 | OK |\n| 7 | NA | 1 / 2 |\n| 4 0 | 910 | OK |\n| 8 | NA | 1 / 2 |",
    )
    assert [(c["npu_id"], c["chip_id"], c["phy_id"]) for c in result["chips"]] == [
        (3, 1, 7),
        (4, 0, 8),
    ]
    assert (result["layout"], result["processes"]) == (None, [])


def test_columns_may_stand_in_another_order() -> None:
    header = B1.replace("Memory-Usage(MB)  HBM-Usage(MB)", "HBM-Usage(MB)  Memory-Usage(MB)")
    chip = only_chip(header, CHIP_3)
    assert (chip["memory_used_mb"], chip["hbm_used_mb"]) == (30123, 0)


@pytest.mark.parametrize("clipped", ["HBM-Usage(MB", "HBM-Usage(M"])
def test_clipped_header(clipped: str) -> None:
    chip = only_chip(B1.replace("HBM-Usage(MB) ", clipped), CHIP_3)
    assert (chip["hbm_used_mb"], chip["hbm_total_mb"]) == (30123, 32768)


@pytest.mark.parametrize(
    "clipped", ["Huge", "Hugepages-Us", "Hugepages-Usage(", "Hugepages-Usage(pag"]
)
def test_clipped_header_without_a_unit_to_read(clipped: str) -> None:
    result = info(B1.replace("Hugepages-Usage(page)", clipped), CHIP_3, IDLE_3)
    assert result["chips"][0]["hugepages"] == {"used": 0, "total": 0}
    assert (result["layout"], result["complete"]) == ("B1", True)


@pytest.mark.parametrize(
    ("unit", "used", "total"),
    [
        ("(GB)", 30123 * 1024, 32768 * 1024),
        ("(KB)", 29, 32),
        ("(TB)", None, None),
        ("", None, None),
    ],
)
def test_memory_is_read_in_the_unit_of_the_header(
    unit: str, used: int | None, total: int | None
) -> None:
    chip = only_chip(B1.replace("HBM-Usage(MB)", f"HBM-Usage{unit}"), CHIP_3)
    assert (chip["hbm_used_mb"], chip["hbm_total_mb"]) == (used, total)
    if used is None:
        assert chip["unparsed"] == {f"HBM-Usage{unit}": "30123/ 32768"}


def test_unknown_set_of_columns_has_no_layout() -> None:
    result = info(A1.replace("Memory-Usage(MB)", "HBM-Usage(MB)"))
    assert result["layout"] is None


def test_lines_without_a_bar_are_no_rows() -> None:
    noise = "\n3 910B4 OK\n+----+\n$ cat log | grep NPU\n  \u6b22\u8fce | 7 910B4 | OK |\n"
    assert info(noise, B1, noise, CHIP_3, noise, IDLE_3, noise) == info(B1, CHIP_3, IDLE_3)


@pytest.mark.parametrize(
    "dots", ["\n...", "\n| ... |", "\n| ...   | ...  | ... |", "\n\u2026\u2026"]
)
def test_left_out_lines_make_it_incomplete(dots: str) -> None:
    result = info(B1, CHIP_3, dots, PROCESSES, IDLE_3)
    assert result["complete"] is False
    assert "unparsed" not in result


def test_a_second_row_without_its_first_makes_no_chip() -> None:
    orphan = (
        "\n| 0                 | 0000:82:00.0  | 7           0    / 0          1/ 32768         |"
    )
    result = info(B1, orphan, CHIP_3, IDLE_3)
    assert [chip["npu_id"] for chip in result["chips"]] == [3]
    assert result["unparsed"] == [orphan.strip()]


def test_no_second_header_row_no_chips() -> None:
    result = info("\n".join(B1.split("\n")[:2]), CHIP_3)
    assert not [chip for chip in result["chips"] if chip["npu_id"] != 3]
    assert result["complete"] is False


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        (" \r\n\n", []),
        ("Segmentation fault\n", ["Segmentation fault"]),
        ("| a | b |", ["| a | b |"]),
        ("NPU Name Health", ["NPU Name Health"]),
        ("\x00\x1b[31m", []),
    ],
)
def test_text_that_is_no_table(text: str, lines: list[str]) -> None:
    result = npu_smi.parse("npu-smi info", text)
    assert (result["chips"], result["complete"], result["layout"]) == ([], False, None)
    assert result.get("unparsed", []) == lines


# --- processes ----------------------------------------------------------------------------------


def test_no_process_table_means_not_known() -> None:
    result = npu_smi.parse("npu-smi info", VERSION.replace("25.2.0", "22.0.3") + B1 + CHIP_3)
    assert (result["process_table"], result["complete"]) == (False, True)


def test_newer_tools_print_a_process_table_else_it_was_cut() -> None:
    assert info(B1, CHIP_3)["complete"] is False
    chip = "\n| 0 310B4 | OK | 0.0 55 15 / 15 |\n| 0 0 | NA | 0 2802 / 15609 |"
    assert info(A1, chip)["complete"] is True  # 310B: none in any version
    assert info(A1, chip.replace("310B4", "310P3"))["complete"] is False


def test_every_card_is_in_the_process_table_else_it_was_cut() -> None:
    chip_4 = CHIP_3.replace("| 3", "| 4")
    process = "\n| 4       0         | 77            | python3       | 12                     |"
    assert info(B1, CHIP_3, chip_4, PROCESSES, IDLE_3)["complete"] is False
    assert info(B1, CHIP_3, chip_4, PROCESSES, IDLE_3, process)["complete"] is True


def test_a_process_may_name_a_card_that_the_cut_table_has_not() -> None:
    process = "\n| 7       0         | 77            | python3       | 12                     |"
    result = info(B1, CHIP_3, PROCESSES, IDLE_3, process)
    assert result["processes"] == [
        {"npu_id": 7, "chip_id": 0, "pid": 77, "name": "python3", "memory_mb": 12}
    ]
    assert result["complete"] is False


def test_process_memory_in_bytes() -> None:
    header = PROCESSES.replace("memory(MB)", "memory(B)")
    result = info(B1, CHIP_3, header, "\n| 3 0 | 77 | python3 | 131072000 |")
    assert result["processes"][0]["memory_mb"] == 125
    assert result["process_columns"][-1] == "Process memory(B)"


def test_process_id_in_container() -> None:
    header = PROCESSES + " Process id in container |"
    rows = "\n| 3 0 | 77 | python3 | 12 | 5 |\n| 3 0 | 78 |  | NA | NA |"
    result = info(B1, CHIP_3, header, rows)
    assert [process["container_pid"] for process in result["processes"]] == [5, None]
    assert result["processes"][1]["name"] == ""
    assert result["processes"][1]["memory_mb"] is None


@pytest.mark.parametrize("name", ["a b  c", "x|y", "-", "NA", "12", "ray::Worker"])
def test_a_process_name_is_free_text(name: str) -> None:
    result = info(B1, CHIP_3, PROCESSES, f"\n| 3 0 | 77 | {name} | 12 |")
    (process,) = result["processes"]
    assert (process["pid"], process["memory_mb"]) == (77, 12)
    assert process["name"] == ("" if name in ("-", "NA") else " ".join(name.split()))


def test_one_sentence_for_all_cards() -> None:
    chip_4 = CHIP_3.replace("| 3", "| 4")
    result = info(B1, CHIP_3, chip_4, PROCESSES, "\n| No running processes found |")
    assert (result["idle_npus"], result["complete"]) == ([3, 4], True)


def test_a_sentence_about_one_card_that_is_cut_is_not_about_all() -> None:
    chip_4 = CHIP_3.replace("| 3", "| 4")
    for cut in ("\n| No running processes found", "\n| No running processes found in N"):
        result = info(B1, CHIP_3, chip_4, PROCESSES, IDLE_3, cut)
        assert result["idle_npus"] == [3]
        assert result["unparsed"] == [cut.strip()]


@pytest.mark.parametrize("cut", ["\n| NPU     Chip      | ", "\n| NPU     Chip      | Process n"])
def test_a_process_header_that_is_cut_is_no_second_table(cut: str) -> None:
    result = info(B1, CHIP_3, cut)
    assert (result["layout"], result["complete"]) == ("B1", False)


def test_a_header_row_printed_again_changes_nothing() -> None:
    chip_4 = CHIP_3.replace("| 3", "| 4")
    again = "\n" + B1.split("\n")[2]
    assert info(B1, CHIP_3, again, chip_4) == info(B1, CHIP_3, chip_4)
    assert info(B1, CHIP_3, B1, chip_4) == info(B1, CHIP_3, chip_4)


def test_a_bad_process_row_is_kept() -> None:
    result = info(B1, CHIP_3, PROCESSES, IDLE_3, "\n| 3 0 | 7x | python3 | 12 |")
    assert result["processes"] == []
    assert result["unparsed"] == ["| 3 0 | 7x | python3 | 12 |"]


def test_a_process_row_without_its_header_is_no_chip() -> None:
    for header, chip in ((B1, CHIP_3), (by_name("36").text, "")):
        result = info(header, chip, "\n+---+\n| 5 | 368652 |  | 205 |")
        assert 5 not in [each["npu_id"] for each in result["chips"] if each["name"] == "368652"]


# --- -l, -m, topo -------------------------------------------------------------------------------


def test_cards_all_there() -> None:
    text = "\tTotal Count : 1\n\n\tNPU ID : 8\n\tProduct Name : NA\n\tChip Count : 4"
    assert npu_smi.parse("npu-smi info -l", text) == {
        "total_count": 1,
        "cards": [{"npu_id": 8, "product_name": None, "chip_count": 4}],
    }


def mapping(text: str) -> dict[str, Any]:
    return npu_smi.parse("npu-smi info -m", text)


def test_mapping_single_blanks_names_of_two_words_and_a_shouting_controller() -> None:
    result = mapping(
        "NPU ID Chip ID Chip Logic ID Chip Name\n0 0 0 Ascend 910B4\n0 1 - MCU\n[root@h ~]# ls 3 4"
    )
    assert result["columns"] == ["NPU ID", "Chip ID", "Chip Logic ID", "Chip Name"]
    assert [(chip["name"], chip["is_npu"]) for chip in result["chips"]] == [
        ("Ascend 910B4", True),
        ("MCU", False),
    ]


def test_mapping_without_logic_id_has_none() -> None:
    """The third column of an Ascend950 is no logic id: all devices would be number 0."""
    result = mapping("NPU ID  Slot ID  Chip ID  Chip Phy-ID  Chip Name\n4 9 0 7 Ascend950PR")
    assert result["chips"] == [
        {
            "npu_id": 4,
            "slot_id": 9,
            "chip_id": 0,
            "logic_id": None,
            "phy_id": 7,
            "name": "Ascend950PR",
            "is_npu": True,
        }
    ]


def test_mapping_with_columns_never_seen() -> None:
    result = mapping("NPU ID Die Node ID Chip ID Chip Name Chip Phy-ID\n0 5 1 Ascend 910 9")
    assert result["columns"] == ["NPU ID", "Die Node ID", "Chip ID", "Chip Name", "Chip Phy-ID"]
    (chip,) = result["chips"]
    assert (chip["chip_id"], chip["phy_id"], chip["name"]) == (1, 9, "Ascend 910")


def test_mapping_row_that_is_cut() -> None:
    result = mapping("NPU ID  Chip ID  Chip Logic ID  Chip Name\n0 0 0 910\n1 0")
    assert result["unparsed"] == ["1 0"]
    assert result["complete"] is False


def test_mapping_of_a_card_without_its_controller_is_cut() -> None:
    header = "NPU ID  Chip ID  Chip Logic ID  Chip Name\n"
    assert "complete" not in mapping(header + "0 0 0 910\n0 1 - Mcu\n1 0 1 910\n1 1 - Mcu")
    assert mapping(header + "0 0 0 910\n0 1 - Mcu\n1 0 1 910")["complete"] is False
    assert "complete" not in mapping(header + "0 0 0 910\n1 0 1 910")


def test_topology() -> None:
    text = """[root@host ~]# npu-smi info -t topo
\t       NPU0       NPU1       CPU Affinity
\tNPU0       X          HCCS       0-23,96-119
\tNPU1       HCCS       X          24-47

Legend:

  X    = Self
  HCCS = Connection traversing HCCS.
"""
    assert npu_smi.parse("npu-smi info -t topo", text) == {
        "devices": ["NPU0", "NPU1"],
        "links": {"NPU0": {"NPU0": "X", "NPU1": "HCCS"}, "NPU1": {"NPU0": "HCCS", "NPU1": "X"}},
        "cpu_affinity": {"NPU0": "0-23,96-119", "NPU1": "24-47"},
        "legend": {"X": "Self", "HCCS": "Connection traversing HCCS."},
    }
    assert npu_smi.parse("npu-smi info -t topo", text.partition("\tNPU1  ")[0])["complete"] is False


# --- -t -----------------------------------------------------------------------------------------


def test_usages_belong_to_the_chip_id_that_follows() -> None:
    text = "NPU ID : 1\nChip Count : 2\nHBM Usage Rate(%) : 5\nChip ID : 0\nHBM Usage Rate(%) : 9\n"
    cut = npu_smi.parse("npu-smi info -t usages -i 1", text)
    assert cut["chips"] == [
        {"chip_id": 0, "hbm_usage_pct": 5},
        {"chip_id": None, "hbm_usage_pct": 9},
    ]
    assert cut["complete"] is False
    whole = npu_smi.parse("npu-smi info -t usages -i 1", text + "Chip ID : 1")
    assert whole["chips"][1] == {"chip_id": 1, "hbm_usage_pct": 9}
    assert "complete" not in whole


def test_common_belongs_to_the_chip_id_before() -> None:
    text = "NPU ID : 1\nChip Count : 2\n\nChip ID : 0\nTemperature(C) : 50\nChip ID : 1\nTemperature(C) : NA"
    result = npu_smi.parse("npu-smi info -t common -i 1", text)
    assert result["chips"] == [{"chip_id": 0, "temp_c": 50}, {"chip_id": 1, "temp_c": None}]
    assert npu_smi.parse("npu-smi info -t common -i 1", text[:60])["complete"] is False


def test_usages_without_any_chip_id() -> None:
    result = npu_smi.parse("npu-smi info -t usages -i 0", "NPU ID : 0\nHBM Usage Rate(%) : 5")
    assert result["chips"] == [{"chip_id": None, "hbm_usage_pct": 5}]
    assert "complete" not in result


def test_memory() -> None:
    text = """
    NPU ID                         : 0
    Chip Count                     : 1

    DDR Capacity(MB)               : 0
    DDR Clock Speed(MHZ)           : 0
    HBM Capacity(MB)               : 65536
    HBM Clock Speed(MHZ)           : 1600
    HBM Temperature(C)             : 44
    HBM Manufacturer ID            : 0x56
    Chip ID                        : 0"""
    assert npu_smi.parse("npu-smi info -t memory -i 0", text)["chips"] == [
        {
            "chip_id": 0,
            "ddr_capacity_mb": 0,
            "ddr_clock_mhz": 0,
            "hbm_capacity_mb": 65536,
            "hbm_clock_mhz": 1600,
            "hbm_temp_c": 44,
            "hbm_manufacturer_id": "0x56",
        }
    ]


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("HBM Bandwidth Usage Rate(%)", "hbm_bandwidth_pct"),
        ("Aivector Usage Rate(%)", "aivector_pct"),
        ("NPU Utilization(%)", "npu_utilization_pct"),
        ("Aicore Freq(MHZ)", "aicore_freq_mhz"),
        ("root@host", ""),
    ],
)
def test_names_of_readings_never_seen(key: str, name: str) -> None:
    assert npu_smi_keyvalue.reading_name(key) == name


def test_a_reading_that_is_no_number_is_kept() -> None:
    result = npu_smi.parse("npu-smi info -t usages -i 0", "HBM Capacity(MB) : 6x\nChip ID : 0")
    assert result["chips"] == [{"chip_id": 0, "unparsed": ["HBM Capacity(MB) : 6x"]}]


def test_board_keeps_what_it_does_not_know() -> None:
    text = "NPU ID : 0\nSlot ID : x\nFirmware Version : NA\nClass ID : NA\nColour : blue"
    assert npu_smi.parse("npu-smi info -t board -i 0", text) == {
        "npu_id": 0,
        "slot_id": None,
        "firmware": None,
        "unparsed": ["Slot ID : x", "Colour : blue"],
    }


def test_health_with_several_codes_and_lines_with_an_empty_key() -> None:
    text = """\tHealth Status    : Critical
\tError Code       : 80E18005 80DF8009
\tError Information: node type=SOC, sensor type=RAS
\t                 : node type=HBM, sensor type=Temp,
\t                   event state=too: hot
\tChip ID          : 0
[root@host ~]#"""
    assert npu_smi.parse("npu-smi info -t health -i 0 -c 0", text) == {
        "health": "Critical",
        "error_codes": ["80E18005", "80DF8009"],
        "error_information": [
            "node type=SOC, sensor type=RAS",
            "node type=HBM, sensor type=Temp, event state=too: hot",
        ],
    }


def test_health_information_wrapped_after_a_comma_without_indent() -> None:
    text = "Health Status : Alarm\nError Information : node type=LPM,\nevent state=hot\n$ exit"
    result = npu_smi.parse("npu-smi info -t health -i 0", text)
    assert result["error_information"] == ["node type=LPM, event state=hot"]


def test_health_of_several_chips_is_not_overwritten() -> None:
    text = "Health Status : Alarm\nError Code : 80E18005\nHealth Status : OK\nError Code : NA"
    result = npu_smi.parse("npu-smi info -t health -i 0", text)
    assert [state["health"] for state in result["outputs"]] == ["Alarm", "OK"]
    assert [state["error_codes"] for state in result["outputs"]] == [["80E18005"], []]


def test_no_health_is_not_ok() -> None:
    assert npu_smi.parse("npu-smi info -t health -i 0 -c 0", "")["health"] is None


def test_process_memory_of_several_processes_in_a_line() -> None:
    text = """NPU ID : 2
Process id:7 Process name:ray::Worker Process memory(MB):5 Process id:8 Process name: Process memory(MB):NA
Chip ID : 0
No process in device.
Chip ID : 1
Process id:9 Process name:x Process memory(MB):1
Process id:"""
    result = npu_smi.parse("npu-smi info -t proc-mem -i 2", text)
    assert [[p["pid"] for p in chip["processes"]] for chip in result["chips"]] == [[7, 8], [], [9]]
    assert result["chips"][0]["processes"][0]["name"] == "ray::Worker"
    assert result["chips"][0]["processes"][1] == {"pid": 8, "name": "", "memory_mb": None}
    assert (result["chips"][2]["chip_id"], result["complete"]) == (None, False)
    assert (result["npu_id"], result["unparsed"]) == (2, ["Process id:"])


# --- hccn_tool ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "answer"),
    [
        ("-ip", {"ipaddr": None, "netmask": None}),
        ("-link", {"link_status": None}),
        ("-net_health", {"net_health": None, "healthy": None}),
        ("-gateway", {"gateway": None, "iface": None}),
        ("-lldp", {"ifname": None, "tlvs": {}}),
        ("-fec", {"fec_mode": None}),
    ],
)
def test_no_output_is_not_down(option: str, answer: dict[str, Any]) -> None:
    assert npu_smi.parse(f"hccn_tool -i 0 {option} -g", "") == answer


@pytest.mark.parametrize(
    ("state", "healthy"),
    [("Success", True), ("Init", True), ("Fault", False), ("Socket failed", False)],
)
def test_net_health(state: str, healthy: bool) -> None:
    command = "/usr/local/Ascend/driver/tools/hccn_tool -i 0 -net_health -g"
    answer = {"net_health": state, "healthy": healthy}
    assert npu_smi.parse(command, f"net health status: {state}\r\n") == answer


def test_link_up_and_options_in_another_order() -> None:
    assert npu_smi.parse("hccn_tool -g -link -i 3 -u 0 -p 1", "link status: UP") == {
        "link_status": "UP"
    }


def test_lldp() -> None:
    text = "Chassis ID TLV\n\tMAC: 00:00:5e:00:53:01\nPort ID TLV\n\tIfname: 400GE1/0/7\n"
    assert npu_smi.parse("hccn_tool -i 0 -lldp -g", text) == {
        "ifname": "400GE1/0/7",
        "tlvs": {"Chassis ID": ["MAC: 00:00:5e:00:53:01"], "Port ID": ["Ifname: 400GE1/0/7"]},
    }


def test_optical_in_another_unit_is_not_a_reading() -> None:
    text = "temperature : 117 F\nTx Power1 : 2 mW\nTx Power0 : -3.1 dBm\nRx Power10 : 1 mW\nRx Power9 : 2 mW"
    result = npu_smi.parse("hccn_tool -i 0 -optical -g", text)
    assert result["temperature_c"] is None
    assert result["tx_power_mw"] == [None, 2]
    assert result["rx_power_mw"] == [2, 1]


def test_hccn_conf() -> None:
    text = (
        "# comment\naddress_1=192.0.2.2\naddress_0=192.0.2.1\nnetmask_0=255.255.255.0\nfoo=1\nbar\n"
    )
    assert npu_smi.parse("cat /etc/hccn.conf", text) == {
        "devices": [
            {"device": 0, "address": "192.0.2.1", "netmask": "255.255.255.0"},
            {"device": 1, "address": "192.0.2.2"},
        ],
        "settings": {"foo": "1"},
        "unparsed": ["bar"],
    }


# --- errors -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "text", "error"),
    [
        ("npu-smi info", "bash: npu-smi: command not found", ("command_not_found", None)),
        ("npu-smi info", "sh: 1: npu-smi: not found", ("command_not_found", None)),
        (
            "npu-smi info",
            "bash: npu-smi: \u672a\u627e\u5230\u547d\u4ee4",
            ("command_not_found", None),
        ),
        ("npu-smi info", "env: 'npu-smi': No such file or directory", ("command_not_found", None)),
        ("npu-smi info", "bash: /usr/local/sbin/npu-smi: Is a directory", ("is_directory", None)),
        ("npu-smi info", "bash: /usr/bin/npu-smi: Permission denied", ("permission_denied", None)),
        (
            "npu-smi info",
            "dcmi module initialize failed. ret is -8002",
            ("dcmi_init_failed", -8002),
        ),
        ("npu-smi info", "dcmi module initialize failed.", ("dcmi_init_failed", None)),
        (
            "npu-smi info -t topo",
            "This device does not support querying topo.",
            ("not_supported", None),
        ),
        ("npu-smi info -t board -i 0 -c 9", "Invalid chip id.", ("invalid_chip_id", None)),
        (
            "hccn_tool -i 2048 -ip -g",
            "Device ID is out of the valid range.\nCmd execute failed!",
            ("invalid_device_id", None),
        ),
        ("hccn_tool -i 0 -link -g", "Cmd execute failed!", ("command_failed", None)),
    ],
)
def test_errors(command: str, text: str, error: tuple[str, int | None]) -> None:
    result = npu_smi.parse(command, text)
    assert (result["error"]["kind"], result["error"]["dcmi_code"]) == error
    assert set(result) == ({"error", "chips"} if command == "npu-smi info" else {"error"})


@pytest.mark.parametrize("library", ["libdcmi.so", "libc_sec.so", "libdrvdsmi_host.so"])
def test_missing_library(library: str) -> None:
    text = (
        f"npu-smi: error while loading shared libraries: {library}: cannot open shared object file"
    )
    assert npu_smi.parse("npu-smi info -m", text) == {
        "error": {"kind": "missing_library", "library": library, "dcmi_code": None},
        "chips": [],
    }


def test_an_error_beside_an_answer_hides_nothing() -> None:
    line = "\ndcmi module initialize failed. ret is -8005\n"
    result = info(line, B1, CHIP_3, IDLE_3)
    assert result["error"] == {"kind": "dcmi_init_failed", "dcmi_code": -8005}
    assert len(result["chips"]) == 1


def test_a_side_line_is_no_error() -> None:
    line = "DrvMngGetConsoleLogLevel failed. (g_conLogLevel=3)\n"
    assert "error" not in npu_smi.parse("npu-smi info", line + VERSION + B1 + CHIP_3)


def test_a_file_has_no_tool_errors() -> None:
    text = "Version=1\nnote=npu-smi: command not found"
    assert "error" not in npu_smi.parse("cat /usr/local/Ascend/driver/version.info", text)


# --- version files ------------------------------------------------------------------------------


def test_driver_version_of_an_old_release_has_no_package_version() -> None:
    result = npu_smi.parse("cat /opt/a/driver/version.info", "Version=22.0.4 \r\n#x=1\r\n")
    assert result == {
        "driver": "22.0.4",
        "package_version": None,
        "ascendhal": None,
        "innerversion": None,
        "compatible_version": None,
        "compatible_firmware": None,
    }


def test_version_info_without_a_telling_path_is_told_by_its_keys() -> None:
    assert "driver" in npu_smi.parse("cat version.info", "Version=1\nascendhal_version=2")
    assert "firmware" in npu_smi.parse("cat version.info", "Version=1\nfirmware_version=2")
    nnal = npu_smi.parse("cat /usr/local/Ascend/nnal/atb/latest/version.info", "Version=8.0.RC3")
    assert nnal == {"version": "8.0.RC3", "package_version": None, "innerversion": None}


def test_several_firmware_ranges() -> None:
    text = "compatible_version_fw=[7.0.0,7.1.99],[8.0.0, 8.0.9]"
    result = npu_smi.parse("cat /usr/local/Ascend/driver/version.info", text)
    assert result["compatible_firmware"] == [["7.0.0", "7.1.99"], ["8.0.0", "8.0.9"]]


def test_version_cfg_of_an_upgrade_in_part() -> None:
    text = "a_running_version=[1:8.0.RC3]\nb_running_version=[2:8.1.RC1]\nb_upgrade_version=[3:9]"
    assert npu_smi.parse("cat version.cfg", text) == {
        "cann": None,
        "components": {"a": ["1", "8.0.RC3"], "b": ["2", "8.1.RC1"]},
    }


@pytest.mark.parametrize(("raw", "value"), [("no", False), ("YES", True), ("perhaps", None)])
def test_install_for_all(raw: str, value: bool | None) -> None:
    result = npu_smi.parse("cat /etc/ascend_install.info", f"Driver_Install_For_All={raw}")
    assert result["driver_for_all"] is value
    assert result["driver_install_path"] is None


# --- commands -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command", ["", "cat", "npu-smi", "npu-smi info -t", "npu-smi info -t new", "ls /"]
)
def test_an_unknown_command_keeps_the_lines(command: str) -> None:
    assert npu_smi.parse(command, " a \n\nb") == {"unparsed": ["a", "b"]}


@pytest.mark.parametrize(
    "command",
    ["/usr/local/sbin/npu-smi info", "env LC_ALL=C npu-smi info", "sudo  npu-smi   info"],
)
def test_how_a_command_is_called_does_not_matter(command: str) -> None:
    sample = by_name("44")
    assert npu_smi.parse(command, sample.text) == sample.answer
