#!/usr/bin/env python3
"""compile, inspect, explain and run --profile name the operations that a generic kernel runs, and no others.

environment: SLUICE, the program
"""

import json
import os
import pathlib
import re
import subprocess
import tempfile

import onnx
from onnx import TensorProto, helper

SLUICE = pathlib.Path(os.environ["SLUICE"]).resolve()


def run(*command):
    done = subprocess.run([SLUICE, *map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True)
    assert done.returncode == 0, f"{command}: exit code {done.returncode}\n{done.stdout}"
    return done.stdout


def write_model(path, size=3):
    """Cosh of f64 has no kernel of its own; Relu has."""
    nodes = [helper.make_node("Relu", ["x"], ["r"], "positive"), helper.make_node("Cosh", ["r"], ["y"], "volume")]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.DOUBLE, [1, 2, size, size])],
                              [helper.make_tensor_value_info("y", TensorProto.DOUBLE, [1, 2, size, size])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)


def line_with(text, word):
    return next(line for line in text.splitlines() if word in line)


with tempfile.TemporaryDirectory(prefix="sluice-generic-") as name:
    model, package = pathlib.Path(name) / "m.onnx", pathlib.Path(name) / "m.sluice"
    write_model(model)
    assert "estimated" not in run("compile", model, "-o", package), "18 numbers are no work"
    for size in (300, "N"):
        write_model(model, size)
        warning = line_with(run("compile", model, "-o", package), "warning")
        assert 'Cosh "volume"' in warning and "Relu" not in warning, warning
        share = int(re.search(r"about (\d+) % of the estimated time", warning).group(1))
        assert 80 < share <= 100, warning
    write_model(model)
    run("compile", model, "-o", package)
    told = {o["operator"]: o["generic"] for o in json.loads(run("inspect", package, "--json"))["operations"]}
    assert told == {"Relu": False, "Cosh": True}, told
    summary = run("inspect", package)
    assert "(generic)" in line_with(summary, "Cosh") and "(generic)" not in line_with(summary, "Relu"), summary
    profile = run("run", package, "--input", "x=random", "--profile")
    assert "Cosh (generic)" in profile and "Relu (generic)" not in profile, profile
    shared = line_with(profile, "by generic kernels").split()
    assert 0 < float(shared[0]) and 0 < float(shared[1]) <= 100, profile
    why = run("explain", package, "--ask", "cpu")
    assert "generic kernel" in line_with(why, "volume") and "generic" not in line_with(why, "positive"), why
    print("1 passed, 0 failed")
