"""Figures as SVG: for each contender the bytes it moves a second, by size, under the speed of a copy."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator, Sequence

from oneop.benchmark.result import FORWARD, BenchResult, Row

COLORS = ("#3079cc", "#c8524f", "#5f8420", "#8c6db4", "#b86e10", "#2a8787")  # at least 3:1 on white and on black
LIMIT = "#808080"
WIDTH, LEFT, TOP, RIGHT = 480, 82, 26, 20
BOTTOM = 300  # of the axes; the legend is below
CHARACTER, LINE = 7.5, 20  # of the letters, in pixels


def svg(result: BenchResult, direction: str = FORWARD) -> str:
    """Return the plot of one direction, whole and self-contained."""
    return "\n".join(_lines(result, direction))


class _Scale:
    """Where figures are on the page, both axes logarithmic."""

    def __init__(self, rows: Sequence[Row]) -> None:
        xs = [math.log10(max(row.elements, 1)) for row in rows]
        ys = [math.log10(row.bandwidth) for row in rows]
        self.left, self.right = min(xs) - 0.3, max(xs) + 0.3
        self.low, self.high = math.floor(min(ys)), math.ceil(max(ys) + 1e-9)

    def x(self, elements: int) -> float:
        part = (math.log10(max(elements, 1)) - self.left) / (self.right - self.left)
        return LEFT + part * (WIDTH - LEFT - RIGHT)

    def y(self, power: float) -> float:
        return BOTTOM - (power - self.low) / max(self.high - self.low, 1) * (BOTTOM - TOP)


def _lines(result: BenchResult, direction: str) -> Iterator[str]:
    rows = [row for row in result.rows if row.direction == direction]
    names = list(dict.fromkeys(row.what for row in rows))
    scale = _Scale(rows)
    height = BOTTOM + 50 + LINE * len(names)
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="roofline" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" role="img" font-family="ui-monospace, monospace" font-size="12.5">'
    )
    title = f"{result.op}, {direction}: bytes moved a second ({result.dtype}, {result.device})"
    yield f"<title>{html.escape(title)}</title>"
    yield from _axes(result, scale)
    for number, name in enumerate(names):
        color, dash = (LIMIT, ' stroke-dasharray="5 4"') if name == "copy" else (COLORS[number % len(COLORS)], "")
        points = [(scale.x(row.elements), scale.y(math.log10(row.bandwidth))) for row in rows if row.what == name]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        yield f'<polyline points="{line}" fill="none" stroke="{color}" stroke-width="2"{dash}/>'
        for x, y in points:
            yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{color}"/>'
        y = BOTTOM + 50 + LINE * number
        shown = "copy_ of as many bytes: the limit" if name == "copy" else name
        yield f'<line x1="{LEFT}" y1="{y}" x2="{LEFT + 24}" y2="{y}" stroke="{color}" stroke-width="4"{dash}/>'
        yield f'<text x="{LEFT + 32}" y="{y + 4}" fill="currentColor">{html.escape(_short(shown))}</text>'
    yield "</svg>"


def _axes(result: BenchResult, scale: _Scale) -> Iterator[str]:
    """Yield both axes with their labels; numbers that would touch the one before are left out."""
    yield '<text x="4" y="12" fill="currentColor">bytes per second</text>'
    for power in range(int(scale.low), int(scale.high) + 1):
        y = scale.y(power)
        yield f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="{LIMIT}" opacity=".4"/>'
        yield f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end" fill="currentColor">{_rate(power)}</text>'
    end = 0.0
    for elements in result.sizes():
        label = f"{elements:,}"
        half = len(label) * CHARACTER / 2
        x = min(scale.x(elements), WIDTH - half)
        if x - half < end:
            continue
        end = x + half + CHARACTER
        yield f'<text x="{x:.1f}" y="{BOTTOM + 16}" text-anchor="middle" fill="currentColor">{label}</text>'
    middle = (LEFT + WIDTH - RIGHT) / 2
    yield f'<text x="{middle}" y="{BOTTOM + 33}" text-anchor="middle" fill="currentColor">elements</text>'


def _short(name: str) -> str:
    """Return a name that fits into the legend; of a long one the end, where file and line are."""
    most = int((WIDTH - LEFT - 32) / CHARACTER) - 1
    return name if len(name) <= most else f"...{name[3 - most :]}"


def _rate(power: int) -> str:
    for size, unit in ((12, "TB/s"), (9, "GB/s"), (6, "MB/s"), (3, "kB/s")):
        if power >= size:
            return f"{10 ** (power - size)} {unit}"
    return f"{10**power} B/s"
