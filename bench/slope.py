#!/usr/bin/env python3
"""What one more tiny operation costs, and what a run costs without any: Sluice, onnxruntime and
openvino on chains of 10 and of 110 products of a row of 16 with a 16x16 matrix.

A slope is the difference of the medians over 100 operations, from the same interleaved rounds as
compare.py's; the start is the extrapolation to no operations.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from compare import measure, prepare
from harness import sluice_cli

SHORT, LONG = 10, 110


def slopes(folder: Path, arguments: argparse.Namespace,
           peers: list[str] | None = None) -> dict[str, tuple[float, float]]:
    """Per engine: ns per operation, and us without operations. `peers` limits the measured engines."""
    medians = []
    for length in (SHORT, LONG):
        chain = prepare(f"chain_{length}", folder, check=True)
        if peers is not None:
            chain.models = {peer: chain.models[peer] for peer in peers}
        [row] = measure([chain], arguments.threads, arguments)
        medians.append(row.median_us)
    short, long = medians
    figures = {}
    for engine in short:
        slope = (long[engine] - short[engine]) / (LONG - SHORT)
        figures[engine] = (slope * 1e3, short[engine] - SHORT * slope)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5, help="turns per engine (default: 5)")
    parser.add_argument("--seconds", type=float, default=0.5, help="length of a turn")
    parser.add_argument("--folder", type=Path, default=sluice_cli.ROOT / "build/bench",
                        help="where models and packages are kept (default: %(default)s)")
    arguments = parser.parse_args()
    arguments.no_spin = arguments.contended = False
    arguments.more_seconds = 0
    print(f"{'engine':12}{'ns an operation':>18}{'us at none':>14}")
    for engine, (slope, start) in slopes(arguments.folder, arguments).items():
        print(f"{engine:12}{slope:18.0f}{start:14.2f}")


if __name__ == "__main__":
    main()
