# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

from ansible_collections.kvcache.ascend.plugins.module_utils import vllm_alternatives
from test_vllm_plan import settings

HELP = "options:\n  --dtype DTYPE\n  --max-model-len LENGTH\n"
MODEL = "/srv/models/qwen"


def alternative(name: str, **changes: Any) -> dict[str, Any]:
    instance = {"name": "a", "model": MODEL, "devices": [0, 1], **changes}
    return {"name": name, "instances": [{"options": {"tensor-parallel-size": 2}, **instance}]}


def told(*alternatives: dict[str, Any], absent: tuple[str, ...] = (), text: str = "") -> list[str]:
    planned = vllm_alternatives.plans(alternatives, settings())
    return vllm_alternatives.problems(planned, "npu", absent, text)


def test_what_can_run_has_no_problem() -> None:
    assert told(alternative("as it is"), alternative("other", devices=[2, 3])) == []


def test_models_and_devices_are_looked_for_once() -> None:
    planned = vllm_alternatives.plans(
        [alternative("x"), alternative("y", devices=[1, 2])], settings()
    )
    instances = [each for item in planned for each in item["plan"]["instances"]]
    nodes = [f"/dev/davinci{number}" for number in (0, 1, 2)]
    assert vllm_alternatives.paths(instances, "npu") == [MODEL, *nodes]
    assert vllm_alternatives.paths(instances, "cpu") == [MODEL]


def test_all_that_is_wrong_is_told_with_the_name_of_its_alternative() -> None:
    found = told(
        alternative("odd", segment_size="many"),
        alternative("gone", model="/srv/models/gone"),
        alternative("fast", options={"tensor-parallel-size": 2, "max-model-length": 512}),
        alternative("more", devices=[0, 9]),
        absent=("/srv/models/gone", "/dev/davinci9"),
        text=HELP + "--tensor-parallel-size SIZE --" + " --".join(KNOWN),
    )
    assert [text.split(": ")[0] for text in found] == ["odd", "gone", "fast", "more"]
    assert "segment_size" in found[0]
    assert (
        found[1] == "gone: there is no model at /srv/models/gone. Fix: bring it, or correct model."
    )
    assert "vLLM knows no --max-model-length. Did you mean --max-model-len?" in found[2]
    assert "there is no NPU 9 (/dev/davinci9). Fix: correct devices" in found[3]


# What the collection itself writes for an instance.
KNOWN = sorted(
    vllm_alternatives.plans([alternative("x")], settings())[0]["plan"]["instances"][0]["vllm_yaml"]
)
