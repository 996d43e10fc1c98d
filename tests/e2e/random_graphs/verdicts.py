"""Runs folders of cases through `sluice conformance` and reads its verdicts."""

from __future__ import annotations

import os
import re
import resource
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.sluice_cli import binary
from random_graphs import tolerance

LIMIT_S = 1200
LONGEST_LOOP = 10_000  # iterations: hostile trip counts are refused there
MEMORY = 6 << 30  # bytes of address space: what hostile sizes ask for is refused, not swapped


@dataclass(frozen=True)
class Verdict:
    word: str  # pass, FAIL, skip or CRASH
    text: str = ""

    @property
    def is_bad(self) -> bool:
        return self.word in ("FAIL", "CRASH")


def _limit_memory() -> None:
    if "ASAN_OPTIONS" not in os.environ:  # asan's shadow memory takes terabytes and has its own limits
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def _run_once(folders: Sequence[Path], options: Sequence[str]) -> tuple[dict[str, Verdict], str]:
    """The verdicts, and what the end of the process looked like."""
    command = [str(binary()), "conformance", *map(str, folders), "--verbose", *options]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace",
                              timeout=LIMIT_S, preexec_fn=_limit_memory)
        output, end = done.stdout, f"exit code {done.returncode}: {done.stderr[-4000:]}"
    except subprocess.TimeoutExpired as late:
        output = (late.stdout or b"").decode(errors="replace")
        end = f"nothing after {LIMIT_S} s"
    verdicts = {}
    for line in output.splitlines():
        told = re.match(r"(pass|FAIL|skip) (\w+)(?:: (.*))?", line)
        if told:
            verdicts[told[2]] = Verdict(told[1], told[3] or "")
    return verdicts, end


def judge(folders: Sequence[Path], backend: str, *more: str) -> dict[str, Verdict]:
    """Verdicts by folder name. One process runs all cases. If it dies, the current case has crashed,
    and a new process runs the rest."""
    options = ["--backend", backend, "--max-loop-iterations", str(LONGEST_LOOP),
               *tolerance.options(), *more]
    verdicts: dict[str, Verdict] = {}
    rest = list(folders)
    while rest:
        told, end = _run_once(rest, options)
        verdicts |= told
        rest = [folder for folder in rest if folder.name not in told]
        if rest:
            verdicts[rest.pop(0).name] = Verdict("CRASH", end)
    return verdicts
