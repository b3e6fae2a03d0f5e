# SPDX-License-Identifier: Apache-2.0
"""A line chart as SVG, for a page that opens without a network: TTFT over the number of documents."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from typing import Sequence

WIDTH, HEIGHT = 900, 430
LEFT, RIGHT, TOP, BOTTOM = 70, 20, 16, 52
NEAR = 1.5
"""A planned knee is drawn up to so many times the most documents that were measured."""
COLOURS = ("#1f77b4", "#d9480f", "#2b8a3e", "#862e9c", "#c2255c", "#5f3dc4", "#0b7285", "#846200")


@dataclass(frozen=True)
class Line:
    """One variant: its points, and the number of documents after which its knee was planned."""

    name: str
    points: Sequence[tuple[float, float]]
    planned: int | None = None
    is_reference: bool = False


def step_of(span: float, parts: int = 6) -> float:
    """A round distance between ticks: 1, 2 or 5 times a power of ten."""
    raw = span / parts
    power = 10 ** math.floor(math.log10(raw))
    return float(next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw))


def ticks(most: float) -> list[float]:
    step = step_of(most)
    return [number * step for number in range(math.ceil(most / step - 1e-9) + 1)]


def number_text(value: float) -> str:
    return f"{value:.10g}"


def draw(lines: Sequence[Line]) -> str:
    """The chart with its axes, a dashed mark where each knee was planned, and its legend below."""
    points = [point for line in lines for point in line.points]
    measured = max(x for x, _y in points)
    planned = [line.planned for line in lines if line.planned is not None]
    # A knee that lies far beyond what was measured would leave the lines no room; the legend tells it.
    across = ticks(max([measured, *(each for each in planned if each <= NEAR * measured)]))
    up = ticks(max(y for _x, y in points))

    def place(x: float, y: float) -> tuple[float, float]:
        inner_width, inner_height = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
        return (
            round(LEFT + x / across[-1] * inner_width, 1),
            round(HEIGHT - BOTTOM - y / up[-1] * inner_height, 1),
        )

    drawn = [*_axes(across, up, place)]
    for index, line in enumerate(lines):
        drawn += _line(line, COLOURS[index % len(COLOURS)], place, index)
        if line.planned is not None and line.planned <= across[-1]:
            drawn.append(_mark(line, COLOURS[index % len(COLOURS)], place, index))
    rows = math.ceil(len(lines) / 2)
    drawn += _legend(lines)
    height = HEIGHT + 22 * rows + 8
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="Mean TTFT over the number of documents">{"".join(drawn)}</svg>'
    )


def _axes(across, up, place) -> list[str]:  # type: ignore[no-untyped-def]
    drawn = []
    for value in up:
        x, y = place(0, value)
        drawn.append(f'<line class="grid" x1="{x}" y1="{y}" x2="{WIDTH - RIGHT}" y2="{y}"/>')
        drawn.append(_text(x - 8, y + 4, number_text(value), "end"))
    for value in across:
        x, y = place(value, 0)
        drawn.append(f'<line class="axis" x1="{x}" y1="{y}" x2="{x}" y2="{y + 5}"/>')
        drawn.append(_text(x, y + 20, number_text(value), "middle"))
    x, y = place(0, 0)
    drawn.append(f'<line class="axis" x1="{x}" y1="{y}" x2="{WIDTH - RIGHT}" y2="{y}"/>')
    drawn.append(f'<line class="axis" x1="{x}" y1="{y}" x2="{x}" y2="{TOP}"/>')
    drawn.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, "documents", "middle"))
    middle = (TOP + HEIGHT - BOTTOM) / 2
    drawn.append(
        f'<text x="18" y="{middle}" text-anchor="middle" transform="rotate(-90 18 {middle})">'
        "mean TTFT of the last round, s</text>"
    )
    return drawn


def _mark(line: Line, colour: str, place, index: int) -> str:  # type: ignore[no-untyped-def]
    x = place(line.planned, 0)[0] + 2 * index
    return (
        f'<line x1="{x}" y1="{TOP}" x2="{x}" y2="{HEIGHT - BOTTOM}" stroke="{colour}" stroke-width="1.5" '
        f'stroke-dasharray="6 5"><title>{html.escape(line.name)}: knee planned after {line.planned}</title></line>'
    )


def _line(line: Line, colour: str, place, index: int) -> list[str]:  # type: ignore[no-untyped-def]
    drawn = []
    places = [place(x, y) for x, y in line.points]
    path = " ".join(f"{x},{y}" for x, y in places)
    # A line that lies on an earlier one leaves its edges to be seen.
    width = 2 if line.is_reference else max(2, 6 - 2 * index)
    style = ' stroke-dasharray="2 4" opacity="0.75"' if line.is_reference else ""
    drawn.append(
        f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width}"{style}/>'
    )
    for (documents, seconds), (x, y) in zip(line.points, places):
        told = f"{line.name}: {number_text(documents)} documents, {seconds:.4f} s"
        drawn.append(
            f'<circle cx="{x}" cy="{y}" r="3.5" fill="{colour}"><title>{html.escape(told)}</title></circle>'
        )
    return drawn


def _legend(lines: Sequence[Line]) -> list[str]:
    drawn = []
    for index, line in enumerate(lines):
        colour = COLOURS[index % len(COLOURS)]
        x, y = LEFT + (index % 2) * 410, HEIGHT + 14 + 22 * (index // 2)
        dash = ' stroke-dasharray="2 4"' if line.is_reference else ""
        told = line.name
        if line.planned is not None:
            told += f" (planned knee: {line.planned})"
        drawn.append(
            f'<line x1="{x}" y1="{y - 4}" x2="{x + 26}" y2="{y - 4}" stroke="{colour}" stroke-width="3"{dash}/>'
        )
        drawn.append(_text(x + 34, y, told, "start"))
    return drawn


def _text(x: float, y: float, content: str, anchor: str) -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}">{html.escape(content)}</text>'
