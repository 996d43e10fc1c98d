"""Draws 99th percentiles over the rate of requests, a panel per trace, as SVG: panels share the axis of rates."""

from __future__ import annotations

import math
from operator import itemgetter
from pathlib import Path

# Two thirds of this size, which a phone's width leaves, keep the text readable.
WIDTH, HEIGHT, LEFT, RIGHT, TOP, GAP = 538, 190, 88, 24, 36, 34
FONT, ROW, COLUMN = 14, 21, 298
COLOURS = ["#2a78b5", "#7cb5dd", "#3b8a57", "#d1495b", "#8a5fb0", "#7a7a7a", "#e0902f", "#b5a642"]
LOW_MS, HIGH_MS = 0.5, 2000


def style_of(index: int) -> str:
    """The style of the system with this number: colours come again as broken lines."""
    dashes = ' stroke-dasharray="5 3"' if index >= len(COLOURS) else ""
    return f'stroke="{COLOURS[index % len(COLOURS)]}" stroke-width="2"{dashes}'


def line(x1: float, y1: float, x2: float, y2: float, style: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" {style}/>'


def text(x: float, y: float, words: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{words}</text>'


class Axes:
    """Logarithmic axes: rates from left to right, the same in all panels, milliseconds upwards from a panel's `top`."""

    def __init__(self, rates: list[float]) -> None:
        self.low, self.high = min(rates), max(rates)

    def x(self, rate: float) -> float:
        return LEFT + WIDTH * math.log(rate / self.low) / max(math.log(self.high / self.low), 1e-9)

    def y(self, top: float, milliseconds: float) -> float:
        value = min(max(milliseconds, LOW_MS), HIGH_MS)
        return top + HEIGHT * (1 - math.log(value / LOW_MS) / math.log(HIGH_MS / LOW_MS))

    def decades(self) -> range:
        return range(math.ceil(math.log10(self.low)), math.floor(math.log10(self.high)) + 1)


def panel(axes: Axes, top: float, pattern: str, systems: dict, deadline_ms: float) -> list[str]:
    middle = top + HEIGHT / 2
    parts = [text(LEFT, top - 8, f"{pattern} trace", 'font-weight="bold"'),
             text(0, 0, "99th percentile", f'text-anchor="middle" transform="translate(18 {middle:.1f}) rotate(-90)"')]
    for tick in (1, 10, 100, 1000):
        y = axes.y(top, tick)
        parts += [line(LEFT, y, LEFT + WIDTH, y, 'stroke="#ddd"'),
                  text(LEFT - 6, y + 5, f"{tick / 1000:g} s" if tick >= 1000 else f"{tick} ms", 'text-anchor="end"')]
    parts += [line(axes.x(10**exponent), top, axes.x(10**exponent), top + HEIGHT, 'stroke="#ddd"')
              for exponent in axes.decades()]
    y = axes.y(top, deadline_ms)
    parts += [line(LEFT, y, LEFT + WIDTH, y, 'stroke="#000" stroke-dasharray="4 3"'),
              text(LEFT + 4, y - 5, f"deadline: {deadline_ms:g} ms")]
    for index, points in enumerate(systems.values()):
        places = " ".join(f"{axes.x(p['rate']):.1f},{axes.y(top, p['p99_ms']):.1f}"
                          for p in sorted(points, key=itemgetter("rate")))
        parts.append(f'<polyline points="{places}" fill="none" {style_of(index)}/>')
    return parts


def legend(y: float, names: list[str]) -> list[str]:
    parts: list[str] = []
    rows = (len(names) + 1) // 2
    for index, name in enumerate(names):
        x, row = 14 + COLUMN * (index // rows), y + ROW * (index % rows)
        parts += [line(x, row - 5, x + 22, row - 5, style_of(index)), text(x + 28, row, name)]
    return parts


def draw(curves: dict, deadline_ms: float, path: Path) -> None:
    """`curves`: by trace and system, points with "rate" and "p99_ms". Leaves out systems that missed every deadline at
    the lowest rate: one point makes no line."""
    lines = [name for name in next(iter(curves.values())) if any(len(systems[name]) > 1 for systems in curves.values())]
    curves = {pattern: {name: systems[name] for name in lines} for pattern, systems in curves.items()}
    axes = Axes([point["rate"] for systems in curves.values() for points in systems.values() for point in points])
    parts: list[str] = []
    bottom = 0.0
    for number, (pattern, systems) in enumerate(curves.items()):
        top = TOP + number * (HEIGHT + GAP)
        parts += panel(axes, top, pattern, systems, deadline_ms)
        bottom = top + HEIGHT
    parts += [text(axes.x(10**exponent), bottom + 20, f"{10**exponent:,}", 'text-anchor="middle"')
              for exponent in axes.decades()]
    parts.append(text(LEFT + WIDTH / 2, bottom + 42, "requests per second", 'text-anchor="middle"'))
    parts += legend(bottom + 76, lines)
    width, height = LEFT + WIDTH + RIGHT, bottom + 76 + ROW * ((len(lines) + 1) // 2)
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height:.0f}" '
            f'viewBox="0 0 {width} {height:.0f}" font-family="system-ui, \'DejaVu Sans\', sans-serif" font-size="{FONT}">')
    path.write_text("\n".join([head, '<rect width="100%" height="100%" fill="white" rx="8"/>', *parts, "</svg>\n"]))
