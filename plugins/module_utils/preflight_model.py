# SPDX-License-Identifier: Apache-2.0
"""What a check of the preflight gets, and what it gives back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Union

from ansible_collections.kvcache.ascend.plugins.module_utils import (
    finding,
    sizes,
    vllm_instance,
)
from ansible_collections.kvcache.ascend.plugins.module_utils.mooncake_master_place import (
    INSTANCE_GROUP,
    MASTER_GROUP,
    STORE_GROUP,
)

Finding = Dict[str, str]


@dataclass
class Host:
    """A host of the run: what its variables say, and what was seen of it."""

    name: str
    groups: list[str] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)  # variables, as the roles will read them
    broken: dict[str, str] = field(default_factory=dict)  # variables that can't be read, and why
    names: list[str] = field(
        default_factory=list
    )  # of all its variables that look like the collection's
    spec: dict[str, Any] | None = None  # the release; None when it is not known
    release_problem: str = ""
    seen: dict[str, Any] | None = None  # None: the host could not be looked at
    npu: dict[str, Any] | None = None
    trouble: str = ""  # why it could not be looked at
    npu_trouble: str = ""  # why its NPUs could not be looked at
    inventory: dict[str, list[str]] = field(default_factory=dict)  # all groups, also beyond a limit

    def get(self, name: str, default: Any = None) -> Any:
        value = self.settings.get(name)
        return default if value is None else value

    @property
    def platform(self) -> str | None:
        return self.spec["platform"] if self.spec else None

    @property
    def is_master(self) -> bool:
        return MASTER_GROUP in self.groups

    @property
    def is_store_node(self) -> bool:
        return STORE_GROUP in self.groups

    @property
    def store_bytes(self) -> int:
        """What its store node lends to the pool; 0 without one, or when its size can't be read, a finding of its own."""
        if not self.is_store_node:
            return 0
        try:
            return sizes.to_bytes(self.get("store_node_segment_size", 0))
        except sizes.SizeError:
            return 0

    @property
    def runs_instances(self) -> bool:
        return INSTANCE_GROUP in self.groups

    def _read_instances(self) -> list[vllm_instance.Instance] | None:
        """Its instances; None when they can't be read."""
        if not self.runs_instances:
            return []
        try:
            return vllm_instance.read_all(self.get("vllm_instances", []), self.get("vllm_options"))
        except vllm_instance.InstanceError:
            return None

    def instances_are_readable(self) -> bool:
        """Whether all of its instances are what they should be; without instances they are."""
        return "vllm_instances" not in self.broken and self._read_instances() is not None

    def instances(self) -> list[vllm_instance.Instance]:
        """Its instances; none when they can't be read, which is the finding of a check of its own."""
        return self._read_instances() or []


class DoesNotApply(Exception):
    """A question that makes no sense for a host; the text says why."""


HostCheck = Callable[[Host], List[Finding]]
FleetCheck = Callable[[List[Host]], List[Finding]]
Check = Union[HostCheck, FleetCheck]


def error(check: str, host: str, observed: str, expected: str, fix: str) -> Finding:
    return finding.make(check, finding.ERROR, host, observed=observed, expected=expected, fix=fix)


def warning(check: str, host: str, observed: str, expected: str, fix: str) -> Finding:
    return finding.make(check, finding.WARNING, host, observed=observed, expected=expected, fix=fix)


def from_sentence(check: str, host: str, text: str, expected: str = "") -> Finding:
    """A finding out of a role's message, `<what is wrong>. Fix: <what to do>.`"""
    observed, _mark, fix = text.partition(" Fix: ")
    observed = observed.strip().rstrip(".")
    if observed.startswith(f"{host}: "):
        observed = observed[len(host) + 2 :]
    return error(check, host, observed, expected, fix.strip().rstrip(".") or "correct it")


def seen_of(host: Host) -> dict[str, Any]:
    """What was seen of a host; a host that was not looked at has no such answers."""
    if host.seen is None:
        raise DoesNotApply("it could not be looked at")
    return host.seen


def spec_of(host: Host) -> dict[str, Any]:
    if host.spec is None:
        raise DoesNotApply("its release is not known")
    return host.spec
