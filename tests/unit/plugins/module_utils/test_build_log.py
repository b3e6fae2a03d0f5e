# SPDX-License-Identifier: Apache-2.0
"""What make, ninja, CMake and the compiler print, and what is made of it."""

from __future__ import annotations

import pytest
from ansible_collections.kvcache.ascend.plugins.module_utils import build_log
from hypothesis import given
from hypothesis import strategies as st

MAKE = """\
Consolidate compiler generated dependencies of target base
[  1%] Building CXX object mooncake-transfer-engine/src/common/CMakeFiles/base.dir/base/status.cpp.o
[ 63%] Building CXX object mooncake-store/src/CMakeFiles/mooncake_store.dir/utils.cpp.o
[ 61%] Building CXX object mooncake-store/src/CMakeFiles/mooncake_store.dir/master_client.cpp.o
"""
NINJA = """\
[1/280] Building CXX object a/CMakeFiles/a.dir/first.cpp.o
[120/280] Linking CXX shared library mooncake-store/src/libmooncake_store.so
"""
COMPILE_ERROR = """\
[ 50%] Building CXX object mooncake-store/src/CMakeFiles/mooncake_store.dir/segment.cpp.o
In file included from /build/source/mooncake-store/src/segment.cpp:1:
/build/source/mooncake-store/include/segment.h:13:10: fatal error: ylt/easylog.hpp: No such file or directory
   13 | #include <ylt/easylog.hpp>
compilation terminated.
make[2]: *** [mooncake-store/src/CMakeFiles/mooncake_store.dir/build.make:76: segment.cpp.o] Error 1
make: *** [Makefile:136: all] Error 2
"""
CMAKE_ERROR = """\
-- Found glog
CMake Error at mooncake-store/CMakeLists.txt:31 (message):
  zstd library not found


-- Configuring incomplete, errors occurred!
"""
OUT_OF_MEMORY = """\
g++: fatal error: Killed signal terminated program cc1plus
compilation terminated.
make[2]: *** [mooncake-store/src/rpc_service.cpp.o] Error 1
"""


def test_makes_percentage_only_grows() -> None:
    seen = build_log.progress(MAKE)
    assert seen == {"percent": 63, "done": None, "total": None, "what": "master_client.cpp"}


def test_ninja_tells_n_of_m() -> None:
    seen = build_log.progress(NINJA)
    assert (seen["percent"], seen["done"], seen["total"]) == (42, 120, 280)
    assert seen["what"] == "libmooncake_store.so"


def test_nothing_is_known_before_the_first_step() -> None:
    assert build_log.progress("-- The CXX compiler identification is GNU")["percent"] is None


@given(st.integers(0, 100), st.integers(0, 50), st.text(max_size=200))
def test_progress_is_never_more_than_all(percent: int, done: int, noise: str) -> None:
    for output in (f"{noise}\n[{percent:3d}%] x\n{noise}", f"{noise}\n[{done}/50] x\n"):
        seen = build_log.progress(output)
        assert seen["percent"] is None or 0 <= seen["percent"] <= 999
        assert build_log.progress_text(seen, 10)


@pytest.mark.parametrize(
    ("seconds", "text"), [(5, "5 s"), (61, "1 min 1 s"), (3600 + 120, "1 h 2 min"), (59.9, "59 s")]
)
def test_durations_read_as_people_say_them(seconds: float, text: str) -> None:
    assert build_log.duration_text(seconds) == text


def test_the_first_compiler_error_is_named_with_its_file() -> None:
    why = build_log.explain(COMPILE_ERROR, 2, "compile Mooncake")
    assert why["kind"] == "source"
    assert why["cause"] == (
        "/build/source/mooncake-store/include/segment.h:13: ylt/easylog.hpp: No such file or directory"
    )
    assert "mooncake_extra_build_packages" in why["fix"]


def test_an_error_of_cmake_is_named_with_its_place() -> None:
    why = build_log.explain(CMAKE_ERROR, 1, "configure Mooncake")
    assert why["cause"] == "CMake at mooncake-store/CMakeLists.txt:31: zstd library not found"
    assert "mooncake_extra_build_packages" in why["fix"]


def test_a_missing_header_of_cann_is_told_as_cann() -> None:
    why = build_log.explain(
        "x.cpp:1:10: fatal error: acl/acl.h: No such file or directory", 2, "compile"
    )
    assert "CANN" in why["fix"]


@pytest.mark.parametrize("status", [2, 137, -9])
def test_a_killed_compiler_is_told_as_lack_of_memory(status: int) -> None:
    why = build_log.explain(OUT_OF_MEMORY if status == 2 else "", status, "compile Mooncake")
    assert why["kind"] == "host"
    assert "not enough memory" in why["cause"]
    assert "mooncake_build_jobs" in why["fix"]


def test_a_full_disk_is_the_cause_whatever_follows_from_it() -> None:
    output = f"fatal error: error writing to /tmp/ccF.s: No space left on device\n{COMPILE_ERROR}"
    why = build_log.explain(output, 2, "compile Mooncake")
    assert (why["kind"], why["cause"]) == ("host", "the disk is full")


@pytest.mark.parametrize(
    ("output", "free", "cause"),
    [
        ("ld: No space left on device", 1 << 40, "the disk is full"),
        ("=== configure Mooncake: cm", 4096, "the disk is full"),
        ("[ 12%] Building CXX object a.cpp.o", 1 << 40, "the job was killed"),
    ],
)
def test_a_job_that_could_not_say_how_it_ended(output: str, free: int, cause: str) -> None:
    why = build_log.explain_lost(output, free)
    assert (why["kind"], why["cause"]) == ("host", cause)


def test_an_undefined_symbol_is_an_error_too() -> None:
    output = "/usr/bin/ld: master.o: in function `main':\nmaster.cpp:(.text+0x5): undefined reference to `foo'\n"
    assert "undefined reference to `foo'" in build_log.first_error(output)


def test_a_library_of_cann_that_the_linker_lacks() -> None:
    why = build_log.explain(
        "/usr/bin/ld: cannot find -lascendcl: No such file or directory", 2, "compile"
    )
    assert "CANN" in why["fix"]


def test_long_messages_of_templates_are_cut() -> None:
    assert len(build_log.first_error(f"a.h:1:1: error: {'x' * 5000}")) == build_log.SHOWN


@given(st.text(max_size=500), st.integers(1, 255))
def test_whatever_is_printed_there_is_a_cause_and_a_fix(output: str, status: int) -> None:
    why = build_log.explain(output, status, "compile Mooncake")
    assert why["kind"] in ("host", "source")
    assert why["cause"] and why["fix"]
