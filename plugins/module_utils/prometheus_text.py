# Copyright The kvcache.ascend authors
# SPDX-License-Identifier: Apache-2.0
"""A tolerant reader of the Prometheus text format.

Format: prometheus.io, "Exposition formats", text format version 0.0.4. Comments (HELP, TYPE) are
passed over; a line that cannot be read is kept in `unparsed` and does not stop the reading.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*[ \t]*=[ \t]*"(?:[^"\\]|\\.)*"'
_LINE = re.compile(
    r"(?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*)"
    r"(?:[ \t]*\{(?P<labels>[ \t]*(?:" + _LABEL + r"[ \t]*(?:,[ \t]*|(?=\})))*)\}[ \t]*|[ \t]+)"
    r"(?P<value>[^ \t{}_]+)"
    r"(?:[ \t]+-?[0-9]+)?[ \t]*\Z"
)
_LABEL_PARTS = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)[ \t]*=[ \t]*"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(r"\\(.)")


@dataclass(frozen=True)
class Sample:
    name: str
    labels: dict[str, str]
    value: float


@dataclass(frozen=True)
class Exposition:
    samples: list[Sample] = field(default_factory=list)
    unparsed: list[str] = field(default_factory=list)

    def value(self, name: str) -> float | None:
        """The value of a metric without labels; None when it is not there."""
        for sample in self.samples:
            if sample.name == name and not sample.labels:
                return sample.value
        return None


def parse(text: str) -> Exposition:
    """All samples of a text, in its order. Never raises."""
    exposition = Exposition()
    # Not splitlines(): that also splits at characters that a label's value may hold.
    for raw_line in text.split("\n"):
        line = raw_line.strip()
        if not line or line.startswith("#"):
            continue
        sample = _parse_line(line)
        if sample is None:
            exposition.unparsed.append(line)
        else:
            exposition.samples.append(sample)
    return exposition


def _parse_line(line: str) -> Sample | None:
    found = _LINE.match(line)
    if found is None:
        return None
    try:
        value = float(found.group("value"))
    except ValueError:
        return None
    labels = {
        name: _ESCAPE.sub(_unescape, text)
        for name, text in _LABEL_PARTS.findall(found.group("labels") or "")
    }
    return Sample(found.group("name"), labels, value)


def _unescape(found: re.Match) -> str:
    return "\n" if found.group(1) == "n" else found.group(1)
