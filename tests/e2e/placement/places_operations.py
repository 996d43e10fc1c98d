#!/usr/bin/env python3
"""`sluice compile --place` and `sluice explain`: rules decide, answers stay, mistakes are told."""

from __future__ import annotations

import json
import sys
import xml.etree.ElementTree as xml
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

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


def rules_keep_their_order(folder: Path) -> str:
    """cpu takes images in blocks, which sim and reference do not; the first of a rule runs the node all the same."""
    rng = np.random.default_rng(0)
    sizes = [3, 16, 16, 32]
    weights = [numpy_helper.from_array(rng.normal(size=(n, c, 3, 3)).astype(np.float32), f"w{i}")
               for i, (c, n) in enumerate(zip(sizes, sizes[1:]))]
    nodes = [helper.make_node("Conv", [f"x{i}", f"w{i}"], [f"x{i + 1}"], name=f"block{i}/conv", pads=[1, 1, 1, 1])
             for i in range(3)]
    graph = helper.make_graph(nodes, "images", [helper.make_tensor_value_info("x0", TensorProto.FLOAT, [1, 3, 12, 12])],
                              [helper.make_tensor_value_info("x3", TensorProto.FLOAT, [1, 32, 12, 12])], weights)
    model = folder / "images.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model)
    for first in ("sim", "reference"):
        for number, rule in enumerate((f"block1/*={first},cpu", f"Conv={first},cpu")):
            package = compile_model(model, folder / f"{first}{number}.sluice", options=["--place", rule])
            wrong = [node for node in explain(package)["nodes"]
                     if ("Conv" in rule or node["name"] == "block1/conv") and node["backend"] != first
                     and node["name"].endswith("/conv")]
            if wrong:
                return f"{rule}: {wrong}"
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
    "the first backend of a rule that can": rules_keep_their_order,
    "segments as a picture": segments_are_drawn,
    "rules that do not fit": names_mistakes,
}


if __name__ == "__main__":
    sys.exit(run_cases(CASES))
