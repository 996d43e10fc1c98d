"""Draws the highest rates of several systems as SVG: a panel per trace, two bars per system, for requests one by one and joined."""

from __future__ import annotations

from pathlib import Path

from harness.svg import FONT, SMALL, box, text, write

LABELS, BARS, NUMBERS, MARGIN = 178, 390, 62, 10
BAR, PAIR, HEAD, GAP, AXIS = 13, 36, 26, 14, 46
OURS, THEIRS = ("#2a78b5", "#9cc7e6"), ("#6b7280", "#c3c8cf")  # one by one, joined
STEPS = (1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000)

Rates = dict[str, dict[str, tuple[float, float]]]


class Axis:
    """Requests per second from left to right, from 0, the same in all panels."""

    def __init__(self, most: float) -> None:
        self.most = most
        self.step = next((step for step in STEPS if most / step <= 4), STEPS[-1])

    def x(self, rate: float) -> float:
        return LABELS + BARS * rate / self.most

    def ticks(self) -> range:
        return range(0, int(self.most) + 1, self.step)


def panel(axis: Axis, top: float, trace: str, systems: dict[str, tuple[float, float]]) -> list[str]:
    bottom = top + HEAD + PAIR * len(systems)
    parts = [text(MARGIN, top + FONT, f"{trace} trace", 'font-weight="bold"')]
    parts += [f'<line x1="{axis.x(tick):.1f}" y1="{top + HEAD - 4:.1f}" x2="{axis.x(tick):.1f}" y2="{bottom - 4:.1f}" '
              'stroke="#ddd"/>' for tick in axis.ticks()]
    for row, (name, rates) in enumerate(systems.items()):
        y = top + HEAD + PAIR * row
        parts.append(text(LABELS - 8, y + BAR + 4, name, 'text-anchor="end"'))
        for bar, rate in enumerate(rates):
            place = y + bar * (BAR + 1)
            parts += [box(LABELS, place, axis.x(rate) - LABELS, BAR, (OURS if row == 0 else THEIRS)[bar]),
                      text(axis.x(rate) + 4, place + BAR - 2, f"{rate:,.0f}", f'font-size="{SMALL}"')]
    return parts


def legend(y: float) -> list[str]:
    parts: list[str] = []
    for bar, (x, words) in enumerate(((LABELS, "one by one"), (LABELS + 130, "joined, up to 16 a run"))):
        parts += [box(x, y - BAR + 2, BAR, BAR, OURS[bar]), box(x + BAR, y - BAR + 2, BAR, BAR, THEIRS[bar]),
                  text(x + 2 * BAR + 6, y, words)]
    return parts


def draw(rates: Rates, path: Path) -> None:
    """`rates`: by trace and system, requests per second one by one and joined, 0 for a system that met no deadline. Every
    trace has the same systems; the first one is ours."""
    axis = Axis(max(max(pair) for systems in rates.values() for pair in systems.values()))
    parts: list[str] = []
    top = float(MARGIN)
    for trace, systems in rates.items():
        parts += panel(axis, top, trace, systems)
        top += HEAD + PAIR * len(systems) + GAP
    parts += [text(axis.x(tick), top, f"{tick:,}", f'text-anchor="middle" font-size="{SMALL}"') for tick in axis.ticks()]
    parts += [text(LABELS + BARS / 2, top + 20, "requests per second", 'text-anchor="middle"'), *legend(top + AXIS)]
    write(path, LABELS + BARS + NUMBERS, top + AXIS + MARGIN, parts)
