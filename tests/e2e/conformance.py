#!/usr/bin/env python3
"""Debian's ONNX test data, 1,072 cases: nearly all cases pass on each backend, and no case fails.

The cpu backend runs them once more for each weaker instruction set, as on a processor without AVX-512 or AVX2.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from conformance_run import check
from report import Report

DATA = Path("/usr/share/libonnx-testdata/data")
FOLDERS = ["node", "simple", "pytorch-operator", "pytorch-converted"]
LEAST_PASSED = 1045
WEAKER_SETS = ("avx2", "portable")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backends", default="reference,cpu", help="default: %(default)s")
    arguments = parser.parse_args()
    if not DATA.is_dir():
        print(f"skipped: {DATA} is missing; scripts/install-deps test installs it")
        return 77
    report = Report()
    for backend in arguments.backends.split(","):
        check([DATA / folder for folder in FOLDERS], backend, LEAST_PASSED, report)
        for isa in WEAKER_SETS if backend == "cpu" else ():
            os.environ["SLUICE_CPU_ISA"] = isa
            check([DATA / folder for folder in FOLDERS], backend, LEAST_PASSED, report)
            del os.environ["SLUICE_CPU_ISA"]
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
