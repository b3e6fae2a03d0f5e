# SPDX-License-Identifier: Apache-2.0
"""Filters of the role evaluate: thin names for pure functions in module_utils."""

from __future__ import annotations

import json
from typing import Any, Mapping

from ansible_collections.kvcache.ascend.plugins.module_utils import (
    evaluate_answer,
    evaluate_files,
    evaluate_input,
    evaluate_report,
    evaluate_results,
)


def answer(plan: Mapping[str, Any], results: str, known: Mapping[str, Any]) -> dict[str, Any]:
    """Return all that is made of the results: text, table, verdicts, and the content of the files."""
    found = evaluate_answer.make(plan, results, known)
    kept = {each["key"] for each in plan["variants"]}
    lines = [line for line in results.splitlines() if any(key in line for key in kept)]
    rows = [row for each in found for row in each["rows"]]
    facts = [evaluate_answer.facts(each) for each in found]
    if not found:
        nothing = dict.fromkeys(("csv", "json", "jsonl", "html"), "")
        return {"variants": [], "text": "Nothing was measured yet.", **nothing}
    return {
        "variants": facts,
        "text": evaluate_answer.render(found, plan["documents"]),
        "csv": evaluate_results.to_csv(rows),
        "json": json.dumps(facts, indent=2) + "\n",
        "jsonl": "\n".join([*lines, ""]),
        "html": evaluate_report.page(
            found, plan["documents"], known["environment"], known.get("reference")
        ),
    }


def probe(results: str, metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a single document has shown: its seconds and its tokens."""
    record = evaluate_results.parse(results)[-1]
    return {
        "request_seconds": record["rounds"][0]["seconds"],
        "document_tokens": evaluate_results.document_tokens(record, metrics),
    }


class FilterModule:
    """Filters for the evaluation of a cache."""

    def filters(self) -> dict:
        return {
            "evaluate_problems": evaluate_input.problems,
            "evaluate_plan": evaluate_input.make,
            "evaluate_estimate": evaluate_input.estimate,
            "evaluate_probe": probe,
            "evaluate_probe_problems": evaluate_input.probe_problems,
            "evaluate_results_problem": evaluate_files.results_problem,
            "evaluate_config_problem": evaluate_files.config_problem,
            "evaluate_answer": answer,
        }
