"""What a survey of single operators found: rows, their order, and the table in docs/benchmarks.md."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from pathlib import Path

from harness.document import read_table
from harness.table import geometric_mean

NAME = "operators"  # of the table


@dataclass
class Row:
    """One operator with fixed or symbolic dimensions. `ratio`: onnxruntime's time over Sluice's."""

    name: str
    sizes: str
    sluice_us: float
    peer_us: float
    ratio: float
    error: float
    refusal: str = ""

    def line(self) -> str:
        if self.refusal:
            return f"{self.name:<58} {self.sizes:<8} {self.refusal}"
        return (f"{self.name:<58} {self.sizes:<8} {self.sluice_us:>10.1f} {self.peer_us:>10.1f} {self.ratio:>7.2f}"
                f" {self.error:>8.0e}")


HEADER = f"{'operator':<58} {'sizes':<8} {'Sluice us':>10} {'peer us':>10} {'ratio':>7} {'error':>8}"


def summary(rows: list[Row]) -> str:
    ratios = [row.ratio for row in rows if not row.refusal]
    below = {limit: sum(ratio < limit for ratio in ratios) for limit in (0.5, 0.7, 0.9)}
    return (f"{len(ratios)} rows, geometric mean {geometric_mean(ratios):.2f}; below 0.9: {below[0.9]},"
            f" below 0.7: {below[0.7]}, below 0.5: {below[0.5]}; {len(rows) - len(ratios)} not compared")


def as_dictionaries(rows: list[Row]) -> list[dict[str, object]]:
    return [asdict(row) for row in rows]


def markdown(rows: list[Row]) -> str:
    """Both sizes of an operator in one line, in the order of the lower ratio."""
    by_name: dict[str, dict[str, Row]] = {}
    for row in rows:
        by_name.setdefault(row.name, {})[row.sizes] = row

    def least(pair: dict[str, Row]) -> float:
        return min((row.ratio for row in pair.values() if not row.refusal), default=float("inf"))

    def cells(pair: dict[str, Row], sizes: str) -> str:
        row = pair.get(sizes)
        if row is None or row.refusal:
            return "– | –"
        return f"{row.sluice_us:.0f} | {row.ratio:.2f}x"

    lines = ["| operator | fixed: us | vs onnxruntime | symbolic: us | vs onnxruntime |", "|---|--:|--:|--:|--:|"]
    lines += [f"| {name} | {cells(pair, 'fixed')} | {cells(pair, 'symbolic')} |"
              for name, pair in sorted(by_name.items(), key=lambda item: least(item[1]))]
    return "\n".join([summary(rows) + ".", "", *lines]) + "\n"


def read_from(document: Path) -> list[Row]:
    """The rows of the table. What it does not hold is 0."""
    rows = []
    for line in read_table(document, NAME).splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) != 5 or not cells[2].endswith(("x", "–")):
            continue
        for sizes, time, ratio in (("fixed", *cells[1:3]), ("symbolic", *cells[3:5])):
            row = Row(cells[0], sizes, 0, 0, 0, 0)
            if time == "–":
                row.refusal = "no figures"
            else:
                row.sluice_us, row.ratio = float(time), float(ratio.removesuffix("x"))
            rows.append(row)
    return rows


def merged(old: list[Row], new: list[Row]) -> list[Row]:
    """`old`, of which the rows that `new` has are replaced."""
    rows = {(row.name, row.sizes): row for row in old}
    rows.update({(row.name, row.sizes): row for row in new})
    return list(rows.values())


def slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")
