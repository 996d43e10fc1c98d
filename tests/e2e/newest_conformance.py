#!/usr/bin/env python3
"""The cases that the installed onnx package brings, newer than Debian's: nearly all pass, none fail.

They are written below the build folder first. --keep FOLDER leaves them there.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import newest_cases
from conformance_run import check
from report import Report, scratch_folder

LEAST_SHARE = 0.98
# Expected zeros are the residue of sums in f32: test_dft_inverse has 2e-7.
TOLERANCE = "f32=1e-3,1e-6"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backends", default="reference,cpu", help="default: %(default)s")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="write the cases here")
    arguments = parser.parse_args()
    report = Report()
    with scratch_folder() as scratch:
        folder = arguments.keep or Path(scratch)
        count = newest_cases.write_all(folder)
        print(f"{count} cases written")
        for backend in arguments.backends.split(","):
            check([folder], backend, round(LEAST_SHARE * count), report, "--tolerance",
                  TOLERANCE)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
