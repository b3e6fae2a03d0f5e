# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from ansible_collections.kvcache.ascend.plugins.module_utils import finding
from hypothesis import given
from hypothesis import strategies as st

REFUSED = finding.make(
    "mooncake_master_rpc",
    finding.ERROR,
    "demo-2",
    observed="master-1:50088 refused the connection",
    expected="a Mooncake master",
    fix="start it there (systemctl status mooncake-master) or correct mooncake_master_address",
)
WARNED = finding.make(
    "clients", finding.WARNING, "demo-2", observed="no client", expected="a client", fix="start one"
)
FINE = finding.make("mooncake_master_rpc", finding.OK, "demo-2", observed="master-1:50088 serves")


def test_the_shape():
    assert list(REFUSED) == ["check", "severity", "host", "observed", "expected", "fix"]


def test_an_unknown_severity_is_a_programming_error():
    with pytest.raises(ValueError, match="fatal"):
        finding.make("a", "fatal", "b", observed="c")


def test_worst():
    assert finding.worst([]) == "ok"
    assert finding.worst([FINE]) == "ok"
    assert finding.worst([FINE, WARNED]) == "warning"
    assert finding.worst([WARNED, REFUSED, FINE]) == "error"


def test_problems_are_errors_first_and_nothing_that_is_well():
    assert finding.problems([FINE, WARNED, REFUSED]) == [REFUSED, WARNED]


def test_render_says_what_where_expected_and_fix():
    assert finding.render([REFUSED, WARNED, FINE]) == (
        "master-1:50088 refused the connection (from host demo-2). Expected: a Mooncake master.\n"
        "  Fix: start it there (systemctl status mooncake-master) or correct"
        " mooncake_master_address\n"
        "warning: no client (from host demo-2). Expected: a client.\n"
        "  Fix: start one\n"
        "ok: master-1:50088 serves (from host demo-2)."
    )


words = st.lists(st.text("abc-:/", min_size=1, max_size=30), min_size=1, max_size=60).map(" ".join)


@given(words, words, words)
def test_no_line_is_wider_than_a_terminal_and_no_word_is_cut(observed, expected, fix):
    text = finding.render(
        [finding.make("c", finding.ERROR, "h", observed=observed, expected=expected, fix=fix)]
    )
    assert all(len(line) <= finding.LINE_WIDTH for line in text.split("\n"))
    assert text.split() == (f"{observed} (from host h). Expected: {expected}. Fix: {fix}".split())


def test_a_path_that_is_wider_than_the_terminal_stays_whole():
    path = "/opt/kvcache/" + "a-long-folder/" * 10 + "file"
    assert path in finding.render(
        [finding.make("c", finding.ERROR, "h", observed="wrong", fix=path)]
    )
