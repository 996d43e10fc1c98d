"""What a comparison of engines that generate texts found."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from .engines import Figures

READS_OF_A_ROUND = 3


@dataclass
class Row:
    """An engine with weights of one form and a number of threads. `rounds` and `reads`, the memory's GB/s, of each round."""

    engine: str
    weights: str
    threads: int
    token_gb: float  # that a token reads of weights and scales
    file_mb: float
    rounds: list[Figures] = field(default_factory=list)
    reads: list[float] = field(default_factory=list)

    def median(self, of: Callable[[Figures], float]) -> float:
        return statistics.median(map(of, self.rounds))

    def share(self) -> float:
        """Share of the memory's speed at which the engine reads weights while it writes one text."""
        return statistics.median(figures.one * self.token_gb / read for figures, read in zip(self.rounds, self.reads, strict=True))


def read_speed(threads: int, megabytes: int = 256) -> float:
    """GB/s that threads read of large arrays; the best of a few times, because others only slow it down."""
    arrays = [np.ones(megabytes << 17, np.uint64) for _ in range(threads)]
    speeds = []
    for _ in range(READS_OF_A_ROUND):
        readers = [threading.Thread(target=array.max) for array in arrays]
        began = time.perf_counter()
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()
        speeds.append(sum(array.nbytes for array in arrays) / (time.perf_counter() - began) / 1e9)
    return max(speeds)


def ratio(mine: Row, peer: Row, of: Callable[[Figures], float]) -> float:
    """How many times the peer's speed mine is, in the same round."""
    return statistics.median(of(a) / of(b) for a, b in zip(mine.rounds, peer.rounds, strict=True))


def columns(prompts: list[int]) -> dict[str, Callable[[Figures], float]]:
    of_prompts = {f"prompt {length}": (lambda figures, length=length: figures.prompts[length]) for length in prompts}
    return {**of_prompts, "one": lambda figures: figures.one, "at once": lambda figures: figures.many}


def markdown(rows: list[Row], prompts: list[int]) -> str:
    """A line per engine, weights and threads."""
    speeds = columns(prompts)
    names = ["engine", "weights", "threads", *speeds, "at once/one", "share of reading", "load, s", "peak, MB", "peak/file"]
    lines = [f"| {' | '.join(names)} |", "|---|---|" + "--:|" * (len(names) - 2)]
    for row in rows:
        cells = [f"{row.median(of):.1f}" for of in speeds.values()]
        cells += [f"{row.median(lambda figures: figures.many / figures.one):.2f}", f"{row.share():.2f}",
                  f"{row.median(lambda figures: figures.load_s):.2f}", f"{row.median(lambda figures: figures.peak_mb):.0f}",
                  f"{row.median(lambda figures: figures.peak_mb) / row.file_mb:.2f}"]
        lines.append(f"| {row.engine} | {row.weights} | {row.threads} | {' | '.join(cells)} |".replace("nan", "–"))
    return "\n".join(lines) + "\n"


def ratios(rows: list[Row], prompts: list[int]) -> str:
    """Sluice's speed relative to each peer's with as many bits and threads."""
    speeds = columns(prompts)
    lines = [f"| Sluice over | threads | {' | '.join(speeds)} |", "|---|--:|" + "--:|" * len(speeds)]
    for peer in (row for row in rows if row.engine != "Sluice"):
        mine = next((row for row in rows if row.engine == "Sluice" and row.threads == peer.threads
                     and bits(row.weights) == bits(peer.weights)), None)
        if mine is not None:
            cells = " | ".join(f"{ratio(mine, peer, of):.2f}" for of in speeds.values()).replace("nan", "–")
            lines.append(f"| {peer.engine} {peer.weights} | {peer.threads} | {cells} |")
    return "\n".join(lines) + "\n"


def bits(weights: str) -> int:
    return {"q4_0": 4, "int4": 4, "q8_0": 8, "int8": 8, "bf16": 16, "f32": 32, "fp32": 32}[weights]


def reads(rows: list[Row]) -> str:
    by_threads = {threads: [read for row in rows if row.threads == threads for read in row.reads] for threads in
                  sorted({row.threads for row in rows})}
    return "; ".join(f"{threads} thread{'s' * (threads > 1)}: {min(of):.1f} to {max(of):.1f}, median {statistics.median(of):.1f}"
                     for threads, of in by_threads.items())
