"""Runs `sluice conformance` on folders of ONNX test cases and judges its counts."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from report import Report

from harness.sluice_cli import binary


def check(folders: list[Path], backend: str, least_passed: int, report: Report,
          *options: str) -> None:
    """No case fails, and at least `least_passed` pass; skipped cases are printed with their reasons."""
    command = [str(binary()), "conformance", *map(str, folders), "--backend", backend, *options]
    output = subprocess.run(command, stdout=subprocess.PIPE, text=True).stdout
    print(output, end="")
    counts = re.search(r"(\d+) passed, (\d+) failed", output.splitlines()[-1] if output else "")
    report.add(counts is not None, f"{backend}: the run ends with its counts")
    passed, failed = map(int, counts.groups()) if counts else (0, -1)
    report.add(passed >= least_passed, f"{backend}: {passed} passed, of at least {least_passed}")
    report.add(failed == 0, f"{backend}: {failed} failed")
