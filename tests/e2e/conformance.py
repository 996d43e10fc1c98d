#!/usr/bin/env python3
"""Debian's ONNX test data: at least 500 cases pass on each backend, none fail."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

from report import Report

from harness.sluice_cli import binary

DATA = Path("/usr/share/libonnx-testdata/data")
FOLDERS = ["node", "simple", "pytorch-operator", "pytorch-converted"]
LEAST_PASSED = 500


def check(backend: str, report: Report) -> None:
    folders = [str(DATA / folder) for folder in FOLDERS]
    command = [str(binary()), "conformance", *folders, "--backend", backend]
    output = subprocess.run(command, stdout=subprocess.PIPE, text=True).stdout
    print(output, end="")
    counts = re.search(r"(\d+) passed, (\d+) failed", output.splitlines()[-1] if output else "")
    report.add(counts is not None, f"{backend}: the run ends with its counts")
    passed, failed = map(int, counts.groups()) if counts else (0, -1)
    report.add(passed >= LEAST_PASSED, f"{backend}: {passed} passed, of at least {LEAST_PASSED}")
    report.add(failed == 0, f"{backend}: {failed} failed")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backends", default="reference,cpu", help="default: %(default)s")
    arguments = parser.parse_args()
    if not DATA.is_dir():
        print(f"skipped: {DATA} is missing; scripts/install-deps test installs it")
        return 77
    report = Report()
    for backend in arguments.backends.split(","):
        check(backend, report)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
