"""What a comparison found, as rows, as text and as Markdown."""

from __future__ import annotations

import math
from dataclasses import dataclass

PEERS = ("onnxruntime", "openvino")
ENGINES = ("sluice", *PEERS)
CLOSE = 1.03  # how much slower than the better peer a network may be


@dataclass
class Row:
    """One network at one number of threads, and in Sluice with so many levels of Strassen's method.
    `ratio` is Sluice's time over a peer's, `ratio_p99` that of the slowest hundredth; peers that do
    not read the network are missing."""

    network: str
    threads: int
    strassen: int
    median_us: dict[str, float]
    p99_us: dict[str, float]
    ratio: dict[str, float]
    ratio_p99: dict[str, float]
    error: float
    resident_bytes: dict[str, float]  # of each engine's process, the peers' Python included

    def label(self) -> str:
        return f"{self.network} (Strassen {self.strassen})" if self.strassen else self.network

    def against_better(self) -> float:
        return max(self.ratio.values())


HEADER = (
    f"{'network':<30} {'threads':>7} {'sluice':>10} {'onnxruntime':>12} {'openvino':>10}"
    f" {'vs ort':>7} {'vs ov':>7} {'error':>9}"
)
HEADER_P99 = f" {'p99 ort':>8} {'p99 ov':>8}"


def format_row(row: Row, with_p99: bool) -> str:
    nan = float("nan")  # of a peer that does not read the network
    sluice, ort, openvino = (f"{row.median_us.get(engine, nan) / 1e3:.3f}" for engine in ENGINES)
    line = (
        f"{row.label():<30} {row.threads:>7} {sluice:>10} {ort:>12} {openvino:>10}"
        f" {row.ratio['onnxruntime']:>7.2f} {row.ratio.get('openvino', nan):>7.2f}"
        f" {row.error:>9.1e}"
    )
    if with_p99:
        line += "".join(f" {row.ratio_p99.get(peer, nan):>8.2f}" for peer in PEERS)
    return line


def format_memory(row: Row) -> str:
    sizes = (f"{engine} {size / 1e6:.0f} MB" for engine, size in row.resident_bytes.items())
    return f"{'':<30} memory of the process: {', '.join(sizes)}"


def geometric_mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def format_summary(rows: list[Row]) -> str:
    """Geometric means over the networks, a line per level of Strassen's method, which networks
    without products for it do without, and number of threads; and what is too slow."""
    lines = []
    for level, threads in sorted({(row.strassen, row.threads) for row in rows}):
        mine = list({row.network: row for row in rows  # the later row of a network counts
                     if row.threads == threads and row.strassen in (0, level)}.values())
        parts = []
        for peer in PEERS:
            ratios = [row.ratio[peer] for row in mine if peer in row.ratio]
            if ratios:
                parts.append(f"{1 / geometric_mean(ratios):.2f}x as fast as {peer}"
                             f" ({len(ratios)} network{'s' * (len(ratios) > 1)})")
        name = "1 thread" if threads == 1 else f"{threads} threads"
        name += f", Strassen {level} where it applies" if level else ""
        lines.append(f"{name}, geometric mean: {', '.join(parts)}")
    slow = [row for row in rows if row.against_better() > CLOSE]
    for row in slow:
        lines.append(f"{row.label()}, {row.threads} threads: {row.against_better():.2f} times the"
                     " better peer's time")
    if not slow:
        lines.append("no network takes more than 1.03 times the better peer's time")
    return "\n".join(lines)


def format_groups(rows: list[Row], groups: dict[str, list[str]]) -> str:
    """Speed relative to onnxruntime: geometric means of all networks and of each group, and the lowest."""
    lines = []
    for threads in sorted({row.threads for row in rows}):
        speeds = {row.network: 1 / row.ratio["onnxruntime"] for row in rows if row.threads == threads}
        means = [f"all {geometric_mean(list(speeds.values())):.2f}x"]
        for group, names in groups.items():
            chosen = [speed for name, speed in speeds.items() if name in names]
            if chosen:
                means.append(f"{group} {geometric_mean(chosen):.2f}x")
        lowest = ", ".join(f"{name} {speeds[name]:.2f}x" for name in sorted(speeds, key=speeds.get)[:5])
        lines.append(f"{threads} thread{'s' * (threads > 1)} vs onnxruntime: {', '.join(means)}; lowest {lowest}")
    return "\n".join(lines)


def format_markdown(rows: list[Row]) -> str:
    lines = [
        "| network | threads | Sluice ms | onnxruntime ms | openvino ms | vs onnxruntime"
        " | vs openvino | error |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for row in rows:
        times = (f"{row.median_us[engine] / 1e3:.3f}" if engine in row.median_us else "–"
                 for engine in ENGINES)
        ratios = (f"{1 / row.ratio[peer]:.2f}x" if peer in row.ratio else "–" for peer in PEERS)
        cells = [row.label(), str(row.threads), *times, *ratios, f"{row.error:.0e}"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
