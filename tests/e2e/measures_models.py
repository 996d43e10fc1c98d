#!/usr/bin/env python3
"""`sluice bench`: figures of a model, of several in turn, of opening one, and on command; and the
harness above it, beside onnxruntime, the only peer that tests install."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from report import ROOT, first_wrong_refusal, run_cases

from harness.sluice_cli import binary, compile_model, run_command
from slope import slopes

DIGITS = ROOT / "examples/digits/digits.onnx"
FIGURES = {"median_us", "p90_us", "p99_us", "runs", "threads"}


def bench(*arguments: str | Path) -> dict[str, float]:
    return json.loads(run_command("bench", *arguments, "--threads", "1", "--json"))


def one_and_several(folder: Path) -> str:
    package = compile_model(DIGITS, folder / "digits.sluice")
    others = ["--with", package, "--with", package, "--with", package]
    alone = bench(package, "--seconds", "0.1")
    together = bench(package, *others, "--seconds", "0.1")
    return "" if set(alone) == set(together) == FIGURES else f"{alone}, {together}"


def opening(folder: Path) -> str:
    figures = bench(compile_model(DIGITS, folder / "digits.sluice"), "--open")
    wanted = {"open_us", "again_us", "context_bytes", "loaded_bytes", "unloaded_bytes", "kept_bytes"}
    return "" if set(figures) == wanted else str(figures)


def on_command(folder: Path) -> str:
    package = compile_model(DIGITS, folder / "digits.sluice")
    done = subprocess.run([binary(), "bench", package, "--serve"], input="run 0.01\nrun 0.01\n",
                          capture_output=True, text=True, timeout=600)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    is_right = done.returncode == 0 and [set(answer) for answer in answers] == [
        FIGURES | {"resident_bytes"}] * 2
    return "" if is_right else f"{done.returncode}: {done.stdout}{done.stderr}"


def beside_a_peer(folder: Path) -> str:
    arguments = argparse.Namespace(threads=1, rounds=1, seconds=0.01, more_seconds=0,
                                   no_spin=False, contended=False)
    figures = slopes(folder, arguments, peers=["onnxruntime"])
    return "" if set(figures) == {"sluice", "onnxruntime"} else str(figures)


def refuses(folder: Path) -> str:
    package = compile_model(DIGITS, folder / "digits.sluice")
    return first_wrong_refusal("bench", (
        ((folder / "missing.sluice",), "missing.sluice"),
        ((package, "--with", folder / "other.sluice"), "other.sluice"),
        ((package, "--input", "nothing=zeros"), "nothing"),
    ))


CASES: dict[str, Callable[[Path], str]] = {
    "one, and several in turn": one_and_several,
    "opening": opening,
    "on command": on_command,
    "beside a peer": beside_a_peer,
    "what it cannot use": refuses,
}


if __name__ == "__main__":
    sys.exit(run_cases(CASES))
