"""Draws requests per second and 99th percentiles of several servers as SVG: a panel per network, a group of bars per load."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness.svg import FONT, SMALL, box, text, write

LABELS, BARS, NUMBERS, MARGIN = 124, 176, 62, 10
BAR, GAP, HEAD = 13, 8, 26
COLOURS = ("#2a78b5", "#6b7280", "#c3c8cf")  # ours is the first
#: Key of a server's figures, what the column shows, the value as a reader wants it.
COLUMNS = (("inferences_per_second", "requests per second", lambda value: f"{value:,.0f}"),
           ("p99_us", "99th percentile, ms", lambda value: f"{value / 1000:,.2f}"))

Rows = list[dict[str, Any]]


def left_of(column: int) -> float:
    return LABELS + column * (BARS + NUMBERS)


def group(top: float, row: dict[str, Any], names: list[str]) -> list[str]:
    """The bars of a load, longest where the figure is the largest of the group."""
    servers = row["servers"]
    height = BAR * len(servers)
    parts = [text(LABELS - 8, top + height / 2 + 5, f"{row['protocol']}, {row['concurrency']}", 'text-anchor="end"')]
    for column, (key, _, words) in enumerate(COLUMNS):
        most = max(figures[key] for figures in servers.values())
        for bar, (name, figures) in enumerate(servers.items()):
            width = BARS * figures[key] / most if most > 0 else 0
            y, left = top + bar * BAR, left_of(column)
            parts += [box(left, y, width, BAR - 1, COLOURS[names.index(name)]),
                      text(left + width + 4, y + BAR - 3, words(figures[key]), f'font-size="{SMALL}"')]
    return parts


def legend(y: float, names: list[str]) -> list[str]:
    parts: list[str] = []
    for place, name in enumerate(names):
        x = LABELS + 150 * place
        parts += [box(x, y - BAR + 2, BAR, BAR, COLOURS[place]), text(x + BAR + 6, y, name)]
    return parts


def draw(rows: Rows, path: Path) -> None:
    """`rows`: as bench/serving.py stores them. The first row has all servers, at most three; the first of them is ours."""
    names = list(rows[0]["servers"])
    parts, top = legend(MARGIN + FONT, names), float(MARGIN + FONT + GAP)
    for network in dict.fromkeys(row["network"] for row in rows):
        titles = [text(left_of(column), top + FONT, title, f'font-size="{SMALL}" fill="#444"')
                  for column, (_, title, _) in enumerate(COLUMNS)]
        parts += [text(MARGIN, top + FONT, network, 'font-weight="bold"'), *titles]
        top += HEAD
        for row in (row for row in rows if row["network"] == network):
            parts += group(top, row, names)
            top += BAR * len(row["servers"]) + GAP
    parts.append(text(MARGIN, top + FONT, "protocol, clients; each group of bars has its own scale", f'font-size="{SMALL}" fill="#444"'))
    write(path, left_of(len(COLUMNS)) + MARGIN, top + FONT + MARGIN, parts)
