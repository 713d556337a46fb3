"""Figures as SVG: for each contender the bytes it moves a second, by size, under the speed of a copy."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator

from oneop.benchmark.result import FORWARD, BenchResult, Row

COLORS = ("#2f7ed8", "#c0504d", "#6b8e23", "#8064a2", "#e08a1e", "#3aa6a6")
LIMIT = "#888888"
WIDTH, HEIGHT, LEFT, TOP, BOTTOM, RIGHT = 680, 360, 70, 20, 50, 200


def svg(result: BenchResult, direction: str = FORWARD) -> str:
    """Return the plot of one direction, whole and self-contained."""
    return "\n".join(_lines(result, direction))


def _lines(result: BenchResult, direction: str) -> Iterator[str]:
    rows = [row for row in result.rows if row.direction == direction]
    names = list(dict.fromkeys(row.what for row in rows))
    xs = [math.log10(max(row.elements, 1)) for row in rows]
    ys = [math.log10(row.bandwidth) for row in rows]
    x_range = (min(xs) - 0.2, max(xs) + 0.2)
    y_range = (math.floor(min(ys)), math.ceil(max(ys) + 1e-9))

    def place(row: Row) -> tuple[float, float]:
        return x_at(math.log10(max(row.elements, 1))), y_at(math.log10(row.bandwidth))

    def x_at(value: float) -> float:
        return LEFT + (value - x_range[0]) / (x_range[1] - x_range[0]) * (WIDTH - LEFT - RIGHT)

    def y_at(value: float) -> float:
        return HEIGHT - BOTTOM - (value - y_range[0]) / max(y_range[1] - y_range[0], 1) * (HEIGHT - TOP - BOTTOM)

    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="roofline" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
        f'height="{HEIGHT}" role="img" font-family="ui-monospace, monospace" font-size="11">'
    )
    title = f"{result.op}, {direction}: bytes moved a second ({result.dtype}, {result.device})"
    yield f"<title>{html.escape(title)}</title>"
    for power in range(int(y_range[0]), int(y_range[1]) + 1):
        y = y_at(power)
        yield f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="{LIMIT}" opacity=".3"/>'
        yield f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end" fill="currentColor">{_rate(power)}</text>'
    for elements in result.sizes():
        x = x_at(math.log10(max(elements, 1)))
        label = f"{elements:,}"
        yield f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle" fill="currentColor">{label}</text>'
    middle = (LEFT + WIDTH - RIGHT) / 2
    yield f'<text x="{middle}" y="{HEIGHT - 12}" text-anchor="middle" fill="currentColor">elements</text>'
    for number, name in enumerate(names):
        color, dash = (LIMIT, ' stroke-dasharray="5 4"') if name == "copy" else (COLORS[number % len(COLORS)], "")
        points = [place(row) for row in rows if row.what == name]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        yield f'<polyline points="{line}" fill="none" stroke="{color}" stroke-width="2"{dash}/>'
        for x, y in points:
            yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{color}"/>'
        y = TOP + 16 * number + 8
        shown = "copy_: the limit" if name == "copy" else name
        yield f'<rect x="{WIDTH - RIGHT + 14}" y="{y - 8}" width="10" height="10" fill="{color}"/>'
        yield f'<text x="{WIDTH - RIGHT + 30}" y="{y + 1}" fill="currentColor">{html.escape(shown)}</text>'
    yield "</svg>"


def _rate(power: int) -> str:
    for size, unit in ((12, "TB/s"), (9, "GB/s"), (6, "MB/s"), (3, "kB/s")):
        if power >= size:
            return f"{10 ** (power - size)} {unit}"
    return f"{10**power} B/s"
