# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math

import pytest
from ansible_collections.kvcache.ascend.plugins.module_utils import prometheus_text
from ansible_collections.kvcache.ascend.plugins.module_utils.prometheus_text import Sample
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("line", "sample"),
    [
        ("master_key_count 5", Sample("master_key_count", {}, 5.0)),
        ("a1 2", Sample("a1", {}, 2.0)),
        ("a 1.5e9 1700000000000", Sample("a", {}, 1.5e9)),
        ("a{} 1", Sample("a", {}, 1.0)),
        ('a{b="c"} 1', Sample("a", {"b": "c"}, 1.0)),
        ('a{b="c"}1', Sample("a", {"b": "c"}, 1.0)),
        ('a { b = "c" , d="" , } 1', Sample("a", {"b": "c", "d": ""}, 1.0)),
        (r'a{b="x\"y\\z\nw} 3"} 1', Sample("a", {"b": 'x"y\\z\nw} 3'}, 1.0)),
        ('a_bucket{le="+Inf"} +Inf', Sample("a_bucket", {"le": "+Inf"}, math.inf)),
    ],
)
def test_a_line(line, sample):
    assert prometheus_text.parse(line).samples == [sample]


@pytest.mark.parametrize(
    "line",
    ["404 Not Found", "m1", "a", "a{b=c} 1", 'a{b="c" 1', "a one", "a 1_0", "<html>", '{"a":1}'],
)
def test_a_line_that_cannot_be_read_is_kept(line):
    exposition = prometheus_text.parse(f"good 1\n{line}\nbetter 2\n")
    assert [sample.name for sample in exposition.samples] == ["good", "better"]
    assert exposition.unparsed == [line]


def test_comments_blank_lines_and_windows_line_ends():
    text = "# HELP a text\r\n# TYPE a gauge\r\n\r\na 1\r\n"
    assert prometheus_text.parse(text) == prometheus_text.Exposition([Sample("a", {}, 1.0)], [])


def test_value_is_that_of_the_sample_without_labels():
    exposition = prometheus_text.parse('a{b="c"} 1\na 2\n')
    assert exposition.value("a") == 2.0
    assert exposition.value("absent") is None


@given(st.text() | st.lists(st.sampled_from(list('a1_{}=",\\ \n#.+-')), max_size=60).map("".join))
def test_garbage_never_raises_and_no_line_is_lost(text):
    exposition = prometheus_text.parse(text)
    lines = [line.strip() for line in text.split("\n")]
    wanted = [line for line in lines if line and not line.startswith("#")]
    assert len(exposition.samples) + len(exposition.unparsed) == len(wanted)


@given(
    st.from_regex(r"\A[a-zA-Z_:][a-zA-Z0-9_:]*\Z"),
    st.dictionaries(st.from_regex(r"\A[a-zA-Z_][a-zA-Z0-9_]*\Z"), st.text(), max_size=4),
    st.floats(allow_nan=False),
)
def test_what_is_written_by_the_format_is_read_back(name, labels, value):
    def escape(text: str) -> str:
        return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')

    inner = ",".join(f'{label}="{escape(text)}"' for label, text in labels.items())
    exposition = prometheus_text.parse(f"{name}{{{inner}}} {value}\n")
    assert exposition.samples == [Sample(name, labels, value)]
