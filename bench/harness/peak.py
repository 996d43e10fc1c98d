"""Peak memory of a program."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

# The program is started by a small interpreter of its own. Linux counts the memory of the process
# that forks to the peak of its child, and the caller may hold gigabytes.
_STARTER = """
import json, resource, subprocess, sys, time
start = time.perf_counter()
done = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")
seconds = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
print(json.dumps([done.returncode, done.stderr, peak, seconds, done.stdout]))
"""


@dataclass(frozen=True)
class Peak:
    exit_code: int
    errors: str  # what it wrote to stderr
    peak_bytes: int  # of resident memory, mapped pages of files included
    seconds: float
    output: str  # what it wrote to stdout


def run_for_peak(command: Sequence[str | Path]) -> Peak:
    """Runs the command to its end. The peak is at least that of a small Python, about 9 MB."""
    starter = [sys.executable, "-S", "-E", "-c", _STARTER, *map(str, command)]
    done = subprocess.run(starter, capture_output=True, text=True, check=True)
    return Peak(*json.loads(done.stdout))
