"""What the serving benchmarks of a build measure, as numbers by name."""

from __future__ import annotations

import re
import statistics
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import functions

Figures = dict[str, float]
#: A rate that is larger is better; any other figure is a time.
RATE = "/s"
#: Requests of all functions together. The full rate is more than two cores compute, but all of its requests are fewer
#: than a stream may have in flight.
FULL_RATE, USUAL_RATE, LOAD_SECONDS = 30_000, 2_000, 2
ZIPF_SECONDS = 10  # as rpc/zipf.cc


@dataclass(frozen=True)
class Row:
    """A figure of a program's text. Several matches are rounds, or parts of a sum."""

    name: str
    pattern: str
    of_several: Callable[[list[float]], float] = statistics.median

    def read(self, text: str) -> float:
        found = [float(one) for one in re.findall(self.pattern, text, re.MULTILINE)]
        if not found:
            raise RuntimeError(f"no line has \"{self.name}\":\n{text}")
        return self.of_several(found)


def of_program(build: Path, program: str, *arguments: str, rows: list[Row]) -> Figures:
    command = [str(build / "bench" / program), *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr[-2000:]}")
    return {row.name: row.read(done.stdout) for row in rows}


def of_rpc(build: Path, newest: Path) -> Figures:
    del newest
    return (
        of_program(build, "rpc", "unary", rows=[
            Row("1 KB over gRPC, us", r"^1 KB unary over gRPC +([\d.]+) us"),
            Row("1 KB through the ring, us", r"^1 KB through the ring +([\d.]+) us")])
        | of_program(build, "rpc", "large", rows=[
            Row("600 KB in shared memory, us", r"^600 KB in, 4 KB out +([\d.]+) us")])
        | of_program(build, "rpc", "flood", rows=[
            Row("64 in flight over gRPC, /s", r"(\d+) /s over gRPC"),
            Row("64 in flight through the ring, /s", r"ring (\d+) /s")])
    )  # fmt: skip


def of_functions(build: Path, newest: Path) -> Figures:
    """All functions under a usual load, and under more requests than they can answer."""
    figures = of_program(build, "request_cost", rows=[
        Row("a model alone, ns", r"^through the engine +(\d+) ns"),
        Row("a function alone, ns", r"^a function alone +(\d+) ns")])  # fmt: skip
    bench = functions.Bench(build, newest)
    for pattern in functions.PATTERNS:
        with bench.daemon() as daemon:
            usual, full = bench.load(
                50, f"functions:{daemon.address}", "--pattern", pattern, "--seconds", LOAD_SECONDS,
                "--rate", f"{USUAL_RATE},{FULL_RATE}")  # fmt: skip
        figures[f"functions, {pattern}, p50 ms"] = usual["p50_ms"]
        figures[f"functions, {pattern}, p99 ms"] = usual["p99_ms"]
        figures[f"functions, {pattern}, all cores busy, /s"] = full["answered"] / full["seconds"]
    return figures


def of_zipf(build: Path, newest: Path) -> Figures:
    del newest
    return of_program(build, "zipf", rows=[
        Row("100 models by Zipf's law, /s", r"^ *\d+ to +\d+ +(\d+)", lambda parts: sum(parts) / ZIPF_SECONDS),
        Row("the most popular one, p50 ms", r"^ +1 to +1 +\d+ +([\d.]+)")])  # fmt: skip


def of_queue(build: Path, newest: Path) -> Figures:
    del newest
    return of_program(build, "queue", rows=[
        Row("through queues, all at once, ns", r"^through queues, all at once +(\d+) ns"),
        Row("through queues, one by one, ns", r"^through queues, one by one +(\d+) ns")])  # fmt: skip


#: By name: figures of a build; `newest` compiles the networks, so that both builds run the same packages.
DOORS: dict[str, Callable[[Path, Path], Figures]] = {
    "rpc": of_rpc, "functions": of_functions, "zipf": of_zipf, "queue": of_queue}  # fmt: skip


def speed(name: str, older: float, newer: float) -> float:
    """How many times as fast the newer figure is."""
    return newer / older if name.endswith(RATE) else older / newer
