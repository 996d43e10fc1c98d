"""Counts cases and prints them, in the form that scripts/run-tests reads."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
for folder in ("bench", "bench/models"):
    sys.path.insert(0, str(ROOT / folder))

from harness.agreement import TOLERANCE  # noqa: E402
from harness.sluice_cli import SluiceError, run_command  # noqa: E402


class Report:
    def __init__(self) -> None:
        self._passed = 0
        self._failed = 0

    def case(self, name: str, error_of: Callable[[], float]) -> None:
        """Runs one case; it passes when the relative error it returns is within TOLERANCE."""
        start = time.perf_counter()
        try:
            error = error_of()
            detail = f"relative error {error:.1e}"
            passed = error <= TOLERANCE
        except SluiceError as problem:
            detail = str(problem)
            passed = False
        seconds = time.perf_counter() - start
        self.add(passed, f"{name}: {detail} ({seconds:.1f} s)")

    def add(self, passed: bool, line: str) -> None:
        print(f"{'ok  ' if passed else 'FAIL'} {line}", flush=True)
        self._passed += passed
        self._failed += not passed

    def finish(self) -> int:
        """Prints the summary line; returns the exit code."""
        print(f"{self._passed} passed, {self._failed} failed")
        return 1 if self._failed else 0


def run_cases(cases: dict[str, Callable[[Path], str]]) -> int:
    """Calls each case with a folder of its own; a case returns its error or "". Returns the exit code."""
    report = Report()
    for name, run in cases.items():
        with scratch_folder() as folder:
            try:
                problem = run(Path(folder))
            except SluiceError as error:
                problem = str(error)
        report.add(not problem, f"{name}: {problem or 'as it should be'}")
    return report.finish()


def first_wrong_refusal(
    command: str, cases: Iterable[tuple[tuple[str | Path, ...], str]]
) -> str:
    """Takes pairs of arguments that `sluice command` must refuse and a text that its message must hold.
    Returns the error of the first pair that fails, or ""."""
    for arguments, expected in cases:
        try:
            return f"{expected}: accepted, {run_command(command, *arguments)}"
        except SluiceError as error:
            if expected not in str(error):
                return f"{expected}: {error}"
    return ""


def scratch_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder on the disk of the build: packages may be too large for a /tmp in memory."""
    build = ROOT / "build"
    build.mkdir(exist_ok=True)
    return tempfile.TemporaryDirectory(prefix="e2e-", dir=build)
