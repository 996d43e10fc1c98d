#!/usr/bin/env python3
"""What one more tiny operation costs, and what a run costs without any: Sluice, onnxruntime and
openvino on chains of 10 and of 110 products of a row of 16 with a 16x16 matrix.

A slope is the difference of the medians over 100 operations, from the same interleaved rounds as
compare.py's; the start is what is left at none.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from compare import measure, prepare
from harness import sluice_cli

SHORT, LONG = 10, 110


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
    short, long = (
        measure(prepare(f"chain_{length}", arguments.folder, check=True), arguments.threads,
                arguments).median_us
        for length in (SHORT, LONG)
    )
    print(f"{'engine':12}{'ns an operation':>18}{'us at none':>14}")
    for engine in short:
        slope = (long[engine] - short[engine]) / (LONG - SHORT)
        print(f"{engine:12}{slope * 1e3:18.0f}{short[engine] - SHORT * slope:14.2f}")


if __name__ == "__main__":
    main()
