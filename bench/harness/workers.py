"""Long-lived measuring processes, one per engine, that take turns on command.

A worker reads `run SECONDS` lines and answers each with one JSON line: median_us, p90_us, p99_us,
runs, resident_bytes. Between commands it waits in a read, so that only one engine computes at a time.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from harness import sluice_cli

Figures = dict[str, float]


class Worker(Protocol):
    def run(self, seconds: float) -> Figures: ...

    def close(self) -> None: ...


def allowed_cpus(threads: int) -> set[int]:
    """The first `threads` processors this process may use; every engine gets the same."""
    return set(sorted(os.sched_getaffinity(0))[:threads])


class ProcessWorker:
    """Speaks the protocol with a child process pinned to the first `threads` processors."""

    def __init__(self, engine: str, command: list[str], threads: int) -> None:
        self._engine = engine
        cpus = allowed_cpus(threads)
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: os.sched_setaffinity(0, cpus),
        )

    def run(self, seconds: float) -> Figures:
        try:
            self._process.stdin.write(f"run {seconds}\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            raise RuntimeError(f"{self._engine}: exited with code {self._process.wait()}")
        return json.loads(answer)

    def close(self) -> None:
        self._process.stdin.close()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


@dataclass
class Model:
    """A file that an engine reads, and `--input NAME=X.npy` arguments for it."""

    path: Path
    inputs: list[str]


def sluice_worker(models: list[Model], threads: int) -> ProcessWorker:
    """Runs them one after another; all but the first have random inputs."""
    first, *others = models
    command = [str(sluice_cli.binary()), "bench", str(first.path), *first.inputs]
    for other in others:
        command += ["--with", str(other.path)]
    return ProcessWorker("sluice", [*command, "--threads", str(threads), "--serve"], threads)


def peer_worker(
    engine: str, models: list[Model], threads: int, spins: bool = True
) -> ProcessWorker:
    """Runs them one after another."""
    script = Path(__file__).with_name("peer.py")
    specs = [(str(model.path), model.inputs[1::2]) for model in models]
    command = [sys.executable, str(script), engine, json.dumps(specs), "--threads", str(threads)]
    if not spins:
        command.append("--no-spin")
    return ProcessWorker(engine, command, threads)
