#!/usr/bin/env python3
"""Debian's ONNX test data on an emulated GPU alone: the cases pass whose operators have kernels, and none fails.
An argument says how core groups confine kernels: contexts or masks.

Skipped where no CUDA toolkit is installed to compile the kernels.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import conformance  # noqa: E402
import cuda_compiler  # noqa: E402
from conformance_run import check  # noqa: E402
from report import Report  # noqa: E402

LEAST_PASSED = 693


def main() -> int:
    if not conformance.DATA.is_dir():
        print(f"skipped: {conformance.DATA} is missing; scripts/install-deps test installs it")
        return 77
    if reason := cuda_compiler.reason_to_skip():
        print(f"skipped: {reason}")
        return 77
    os.environ["SLUICE_CUDA_CONFINE"] = sys.argv[1] if len(sys.argv) > 1 else "none"
    report = Report()
    check([conformance.DATA / folder for folder in conformance.FOLDERS], "cuda-emulated", LEAST_PASSED, report)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
