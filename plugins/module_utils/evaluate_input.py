# SPDX-License-Identifier: Apache-2.0
"""What an evaluation is asked to do: variants and steps, which of them are measured already, and what the rest will take."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any, Mapping, Sequence

from ansible_collections.kvcache.ascend.plugins.module_utils import (
    evaluate_results,
    sizes,
    value_kinds,
    vllm_instance,
)

AS_IT_IS = "as it is"
STARTS = ("auto", "reset", "warmup")
LENGTH_TOLERANCE = 0.02
"""A tokenizer may make a document some tokens longer or shorter; the plan then takes the length that was counted."""

LEAST = {"rounds": 2, "document_tokens": 1, "output_tokens": 1, "concurrency": 1, "warmups": 0}
_MERGED = ("options", "env", "extra_config", "mooncake")
_FIXED = ("name", "port", "host", "served_name", "model")
"""What a variant may not change of an instance: where it is asked and for what, and what documents and plan are made for."""
CACHING_OFF = {("enable-prefix-caching", "false"), ("no-enable-prefix-caching", "true")}
VARIANT_NAME = value_kinds.matching(
    r"[^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f][^\x00-\x1f\x7f]*", "a text of one line", numbers=True
)
DEV_MODE = {"VLLM_SERVER_DEV_MODE": "1"}
"""Lets an instance empty its caches over HTTP; set while a variant of it is measured."""


def problems(asked: Mapping[str, Any]) -> list[str]:
    """All that is wrong with the variables of the role, each with a fix."""
    found = [
        f"evaluate_{name} is {asked[name]!r}. Fix: give a whole number of at least {least}."
        for name, least in LEAST.items()
        if not _is_whole(asked[name]) or int(asked[name]) < least
    ]
    found += _documents_problems(asked["documents"])
    if asked["start"] not in STARTS:
        found.append(f"evaluate_start is {asked['start']!r}. Fix: give one of {', '.join(STARTS)}.")
    if not asked["instances"]:
        return [*found, f"{asked['host']} has no instance. Fix: describe one in vllm_instances."]
    wrong = vllm_instance.read(asked["instances"], asked["options"])[1]
    if wrong:
        return [*found, *(f"{text}. Fix: correct it." for text in wrong)]
    names = [str(each.get("name")) for each in asked["instances"]]
    if asked["instance"] and asked["instance"] not in names:
        found.append(
            f"evaluate_instance is {asked['instance']!r}, and {asked['host']} has {', '.join(names)}. Fix: name one of them."
        )
    found += _variant_problems(asked["variants"])
    return found or _caching_problems(asked)


def _caching_problems(asked: Mapping[str, Any]) -> list[str]:
    """Variants, or the instance as it is, whose own cache keeps nothing."""
    base = instance_of(asked)
    fix = "prefix caching is off, so that the instance's own cache keeps nothing. Fix: remove it from the options."
    return [
        f"{each['name']}: {name} is {value!r}: {fix}"
        for each in asked["variants"] or [{"name": f"instance {base.get('name')}"}]
        for instance in _read(asked, changed(base, each.get("instance") or {}))
        for name, value in instance.options.items()
        if (name, str(value).lower()) in CACHING_OFF
    ]


def _read(asked: Mapping[str, Any], described: Mapping[str, Any]) -> list[vllm_instance.Instance]:
    """The instance as the role vllm reads it; none when it can't, which is for that role to say."""
    return vllm_instance.read([described], asked["options"])[0]


def _documents_problems(documents: Any) -> list[str]:
    fix = "Fix: give a list of growing numbers, such as [10, 20, 30]."
    if not isinstance(documents, Sequence) or isinstance(documents, str) or not documents:
        return [f"evaluate_documents is {documents!r}. {fix}"]
    if not all(_is_whole(each) and int(each) > 0 for each in documents):
        return [f"evaluate_documents {documents!r} holds what is no number of documents. {fix}"]
    numbers = [int(each) for each in documents]
    if numbers != sorted(set(numbers)):
        return [f"evaluate_documents {documents!r} does not grow. {fix}"]
    return []


def _variant_problems(variants: Any) -> list[str]:
    fix = "Fix: write a list of dicts with name, and in instance what differs from vllm_instances."
    if not isinstance(variants, list):
        return [f"evaluate_variants is no list. {fix}"]
    found, names = [], []
    for position, each in enumerate(variants):
        where = f"evaluate_variants[{position}]"
        if not isinstance(each, Mapping) or "name" not in each:
            found.append(f"{where} has no name. {fix}")
            continue
        wrong = value_kinds.problem(f"{where}: name", each["name"], VARIANT_NAME)
        if wrong:
            found.append(f"{wrong}. {fix}")
            continue
        names.append(str(each["name"]))
        strange = sorted(set(each) - {"name", "instance"}, key=str)
        if strange:
            found.append(
                f"{where} ({each['name']}): unknown key {', '.join(map(value_kinds.key_text, strange))}. {fix}"
            )
        changes = each.get("instance") or {}
        if not isinstance(changes, Mapping):
            found.append(f"{where} ({each['name']}): instance is no dict. {fix}")
        elif set(_FIXED) & set(changes):
            fixed = ", ".join(name for name in _FIXED if name in changes)
            found.append(
                f"{where} ({each['name']}): {fixed}: a variant can't change that. Fix: remove it."
            )
    twice = sorted({name for name in names if names.count(name) > 1})
    return [*found, *(f"two variants are named {name}. Fix: rename one." for name in twice)]


def _is_whole(value: Any) -> bool:
    return not isinstance(value, bool) and bool(re.match(r"[0-9]+\Z", str(value)))


def make(asked: Mapping[str, Any], results: str) -> dict[str, Any]:
    """The variants with the steps that are left of each; `results` are those of this and earlier runs."""
    base = instance_of(asked)
    wanted = asked["variants"] or [{"name": AS_IT_IS, "instance": {}}]
    documents = [int(each) for each in asked["documents"]]
    measured = evaluate_results.parse(results)
    variants: list[dict[str, Any]] = []
    for each in wanted:
        changes = each.get("instance") or {}
        instance = changed(base, changes)
        if asked["variants"] and asked["start"] != "warmup":
            instance = changed(instance, {"env": DEV_MODE})
        key = _key(asked, instance)
        done = evaluate_results.of_key(measured, key)
        variants.append(
            {
                "name": str(each["name"]),
                "key": key,
                "instance": instance,
                "instances": [
                    instance if other["name"] == base["name"] else other
                    for other in asked["instances"]
                ],
                "pool": instance.get("pool", True) is not False,
                "left": [number for number in documents if number not in done],
            }
        )
    left = [number for variant in variants for number in variant["left"]]
    # An instance as it is most often runs without the way to empty its caches.
    is_warmed = asked["start"] == "warmup" or (asked["start"] == "auto" and not asked["variants"])
    passes = int(asked["rounds"]) + (int(asked["warmups"]) if is_warmed else 0)
    return {
        "instance": base,
        "variants": variants,
        "documents": documents,
        "steps": len(documents) * len(variants),
        "steps_left": len(left),
        "passes": passes,
        "requests_left": sum(left) * passes,
        "starts_left": sum(1 for each in variants if each["left"]) if asked["variants"] else 0,
    }


def instance_of(asked: Mapping[str, Any]) -> dict[str, Any]:
    """The instance that is evaluated: the one that is named, otherwise the first."""
    named = [
        each for each in asked["instances"] if asked["instance"] in ("", str(each.get("name")))
    ]
    return dict(named[0])


def changed(instance: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """An instance with what a variant changes; of dicts, such as options, only the keys that are given."""
    made = {**instance, **changes}
    for name in _MERGED:
        if isinstance(instance.get(name), Mapping) and isinstance(changes.get(name), Mapping):
            made[name] = {**instance[name], **changes[name]}
    return made


def _key(asked: Mapping[str, Any], instance: Mapping[str, Any]) -> str:
    """A digest of all that decides what a step measures; its results count only for the same."""
    parts = [
        instance,
        [str(asked[name]) for name in ("rounds", "document_tokens", "output_tokens")],
        [str(asked[name]) for name in ("concurrency", "start", "warmups")],
        asked["release"],
        asked["options"],
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:16]


def segment_bytes(variant: Mapping[str, Any], default: str) -> int:
    """What each rank lends to the pool; nothing without a pool."""
    if not variant["pool"]:
        return 0
    return sizes.to_bytes(variant["instance"].get("segment_size", default))


def estimate(plan: Mapping[str, Any], request_seconds: float) -> dict[str, Any]:
    """What is left at most, when no request finds anything in a cache."""
    seconds = plan["requests_left"] * request_seconds
    text = (
        f"{plan['steps_left']} of {plan['steps']} steps left: {plan['requests_left']} requests of at most "
        f"{request_seconds:.1f} s, {duration(seconds)} in all"
    )
    if plan["starts_left"]:
        text += f", and {plan['starts_left'] + 1} restarts of the instance"
    return {"seconds": round(seconds), "hours": round(seconds / 3600, 2), "text": text}


def probe_problems(
    plan: Mapping[str, Any], probe: Mapping[str, Any], document_tokens: int, max_hours: float
) -> list[str]:
    """Why a measurement would not mean what it is asked for, or would take too long, by what one document has shown."""
    found = []
    counted = probe["document_tokens"]
    if counted is not None and abs(counted / document_tokens - 1) > LENGTH_TOLERANCE:
        found.append(
            f"a document has {counted} tokens, and {document_tokens} were asked for: the tokenizer of the model folder is "
            "not the instance's, or the context is too short. Fix: correct the model folder, or evaluate_document_tokens."
        )
    told = estimate(plan, probe["request_seconds"])
    if told["hours"] > max_hours:
        found.append(
            f"{told['text']}: more than the {max_hours:g} hours of evaluate_max_hours. "
            "Fix: take fewer or smaller evaluate_documents, or raise evaluate_max_hours."
        )
    return found


def duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    if minutes < 1:
        return f"{round(seconds)} s"
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
