# SPDX-License-Identifier: Apache-2.0
"""The report of an evaluation: one HTML page that needs nothing else and opens without a network."""

from __future__ import annotations

import html
from typing import Any, Mapping, Sequence

from ansible_collections.kvcache.ascend.plugins.module_utils import (
    evaluate_answer,
    evaluate_plot,
    evaluate_verdict,
    sizes,
)

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #212529; max-width: 960px; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; margin-bottom: .2rem; } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
.about { color: #555; margin-top: 0; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .87rem; font-variant-numeric: tabular-nums; }
th, td { padding: .28rem .6rem; border-bottom: 1px solid #dee2e6; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; } thead th { border-bottom: 2px solid #adb5bd; }
.environment td { text-align: left; white-space: normal; overflow-wrap: anywhere; }
.verdict { list-style: none; padding: 0; }
.verdict > li { border-left: 5px solid #868e96; background: #f8f9fa; padding: .5rem .8rem; margin: .5rem 0; }
.verdict > li.yes { border-color: #2b8a3e; } .verdict > li.no { border-color: #c92a2a; }
td.lost { background: #fff0eb; } td.held { background: #ebfbee; }
svg { width: 100%; height: auto; font: 13px system-ui, sans-serif; fill: #343a40; }
svg .grid { stroke: #e9ecef; } svg .axis { stroke: #868e96; }
"""


def page(
    found: Sequence[Mapping[str, Any]],
    documents: Sequence[int],
    environment: Mapping[str, Any],
    reference: Mapping[str, Any] | None = None,
) -> str:
    """The page; `reference` is another measurement to draw beside this one."""
    parts = [
        "<h1>Does the cache pay off?</h1>",
        f'<p class="about">{_about(found)}</p>',
        "<h2>Verdict</h2>",
        _verdicts(found),
        "<h2>TTFT over the number of documents</h2>",
        evaluate_plot.draw(_lines(found, reference)),
        '<p class="about">A dashed line marks the planned knee: that many documents are held. '
        "One that lies far beyond what was measured is only named.</p>",
        "<h2>Mean TTFT of the last round, in seconds</h2>",
        _means(found, documents),
        "<h2>Every step</h2>",
        _steps(found),
        "<h2>The plan</h2>",
        _plans(found),
    ]
    if reference:
        parts += [
            "<h2>For comparison</h2>",
            f"<p>{html.escape(reference['summary'])}</p>",
            _reference(reference),
        ]
    parts += ["<h2>Environment</h2>", _environment(environment)]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>Evaluation of the KV cache</title><style>{STYLE}</style></head><body>\n"
        + "\n".join(parts)
        + "\n</body></html>\n"
    )


def _about(found: Sequence[Mapping[str, Any]]) -> str:
    rounds = max(len(row["rounds"]) for each in found for row in each["rows"])
    tokens = ", ".join(f"{each:,}" for each in sorted({each["document_tokens"] for each in found}))
    last = max(row["finished"] for each in found for row in each["rows"])
    return (
        f"N documents of {tokens} tokens, sent in {rounds} rounds. The first round finds nothing in a cache; "
        f"the last one finds what the caches have kept. Measured until {html.escape(last)}."
    )


def _verdicts(found: Sequence[Mapping[str, Any]]) -> str:
    items = []
    for each in found:
        kind = {True: "yes", False: "no", None: ""}[each["agrees"]]
        causes = "".join(f"<li>{html.escape(cause)}</li>" for cause in each["causes"])
        more = f"<br>Likely causes:<ul>{causes}</ul>" if causes else ""
        items.append(f'<li class="{kind}">{html.escape(evaluate_answer.verdict(each))}.{more}</li>')
    return f'<ul class="verdict">{"".join(items)}</ul>'


def _lines(
    found: Sequence[Mapping[str, Any]], reference: Mapping[str, Any] | None
) -> list[evaluate_plot.Line]:
    lines = [
        evaluate_plot.Line(
            each["name"],
            [(row["documents"], row["rounds"][-1]["mean"]) for row in each["rows"]],
            each["predicted"],
        )
        for each in found
    ]
    if reference:
        lines += [
            evaluate_plot.Line(
                f"reference: {each['name']}",
                list(zip(reference["documents"], each["ttft_seconds"])),
                is_reference=True,
            )
            for each in reference["variants"]
        ]
    return lines


def _means(found: Sequence[Mapping[str, Any]], documents: Sequence[int]) -> str:
    head, *rows = evaluate_answer.table(found, documents)
    body = []
    for each, row in zip(found, rows):
        measured = {step["documents"]: step for step in each["rows"]}
        kinds = [""] + [
            _kind(measured.get(number), each["knee"]) if number in measured else ""
            for number in documents
        ]
        body.append(list(zip(row, kinds)))
    return _table([head], body)


def _kind(step: Any, knee: evaluate_verdict.Knee) -> str:
    return "held" if evaluate_verdict.is_held(step, knee) else "lost"


def _steps(found: Sequence[Mapping[str, Any]]) -> str:
    head = ["variant", "documents", "round", "mean s", "p50 s", "p90 s", "p99 s"]
    head += ["computed", "own cache", "pool", "errors"]
    body = []
    for each in found:
        for row in each["rows"]:
            for number, measured in enumerate(row["rounds"]):
                cells = [each["name"], str(row["documents"]), str(number + 1)]
                cells += [f"{measured[name]:.4f}" for name in ("mean", "p50", "p90", "p99")]
                cells += [
                    "-" if measured[name] is None else f"{measured[name]:,}"
                    for name in ("computed", "local", "pool")
                ]
                body.append([*cells, str(measured["errors"])])
    return _table([head], body)


def _plans(found: Sequence[Mapping[str, Any]]) -> str:
    head = ["variant", "HBM tokens", "documents", "pool", "documents", "planned knee"]
    head += ["measured, by tokens", "by TTFT"]
    body = []
    for each in found:
        plan = each["plan"]
        cells = ["-"] * 5
        if plan:
            has_pool = plan["pool"]["size_bytes"] > 0
            cells = [
                f"{plan['hbm']['tokens']:,}",
                str(plan["hbm"]["documents"]),
                sizes.to_text(plan["pool"]["size_bytes"]) if has_pool else "-",
                str(plan["pool"]["documents"]) if has_pool else "-",
                str(plan["knee_documents"]),
            ]
        knees = [_short(each[name]) for name in ("by_tokens", "by_ttft")]
        body.append([each["name"], *cells, *knees])
    return _table([head], body)


def _short(knee: evaluate_verdict.Knee | None) -> str:
    text = evaluate_verdict.knee_text(knee).replace("not reached up to", "beyond")
    return text.replace("between ", "").replace(" and ", " to ")


def _reference(reference: Mapping[str, Any]) -> str:
    head = ["documents", *map(str, reference["documents"])]
    return _table(
        [head], [[each["name"], *map(str, each["ttft_seconds"])] for each in reference["variants"]]
    )


def _environment(environment: Mapping[str, Any]) -> str:
    rows = "".join(
        f"<tr><td>{html.escape(str(name))}</td><td>{html.escape(str(value))}</td></tr>"
        for name, value in environment.items()
    )
    return f'<table class="environment"><tbody>{rows}</tbody></table>'


def _table(head: Sequence[Sequence[str]], body: Sequence[Sequence[Any]]) -> str:
    """A table; a cell is a text, or a text and its class."""
    lines = ["".join(f"<th>{html.escape(cell)}</th>" for cell in row) for row in head]
    rows = []
    for row in body:
        cells = [cell if isinstance(cell, tuple) else (cell, "") for cell in row]
        rows.append(
            "".join(
                f'<td class="{kind}">{html.escape(text)}</td>'
                if kind
                else f"<td>{html.escape(text)}</td>"
                for text, kind in cells
            )
        )
    return (
        '<div class="wide"><table><thead>'
        + "".join(f"<tr>{line}</tr>" for line in lines)
        + "</thead><tbody>"
        + "".join(f"<tr>{row}</tr>" for row in rows)
        + "</tbody></table></div>"
    )
