#!/usr/bin/env python3
"""The measure by which the other scripts judge outputs catches what it must."""

from __future__ import annotations

import math
import sys

import numpy as np
from report import Report

from harness.agreement import relative_error

EXPECTED = np.array([1.0, -4.0], np.float32)


def main() -> int:
    report = Report()

    def claim(line: str, holds: bool) -> None:
        report.add(holds, line)

    claim("equal outputs have no error", relative_error(EXPECTED.copy(), EXPECTED) == 0.0)
    off_by_one = relative_error(EXPECTED + np.float32(1), EXPECTED)
    claim("the error is relative to the largest magnitude", math.isclose(off_by_one, 0.25))
    claim("a NaN is infinitely wrong",
          math.isinf(relative_error(np.array([1.0, np.nan], np.float32), EXPECTED)))
    claim("another shape is infinitely wrong",
          math.isinf(relative_error(EXPECTED[None], EXPECTED)))
    claim("another element type is infinitely wrong",
          math.isinf(relative_error(EXPECTED.astype(np.float64), EXPECTED)))
    zeros = np.zeros(2, np.float32)
    claim("anything but zero is infinitely wrong where zero is expected",
          math.isinf(relative_error(EXPECTED, zeros)) and relative_error(zeros, zeros) == 0.0)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
