#!/usr/bin/env python3
"""`sluice tune` on a network: answers stay, choices live in the package, mistakes are told."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from report import ROOT, first_wrong_refusal, run_cases

from harness.sluice_cli import compile_model, run_command, run_model

DIGITS = ROOT / "examples/digits/digits.onnx"
SECONDS = 1.0


def image_of(package: Path) -> tuple[dict[str, np.ndarray], list[str]]:
    """A random input of the network, and the names of its outputs."""
    told = json.loads(run_command("inspect", package, "--json"))
    name = told["inputs"][0]["name"]
    image = np.random.default_rng(0).random((1, 1, 8, 8), dtype=np.float32)
    return {name: image}, [output["name"] for output in told["outputs"]]


def tunes(folder: Path) -> str:
    package = compile_model(DIGITS, folder / "digits.sluice")
    feeds, outputs = image_of(package)
    expected = run_model(package, feeds, outputs)
    before = package.read_bytes()
    tuned = folder / "tuned.sluice"
    printed = run_command("tune", package, "-o", tuned, "--seconds", str(SECONDS), "--all")
    if "kinds of operations with a choice" not in printed:
        return printed
    if package.read_bytes() != before:
        return "with an output the model itself stays as it is"
    actual = run_model(tuned, feeds, outputs)
    for name in outputs:
        off = np.abs(actual[name] - expected[name]).max()
        if not off <= 1e-4 * np.abs(expected[name]).max():
            return f"{name} is off by {off}"
    told = json.loads(run_command("inspect", tuned, "--json"))
    is_changed = "was -> is" in printed
    if is_changed != bool(told["ways"]) or is_changed != ("tuned_for" in told["facts"]):
        return f"the package says {told['ways']}, {told['facts']}; the command {printed}"
    return ""


def tunes_in_place_again_and_again(folder: Path) -> str:
    package = compile_model(DIGITS, folder / "digits.sluice")
    for _ in range(2):
        run_command("tune", package, "--seconds", "0.3", "--threads", "1")
    feeds, outputs = image_of(package)
    run_model(package, feeds, outputs)
    return ""


def offers_transforms(package: Path) -> bool:
    """Whether Winograd's method is among the ways that `tune` measures; they have lines of their own."""
    lines = run_command("tune", package, "--seconds", "0.3", "--all").splitlines()
    return any("winograd" in line for line in lines if line.startswith(" "))


def keeps_what_forbids_transforms(folder: Path) -> str:
    folder = folder / "winograd"  # a path with the name of the method is no offer of it
    if offers_transforms(compile_model(DIGITS, folder / "direct.sluice", options=["--no-winograd"])):
        return "winograd is offered"
    return "" if offers_transforms(compile_model(DIGITS, folder / "digits.sluice")) else "winograd is never offered"


def refuses(folder: Path) -> str:
    package = compile_model(DIGITS, folder / "digits.sluice")
    damaged = folder / "damaged.sluice"
    damaged.write_bytes(package.read_bytes()[:-100])
    return first_wrong_refusal("tune", (
        ((DIGITS,), "not a .sluice file"),
        ((folder / "missing.sluice",), "missing.sluice"),
        ((damaged,), "truncated"),
        ((package, "--input", "nothing=zeros"), "nothing"),
        ((package, "--seconds", "0"), "--help"),
    ))


CASES: dict[str, Callable[[Path], str]] = {
    "a small network": tunes,
    "in its place, twice, for one core": tunes_in_place_again_and_again,
    "without transforms": keeps_what_forbids_transforms,
    "what it cannot use": refuses,
}


if __name__ == "__main__":
    sys.exit(run_cases(CASES))
