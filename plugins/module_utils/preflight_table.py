# SPDX-License-Identifier: Apache-2.0
"""The preflight's report as a table for a terminal 100 columns wide."""

from __future__ import annotations

import re
import textwrap
from typing import Iterable, Sequence

from ansible_collections.kvcache.ascend.plugins.module_utils import finding
from ansible_collections.kvcache.ascend.plugins.module_utils.mooncake_master_place import GROUPS
from ansible_collections.kvcache.ascend.plugins.module_utils.preflight import NAMES, Report, summary
from ansible_collections.kvcache.ascend.plugins.module_utils.preflight_model import Finding

WIDTH = 98
CHECK_WIDTH = 20
TEXT_INDENT = " " * 9
SHOWN_HOSTS = 6
SHOWN_CHECKS = 7
RANKS = {finding.ERROR: 0, finding.WARNING: 1, finding.OK: 2}


def host_list(names: Sequence[str]) -> str:
    """Few hosts by name, many by number with the first ones; runs of numbered names in short."""
    short = _ranges(list(dict.fromkeys(names)))
    if len(short) <= SHOWN_HOSTS:
        return ", ".join(short)
    return f"{len(set(names))} hosts: {', '.join(short[:SHOWN_HOSTS])}, ..."


def _ranges(names: Sequence[str]) -> list[str]:
    """npu-01, npu-02, npu-03 as npu-[01-03]."""
    parsed = [re.match(r"(.*?)(\d+)(\D*)\Z", name) for name in names]
    short: list[str] = []
    run: list[re.Match[str]] = []

    def close() -> None:
        if len(run) > 2:
            short.append(f"{run[0][1]}[{run[0][2]}-{run[-1][2]}]{run[0][3]}")
        else:
            short.extend(match[0] for match in run)
        run.clear()

    for name, match in zip(names, parsed):
        follows = bool(
            run
            and match
            and (match[1], match[3]) == (run[-1][1], run[-1][3])
            and int(match[2]) == int(run[-1][2]) + 1
        )
        if not follows:
            close()
        if match and len(match[2]) < 10:
            run.append(match)
        else:
            close()
            short.append(name)
    close()
    return short


def grouped(findings: Iterable[Finding]) -> list[tuple[Finding, list[str]]]:
    """Findings that differ in their host only, once, with all hosts; errors first."""
    groups: dict[tuple[str, ...], tuple[Finding, list[str]]] = {}
    for each in findings:
        key = tuple(each[name] for name in ("severity", "check", "observed", "expected", "fix"))
        groups.setdefault(key, (each, []))[1].append(each["host"])
    return sorted(groups.values(), key=lambda group: RANKS[group[0]["severity"]])


def _wrap(text: str) -> list[str]:
    return textwrap.wrap(
        # A control character out of an odd output must not reach the terminal.
        re.sub(r"[\x00-\x1f\x7f-\x9f]+", " ", text),
        WIDTH,
        initial_indent=TEXT_INDENT,
        subsequent_indent=TEXT_INDENT,
        break_on_hyphens=False,
    )


def _rows(each: Finding, hosts: Sequence[str]) -> list[str]:
    head = f"{each['severity'].upper():<8} {each['check']:<{CHECK_WIDTH}} "
    lines = textwrap.wrap(host_list(hosts), WIDTH - len(head), break_on_hyphens=False) or [""]
    rows = [head + lines[0], *(" " * len(head) + line for line in lines[1:])]
    rows += _wrap(each["observed"] + "." * (not each["observed"].endswith(("?", "!"))))
    if each["expected"]:
        rows += _wrap(f"Expected: {each['expected']}.")
    return rows + _wrap(f"Fix: {each['fix']}.")


def render(report: Report) -> str:
    """All findings, what was not checked and why, and the summary."""
    rule = "-" * WIDTH
    lines: list[str] = []
    if report.findings:
        lines += [rule, f"{'':<8} {'CHECK':<{CHECK_WIDTH}} HOSTS", rule]
        for each, hosts in grouped(report.findings):
            lines += _rows(each, hosts)
        lines.append(rule)
    lines += _not_checked(report)
    if report.left_alone:
        told = f"In no group that is set up ({', '.join(GROUPS)}), and left alone: {host_list(report.left_alone)}"
        lines += textwrap.wrap(told, WIDTH, subsequent_indent="  ", break_on_hyphens=False)
    return "\n".join([*lines, f"{summary(report)}."])


def _short(names: Sequence[str]) -> list[str]:
    """Names of checks; those of NPUs in one word when they are all there, and few of the rest."""
    npus = [name for name in NAMES if name.startswith("npu_")]
    if set(npus) <= set(names):
        names = [*(name for name in names if name not in npus), "npu_*"]
    if len(names) <= SHOWN_CHECKS:
        return list(names)
    return [*names[:SHOWN_CHECKS], f"and {len(names) - SHOWN_CHECKS} more"]


def _not_checked(report: Report) -> list[str]:
    """Checks with one reason and the same hosts stand in one line."""
    groups: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for entry in report.not_checked:
        hosts = tuple(entry["hosts"])  # type: ignore[arg-type]
        groups.setdefault((str(entry["reason"]), hosts), []).append(str(entry["check"]))
    lines = []
    for (reason, hosts), names in groups.items():
        checks = _short(names)
        where = "all hosts" if len(hosts) == len(report.hosts) else host_list(hosts)
        lines += textwrap.wrap(
            f"Not checked on {where}, since {reason}: {', '.join(checks)}".replace(
                "since preflight_skip", "as preflight_skip asks"
            ),
            WIDTH,
            subsequent_indent="  ",
            break_on_hyphens=False,
        )
    return lines
