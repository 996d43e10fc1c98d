"""Inputs with a default behind every door: runtimes, functions, sessions, queues, the shim, the command."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess

import numpy as np
import onnx
import pytest
import sluice

from conftest import PATIENCE
from daemon import Daemon
from test_defaults import OTHER, K, X, compiled, model_of, product


def test_a_request_gives_a_value_or_not(runtime: sluice.Runtime) -> None:
    model = runtime.load(compiled(product()))
    assert [spec.has_default for spec in model.inputs] == [False, True]
    for _ in range(2):
        np.testing.assert_array_equal(model(X), X * K)
        np.testing.assert_array_equal(model(X, OTHER), X * OTHER)
        np.testing.assert_array_equal(model.run({"x": X})["y"], X * K)
        np.testing.assert_array_equal(model.submit(X, OTHER).result(PATIENCE), X * OTHER)
    with pytest.raises(sluice.InvalidArgument, match='"x"'):
        model.run({"k": OTHER})


def test_a_function_takes_them_and_joins_no_requests(runtime: sluice.Runtime) -> None:
    function = runtime.deploy(compiled(product()))
    np.testing.assert_array_equal(function(X), X * K)
    np.testing.assert_array_equal(function(X, OTHER), X * OTHER)
    np.testing.assert_array_equal(function(X), X * K)
    rows = compiled(model_of("g (float[N,3] x, float[M,3] k) => (float[N,3] y) { y = Mul(x, k) }", k=K[None]))
    with pytest.raises(sluice.Error, match='input "k" has a default.*--overridable none'):
        runtime.deploy(rows, batch_rows=16)


def test_a_graph_of_functions_has_the_defaults_of_its_functions(runtime: sluice.Runtime) -> None:
    functions = [runtime.deploy(compiled(product()), name=name) for name in ("a", "b")]
    graph = runtime.deploy_graph({"functions": ["a", "b"], "edges": ["a.y=b.x"], "outputs": ["b.y"]})
    assert [(spec.name, spec.has_default) for spec in graph.inputs] == [
        ("a.x", False), ("a.k", True), ("b.k", True)]
    np.testing.assert_array_equal(graph.run({"a.x": X})["b.y"], X * K * K)
    np.testing.assert_array_equal(graph.run({"a.x": X, "b.k": OTHER})["b.y"], X * K * OTHER)
    graph.unload()
    for function in functions:
        function.unload()


def test_queues_and_batches(local: sluice.Runtime) -> None:
    loaded = local.load(compiled(product()))
    with loaded.queues(capacity=2) as queues:
        result = queues.put("y", sluice.empty(3))
        queues.put("x", X)
        np.testing.assert_array_equal(result.result(PATIENCE), X * K)
        with pytest.raises(sluice.NotFound, match='"k" has a default and therefore no queue'):
            queues.put("k", OTHER)
    with pytest.raises(sluice.InvalidArgument, match='"k" has a default.*--overridable none'):
        local.combine([loaded], batch_rows=3)


def test_a_session_needs_no_source(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "product.sluice"
    sluice.compile(product().SerializeToString(), path)
    for source in (None, OTHER):
        y = np.zeros(3, np.float32)
        session = sluice.Session(path)
        session.bind_source("x", X).bind_sink("y", y)
        if source is not None:
            session.bind_source("k", source)
        session.load()
        session.run()
        np.testing.assert_array_equal(y, X * (K if source is None else source))


def test_the_shim_lists_them() -> None:
    import sluice.onnxruntime as ort
    session = ort.InferenceSession(product().SerializeToString(), providers=["CPUExecutionProvider"])
    assert [arg.name for arg in session.get_inputs()] == ["x"]
    assert [(arg.name, arg.shape) for arg in session.get_overridable_initializers()] == [("k", [3])]
    np.testing.assert_array_equal(session.run(None, {"x": X})[0], X * K)
    np.testing.assert_array_equal(session.run(["y"], {"k": OTHER, "x": X})[0], X * OTHER)
    with pytest.raises(ValueError, match="Required inputs"):
        session.run(None, {"k": OTHER})


FIXED = "--overridable k to give such an input"


def test_requests_for_a_constant_name_the_option(runtime: sluice.Runtime) -> None:
    model = runtime.load(compiled(product(), "--overridable", "none"))
    assert model.info.has_fixed_inputs
    with pytest.raises(sluice.NotFound, match=FIXED):
        model.run({"x": X, "k": OTHER})
    with pytest.raises(sluice.NotFound, match=FIXED):
        model(x=X, k=OTHER)
    with pytest.raises(sluice.NotFound, match="no input") as unknown:
        runtime.load(compiled(product())).run({"x": X, "j": OTHER})
    assert "--overridable" not in str(unknown.value)


def test_other_doors_name_the_option(local: sluice.Runtime, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "product.sluice"
    sluice.compile(product().SerializeToString(), path, options=["--overridable", "none"])
    with local.load(path).queues(capacity=2) as queues, pytest.raises(sluice.InvalidArgument, match=FIXED):
        queues.put("k", OTHER)
    np.save(tmp_path / "k.npy", OTHER)
    done = subprocess.run([os.environ["SLUICE_PROGRAM"], "run", str(path), "--input", "x=zeros", "--input",
                           f"k={tmp_path}/k.npy"], capture_output=True, text=True)
    assert done.returncode != 0 and FIXED in done.stderr


def test_the_shim_names_the_option() -> None:
    import sluice.onnxruntime as ort
    proto = model_of("g (float[1,3] x, float[3,3] k) => (float[1,3] y) { y = MatMul(x, k) }",
                     k=np.eye(3, dtype=np.float32))
    session = ort.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    assert session.get_overridable_initializers() == []
    np.testing.assert_array_equal(session.run(None, {"x": X[None]})[0], X[None])
    with pytest.raises(Exception, match=f"Invalid input name: k.*{FIXED}"):
        session.run(None, {"x": X[None], "k": np.eye(3, dtype=np.float32)})


def run_command(*arguments: str) -> str:
    done = subprocess.run([os.environ["SLUICE_PROGRAM"], *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_command_shows_and_takes_them(tmp_path: pathlib.Path) -> None:
    onnx.save(product(), tmp_path / "product.onnx")
    model = str(tmp_path / "product.sluice")
    run_command("compile", str(tmp_path / "product.onnx"), "-o", model)
    described = json.loads(run_command("inspect", model, "--json"))
    assert [(spec["name"], spec["has_default"]) for spec in described["inputs"]] == [("x", False), ("k", True)]
    assert "k : f32[3] (has a default)" in run_command("inspect", model)
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "k.npy", OTHER)
    for given, k in (((), K), (("--input", f"k={tmp_path}/k.npy"), OTHER)):
        run_command("run", model, "--input", f"x={tmp_path}/x.npy", *given, "--output-dir", str(tmp_path / "out"))
        np.testing.assert_array_equal(np.load(tmp_path / "out" / "y.npy"), X * k)


@pytest.mark.parametrize("isolation", ["stream", "process"])
def test_the_command_asks_a_daemon(isolation: str, daemon: Daemon, tmp_path: pathlib.Path) -> None:
    model = tmp_path / "product.sluice"
    sluice.compile(product().SerializeToString(), model)
    np.save(tmp_path / "x.npy", X)
    np.savez(tmp_path / "both.npz", x=X, k=OTHER)
    asked = ("--address", daemon.address)
    name = f"product by {isolation}"
    run_command("load", str(model), "--name", name, "--isolation", isolation, *asked)
    for source, k in ((f"x={tmp_path}/x.npy", K), (f"{tmp_path}/both.npz", OTHER), (f"{tmp_path}/x.npy", K)):
        run_command("infer", name, "--input", source, "--output-dir", str(tmp_path / "out"), *asked)
        np.testing.assert_array_equal(np.load(tmp_path / "out" / "y.npy"), X * k)
    (listed,) = [each for each in json.loads(run_command("models", "--json", *asked)) if each["name"] == name]
    assert [(spec["name"], spec["has_default"]) for spec in listed["inputs"]] == [("x", False), ("k", True)]
    run_command("unload", name, *asked)
