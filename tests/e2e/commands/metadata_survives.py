#!/usr/bin/env python3
"""Compiles a model whose node names its line of Python; inspect, --profile and errors print that line, and what
compile was told about images reaches run.

usage: metadata_survives.py SLUICE
"""

import json
import pathlib
import subprocess
import sys
import tempfile

SLUICE = pathlib.Path(sys.argv[1]).resolve()
ROOT = pathlib.Path(__file__).resolve().parents[3]
LINE = "model.py:42 (encoder)"
IMAGE = ROOT / "examples/digits/images/09.png"


def run(*command, code=0):
    done = subprocess.run([SLUICE, *map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True)
    assert done.returncode == code, f"{command}: exit code {done.returncode}\n{done.stdout}"
    return done.stdout


def source_is_shown(folder):
    package = folder / "relu.sluice"
    run("compile", ROOT / "tests/fuzz/corpus/onnx/node_metadata", "-o", package)
    facts = json.loads(run("inspect", package, "--json"))["facts"]
    assert facts["source.relu1"] == LINE and facts["metadata.stride"] == "32", facts
    assert LINE in run("inspect", package, "--sources")
    assert LINE not in run("inspect", package), "the summary names no lines"
    profile = run("run", package, "--input", "x=random", "--profile")
    assert LINE in profile and "Relu" in profile, profile


def provenance_is_shown(folder):
    """Another file of the same model gives the same package; another model another digest."""
    model, copied, package = ROOT / "examples/digits/digits.onnx", folder / "copied.onnx", folder / "p.sluice"
    copied.write_bytes(model.read_bytes())
    run("compile", copied, "-o", package, "--weights", "bf16")
    facts = json.loads(run("inspect", package, "--json"))["facts"]
    version = run("--version").strip()
    assert (facts["name"], facts["compiler"], facts["options"]) == \
        ("digits", version, "--backend cpu --weights bf16"), facts
    said = run("inspect", package)
    for line in ("name             digits\n", f"digest           {facts['digest']}\n", f"compiler         {version}\n",
                 "options          --backend cpu --weights bf16\n"):
        assert line in said, said
    assert str(folder).encode() not in package.read_bytes()
    again = folder / "again.sluice"
    run("compile", model, "-o", again, "--weights", "bf16")
    assert again.read_bytes() == package.read_bytes()
    run("compile", ROOT / "tests/fuzz/corpus/onnx/node_metadata", "-o", again)
    assert json.loads(run("inspect", again, "--json"))["facts"]["digest"] != facts["digest"]


def names_of_linked_models_are_kept(folder):
    model, package = ROOT / "examples/digits/digits.onnx", folder / "linked.sluice"
    run("link", f"a={model}", f"b={model}", "-o", package)
    facts = json.loads(run("inspect", package, "--json"))["facts"]
    assert facts["a.name"] == "digits" and facts["a.digest"] == facts["b.digest"], facts
    assert facts["options"] == "--backend cpu" and "name" not in facts, facts


def preprocessing_is_recorded(folder):
    """The recorded numbers give the same output as the given ones, and other numbers another."""
    model, plain, recorded = ROOT / "examples/digits/digits.onnx", folder / "plain.sluice", folder / "r.sluice"
    options = ["--mean", "0.25", "--std", "0.5", "--resize", "8"]
    run("compile", model, "-o", plain)
    run("compile", model, "-o", recorded, *options)
    given = run("run", plain, "--input", IMAGE, *options, "--top", 3)
    assert run("run", recorded, "--input", IMAGE, "--top", 3) == given
    assert run("run", plain, "--input", IMAGE, "--top", 3) != given
    assert run("run", recorded, "--input", IMAGE, "--top", 3, "--mean", "0", "--std", "1") != given


with tempfile.TemporaryDirectory(prefix="sluice-metadata-") as name:
    source_is_shown(pathlib.Path(name))
    provenance_is_shown(pathlib.Path(name))
    names_of_linked_models_are_kept(pathlib.Path(name))
    preprocessing_is_recorded(pathlib.Path(name))
    print("4 passed, 0 failed")
