#!/usr/bin/env python3
"""The parallel and the automatically chosen executor beside the linear one, on networks with and
without branches. Processes take turns; a ratio is the median over the rounds.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "models"))
import make  # noqa: E402
from harness import sluice_cli  # noqa: E402
from networks import DEFAULT_NAMES  # noqa: E402

BRANCHED = ("inception_like", "two_towers")


class Engine:
    """`sluice bench --serve` of a package by one executor."""

    def __init__(self, package: Path, options: list[str], threads: int) -> None:
        command = [sluice_cli.binary(), "bench", package, "--serve", "--threads", str(threads), *options]
        self._process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE, text=True)

    def median_us(self, seconds: float) -> float:
        self._process.stdin.write(f"run {seconds}\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())["median_us"]

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait()


def compare(name: str, arguments: argparse.Namespace) -> tuple[float, float, float, str]:
    """Median us of linear; ratios of parallel and of the choice to it; the choice."""
    arguments.folder.mkdir(parents=True, exist_ok=True)
    package = arguments.folder / f"{name}_auto.sluice"
    sluice_cli.run_command("compile", make.write(name, arguments.folder), "-o", package,
                           "--executor", "auto")
    facts = json.loads(sluice_cli.run_command("inspect", package, "--json"))["facts"]
    engines = {"linear": Engine(package, ["--executor", "linear"], arguments.threads),
               "parallel": Engine(package, ["--executor", "parallel"], arguments.threads),
               "auto": Engine(package, [], arguments.threads)}
    rounds = []
    for number in range(arguments.rounds + 1):
        times = {kind: engine.median_us(arguments.seconds) for kind, engine in engines.items()}
        if number > 0:
            rounds.append(times)
    for engine in engines.values():
        engine.close()
    ratio = {kind: statistics.median(times[kind] / times["linear"] for times in rounds)
             for kind in ("parallel", "auto")}
    return (statistics.median(times["linear"] for times in rounds), ratio["parallel"], ratio["auto"],
            facts.get("sluice.executor", "linear"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="network",
                        help="default: two with branches, and the networks of compare.py at batch 1")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=0.1, help="length of a turn")
    parser.add_argument("--folder", type=Path, default=sluice_cli.ROOT / "build/bench",
                        help="where models and packages are kept (default: %(default)s)")
    arguments = parser.parse_args()
    print("| network | linear, us | parallel : linear | auto chooses | auto : linear |")
    print("|---|---|---|---|---|", flush=True)
    for name in arguments.names or (*BRANCHED, *DEFAULT_NAMES):
        linear_us, parallel, auto, choice = compare(name, arguments)
        print(f"| {name} | {linear_us:.1f} | {parallel:.3f} | {choice} | {auto:.3f} |", flush=True)


if __name__ == "__main__":
    main()
