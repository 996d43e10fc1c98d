#!/usr/bin/env python3
"""`sluice compile --place` and `sluice explain`: rules decide, answers stay, mistakes are told."""

from __future__ import annotations

import json
import sys
import xml.etree.ElementTree as xml
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from report import ROOT, first_wrong_refusal, run_cases  # noqa: E402

from harness.sluice_cli import compile_model, run_command, run_model  # noqa: E402

DIGITS = ROOT / "examples/digits/digits.onnx"


def explain(package: Path, *options: str) -> dict:
    return json.loads(run_command("explain", package, "--json", *options))


def split_model_agrees(folder: Path) -> str:
    whole = compile_model(DIGITS, folder / "whole.sluice")
    signature = json.loads(run_command("inspect", whole, "--json"))
    outputs = [output["name"] for output in signature["outputs"]]
    image = np.random.default_rng(0).random((1, 1, 8, 8), dtype=np.float32)
    feeds = {signature["inputs"][0]["name"]: image}
    expected = run_model(whole, feeds, outputs)
    for number, rule in enumerate(("Conv=reference", "Conv=sim", "*=sim", "*=reference")):
        package = folder / f"split{number}.sluice"
        split = compile_model(DIGITS, package, options=["--place", rule])
        target = rule.split("=")[1]
        moved = [node for node in explain(split)["nodes"] if node["backend"] == target]
        if not moved or any("placed by a rule" not in node["why"] for node in moved):
            return f"{rule}: {moved}"
        actual = run_model(split, feeds, outputs)
        for name in outputs:
            off = np.abs(actual[name] - expected[name]).max()
            if not off <= 1e-4 * np.abs(expected[name]).max():
                return f"{rule}: {name} is off by {off}"
    return ""


def segments_are_drawn(folder: Path) -> str:
    package = compile_model(DIGITS, folder / "split.sluice", options=["--place", "Conv=reference"])
    picture = folder / "segments.svg"
    explanation = explain(package, "--svg", str(picture))
    boxes = xml.parse(picture).getroot().findall("{http://www.w3.org/2000/svg}rect")
    if len(boxes) != len(explanation["segments"]) or len(boxes) < 2:
        return f"{len(boxes)} boxes for {len(explanation['segments'])} segments"
    others = [other for node in explanation["nodes"] for other in node["alternatives"]]
    if {other["backend"] for other in others} < {"cpu", "reference"}:
        return f"alternatives are {others}"
    table = run_command("explain", package)
    return "" if "placed by a rule: --place Conv=reference" in table else table


def names_mistakes(folder: Path) -> str:
    base = (DIGITS, "-o", folder / "none.sluice")
    return first_wrong_refusal("compile", (
        ((*base, "--place", "Conv"), "PATTERN=BACKEND"),
        ((*base, "--place", "Cnv=cpu"), "matches no operation"),
        ((*base, "--place", "Conv=quantum"), "quantum"),
        ((*base, "--place", "Conv=reference", "--max-segments", "1"), "at most 1 are allowed"),
        ((*base, "--min-segment", "1000"), "at least 1000"),
        ((*base, "--min-segment", "0"), "--help"),
        ((*base, "--place", "Softmax=reference", "--min-share", "0.3"), "at least 30.0 %"),
        ((*base, "--place", "Softmax=sim:7"), "no device 7"),
    ))


CASES: dict[str, Callable[[Path], str]] = {
    "a network split over two backends": split_model_agrees,
    "segments as a picture": segments_are_drawn,
    "rules that do not fit": names_mistakes,
}


if __name__ == "__main__":
    sys.exit(run_cases(CASES))
