"""Draws 99th percentiles over the rate of requests, a panel per trace, as SVG."""

from __future__ import annotations

import math
from operator import itemgetter
from pathlib import Path

WIDTH, HEIGHT, LEFT, TOP, GAP = 300, 220, 62, 40, 40
COLOURS = ["#2a78b5", "#7cb5dd", "#3b8a57", "#d1495b", "#8a5fb0", "#7a7a7a", "#e0902f", "#b5a642"]
LOW_MS, HIGH_MS = 0.5, 2000


def style_of(index: int) -> str:
    """The style of the system with this number: colours come again as broken lines."""
    dashes = ' stroke-dasharray="5 3"' if index >= len(COLOURS) else ""
    return f'stroke="{COLOURS[index % len(COLOURS)]}" stroke-width="2"{dashes}'


def y_of(milliseconds: float) -> float:
    value = min(max(milliseconds, LOW_MS), HIGH_MS)
    share = math.log(value / LOW_MS) / math.log(HIGH_MS / LOW_MS)
    return TOP + HEIGHT * (1 - share)


def line(x1: float, y1: float, x2: float, y2: float, style: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" {style}/>'


def text(x: float, y: float, words: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{words}</text>'


def panel(left: float, pattern: str, systems: dict, deadline_ms: float) -> list[str]:
    rates = [point["rate"] for points in systems.values() for point in points]
    low, high = min(rates), max(rates)

    def x_of(rate: float) -> float:
        return left + WIDTH * math.log(rate / low) / max(math.log(high / low), 1e-9)

    parts = [text(left, TOP - 12, pattern, 'font-weight="bold"')]
    for tick in (1, 10, 100, 1000):
        parts.append(line(left, y_of(tick), left + WIDTH, y_of(tick), 'stroke="#ddd"'))
        parts.append(text(left - 6, y_of(tick) + 4, f"{tick} ms", 'text-anchor="end"'))
    for exponent in range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1):
        x = x_of(10**exponent)
        parts.append(line(x, TOP, x, TOP + HEIGHT, 'stroke="#ddd"'))
        parts.append(text(x, TOP + HEIGHT + 16, f"{10**exponent}/s", 'text-anchor="middle"'))
    y = y_of(deadline_ms)
    parts.append(line(left, y, left + WIDTH, y, 'stroke="#000" stroke-dasharray="4 3"'))
    for index, points in enumerate(systems.values()):
        places = " ".join(f"{x_of(p['rate']):.1f},{y_of(p['p99_ms']):.1f}" for p in sorted(points, key=itemgetter("rate")))
        parts.append(f'<polyline points="{places}" fill="none" {style_of(index)}/>')
    return parts


def draw(curves: dict, deadline_ms: float, path: Path) -> None:
    """`curves`: by trace and system, points with "rate" and "p99_ms"."""
    parts: list[str] = []
    left = float(LEFT)
    for pattern, systems in curves.items():
        parts += panel(left, pattern, systems, deadline_ms)
        left += WIDTH + GAP + LEFT / 2
    y = TOP + HEIGHT + 44
    for index, name in enumerate(next(iter(curves.values()))):
        x, row = LEFT + 330 * (index % 3), y + 18 * (index // 3)
        parts.append(line(x, row - 4, x + 20, row - 4, style_of(index)))
        parts.append(text(x + 26, row, name))
    rows = (len(next(iter(curves.values()))) + 2) // 3
    size = f'width="{left:.0f}" height="{y + 18 * rows + 14}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">'
    path.write_text("\n".join([head, '<rect width="100%" height="100%" fill="white"/>', *parts,
                               "</svg>\n"]))  # fmt: skip
