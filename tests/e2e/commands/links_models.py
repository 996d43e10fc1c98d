#!/usr/bin/env python3
"""`sluice link` compiles models into one; linked models equal separate runs, and errors name the edge."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from report import first_wrong_refusal, run_cases  # noqa: E402

from graph_writer import GraphWriter  # noqa: E402
from harness.sluice_cli import compile_model, run_command, run_model  # noqa: E402


def dense(name: str, ins: int, outs: int, folder: Path) -> Path:
    """y = relu(x W), and h = x W."""
    g = GraphWriter(name, seed=ins + outs)
    x = g.input("x", ["N", ins])
    h = g.op("MatMul", x, g.normal("w", (ins, outs), 0.5), name="h")
    g.op("Relu", h, name="y")
    g.output("y", ["N", outs])
    g.output("h", ["N", outs])
    path = folder / f"{name}.onnx"
    onnx.save_model(g.model(), path)
    return path


def linked_models_agree(folder: Path) -> str:
    a, b, c = dense("a", 8, 16, folder), dense("b", 16, 4, folder), dense("c", 16, 4, folder)
    linked = folder / "linked.sluice"
    run_command("link", f"a={a}", f"b={b}", f"c={c}", "--edge", "a.y=b.x", "--edge", "a.y=c.x",
                "--expose", "a.y", "-o", linked)
    facts = json.loads(run_command("inspect", linked, "--json"))
    if [output["name"] for output in facts["outputs"]] != ["a.y", "a.h", "b.y", "b.h", "c.y", "c.h"]:
        return f"outputs are {facts['outputs']}"
    x = np.random.default_rng(0).standard_normal((3, 8), dtype=np.float32)
    first = run_model(compile_model(a, folder / "a.sluice"), {"x": x}, ["y", "h"])
    expected = {f"a.{key}": values for key, values in first.items()}
    for name, path in (("b", b), ("c", c)):
        package = compile_model(path, folder / f"{name}.sluice")
        for key, values in run_model(package, {"x": first["y"]}, ["y", "h"]).items():
            expected[f"{name}.{key}"] = values
    actual = run_model(linked, {"a.x": x}, list(expected))
    for name, values in expected.items():
        if not np.allclose(actual[name], values, rtol=1e-5, atol=1e-6):
            return f"{name} is off by {np.abs(actual[name] - values).max()}"
    return ""


def segments_are_the_models(folder: Path) -> str:
    a, b = dense("a", 8, 16, folder), dense("b", 16, 4, folder)
    linked = folder / "linked.sluice"
    run_command("link", f"b={b}", f"a={a}", "--edge", "a.y=b.x", "-o", linked)
    segments = json.loads(run_command("explain", linked, "--json"))["segments"]
    names = [segment["name"] for segment in segments]
    return "" if names == ["a", "b"] else f"segments are {names}"


def names_mistakes(folder: Path) -> str:
    a, b = dense("a", 8, 16, folder), dense("b", 16, 8, folder)
    base = (f"a={a}", f"b={b}", "-o", folder / "none.sluice", "--edge")
    return first_wrong_refusal("link", (
        ((*base, "a.y=b.x", "--edge", "b.y=a.x"), "circle: "),
        ((*base, "b.y=b.x"), "circle: b -> b"),
        ((*base, "b.y=a.q"), 'no input "q"'),
        ((*base, "a.y"), "write it as"),
        ((f"a={a}", f"c={a}", "-o", folder / "none.sluice", "--edge", "a.y=c.x"), "the input takes"),
        ((str(a), "-o", folder / "none.sluice"), "NAME=FILE.onnx"),
    ))


CASES: dict[str, Callable[[Path], str]] = {
    "models one behind the other": linked_models_agree,
    "a segment for each model": segments_are_the_models,
    "edges that do not fit": names_mistakes,
}


if __name__ == "__main__":
    sys.exit(run_cases(CASES))
