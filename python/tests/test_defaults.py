"""Inputs with a default: initializers that an ONNX file lists as inputs."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
from typing import Any

import numpy as np
import onnx
import pytest
import sluice
from onnx import numpy_helper, parser

X = np.float32([1, -2, 3])
K = np.float32([2, 3, 4])
OTHER = np.float32([10, 20, 30])


def model_of(text: str, ir: int = 9, **defaults: Any) -> onnx.ModelProto:
    model = parser.parse_model(f'<ir_version: {ir}, opset_import: ["": 20]> {text}')
    model.graph.initializer.extend(numpy_helper.from_array(np.asarray(value), name)
                                   for name, value in defaults.items())
    return model


def product(ir: int = 9) -> onnx.ModelProto:
    """The input with a default stands first in the file."""
    return model_of("g (float[3] k, float[3] x) => (float[3] y) { y = Mul(x, k) }", ir, k=K)


def compiled(model: onnx.ModelProto, *options: str, backend: str = "cpu") -> sluice.Model:
    return sluice.compile(model.SerializeToString(), backends=(backend,), options=options)


@pytest.mark.parametrize("backend", ["cpu", "reference"])
@pytest.mark.parametrize("options", [(), ("--no-optimize",)])
def test_a_run_gives_a_value_or_not(backend: str, options: tuple[str, ...]) -> None:
    model = compiled(product(), *options, backend=backend)
    assert [(spec.name, spec.has_default) for spec in model.inputs] == [("x", False), ("k", True)]
    for _ in range(2):
        np.testing.assert_array_equal(model.run({"x": X})["y"], X * K)
        np.testing.assert_array_equal(model.run({"x": X, "k": OTHER})["y"], X * OTHER)
        np.testing.assert_array_equal(model(X), X * K)
        np.testing.assert_array_equal(model(X, OTHER), X * OTHER)
        np.testing.assert_array_equal(model(x=X, k=OTHER), X * OTHER)
    assert "k: f32[3] = default" in repr(model)


def test_values_of_another_type_or_name_are_refused() -> None:
    model = compiled(product())
    with pytest.raises(sluice.InvalidArgument, match=r'input "k": got f32\[4\], model takes f32\[3\]'):
        model.run({"x": X, "k": np.zeros(4, np.float32)})
    with pytest.raises(sluice.InvalidArgument, match='"x": f32'):
        model.run({"k": OTHER})
    with pytest.raises(sluice.NotFound, match='no input "j"'):
        model.run({"x": X, "j": OTHER})


def test_ir_3_has_constants() -> None:
    model = compiled(product(ir=3))
    assert [spec.name for spec in model.inputs] == ["x"]
    np.testing.assert_array_equal(model(X), X * K)


SHAPES = {
    "Reshape": ("float[2,6] x, int64[2] s", "Reshape(x, s)", [3, 4], [6, 2], lambda x, s: x.reshape(s)),
    "Expand": ("float[2,1] x, int64[2] s", "Expand(x, s)", [2, 3], [2, 5], np.broadcast_to),
    "Tile": ("float[2,1] x, int64[2] s", "Tile(x, s)", [1, 3], [2, 2], np.tile),
    "ReduceSum": ("float[2,3] x, int64[1] s", "ReduceSum<keepdims = 0>(x, s)", [0], [1],
                  lambda x, s: x.sum(axis=int(s[0]))),
    "Slice": ("float[4,3] x, int64[1] s", "Slice(x, s, end)", [1], [3], lambda x, s: x[int(s[0]):4]),
}


@pytest.mark.parametrize("operator", SHAPES)
def test_a_value_may_give_a_shape(operator: str) -> None:
    inputs, node, default, other, expected = SHAPES[operator]
    proto = model_of(f"g ({inputs}) => (float[*] y) {{ y = {node} }}".replace("float[*] y", "float[A,B] y"),
                     s=np.int64(default), end=np.int64([4]))
    proto.graph.output[0].type.tensor_type.ClearField("shape")
    model = compiled(proto)
    dims = [d.dim_value for d in proto.graph.input[0].type.tensor_type.shape.dim]
    x = np.arange(np.prod(dims), dtype=np.float32).reshape(dims)
    for given in (default, other, default):
        feeds = {"x": x, "s": np.int64(given)}
        np.testing.assert_array_equal(model.run(feeds)["y"], expected(x, np.int64(given)))
    np.testing.assert_array_equal(model(x), expected(x, np.int64(default)))


def test_a_branch_and_two_readers_see_the_value() -> None:
    model = compiled(model_of(
        """g (bool c, float[3] x, float[3] k) => (float[3] y, float[3] z) {
        y = If(c) <then_branch = g1 () => (float[3] a) { a = Add(x, k) },
                   else_branch = g2 () => (float[3] b) { b = Sub(x, k) }>
        z = Mul(k, k)}""", k=K))
    for c, k in ((True, K), (False, OTHER)):
        result = model.run({"c": np.bool_(c), "x": X, "k": k})
        np.testing.assert_array_equal(result["y"], X + k if c else X - k)
        np.testing.assert_array_equal(result["z"], k * k)
    np.testing.assert_array_equal(model.run({"c": np.bool_(True), "x": X})["y"], X + K)


def test_open_dimensions_of_the_input_take_other_sizes() -> None:
    proto = model_of("g (float[3] x, float[M] k) => (float y) { a = ReduceSum(k) b = ReduceSum(x) y = Add(a, b) }", k=K)
    proto.graph.output[0].type.tensor_type.ClearField("shape")
    model = compiled(proto)
    assert float(np.squeeze(model.run({"x": X, "k": np.ones(5, np.float32)})["y"])) == 7
    assert float(np.squeeze(model(X))) == 11


def test_an_unread_default_may_be_given() -> None:
    model = compiled(model_of("g (float[3] x, float[3] k) => (float[3] y) { y = Neg(x) }", k=K))
    np.testing.assert_array_equal(model.run({"x": X, "k": OTHER})["y"], -X)
    np.testing.assert_array_equal(model(X), -X)


def weights(count: int) -> onnx.ModelProto:
    """Exporters listed all weights as inputs."""
    names = [f"w{i}" for i in range(count)]
    nodes = " ".join(f"t{i + 1} = Add(t{i}, {name})" for i, name in enumerate(names))
    inputs = "".join(f", float[3] {name}" for name in names)
    return model_of(f"g (float[3] t0{inputs}) => (float[3] t{count}) {{ {nodes} }}",
                    **{name: np.ones(3, np.float32) for name in names})


def test_many_weights_are_constants_unless_the_option_says_otherwise() -> None:
    assert len(compiled(weights(20)).inputs) == 1
    some = compiled(weights(20), "--overridable", "w3,w7")
    assert [spec.name for spec in some.inputs] == ["t0", "w3", "w7"]
    np.testing.assert_array_equal(some.run({"t0": X, "w7": OTHER})["t20"], X + 19 + OTHER)
    assert len(compiled(weights(20), "--overridable", "all").inputs) == 21
    assert len(compiled(product(), "--overridable", "none").inputs) == 1
    with pytest.raises(sluice.InvalidArgument, match="--overridable q: no such initializer"):
        compiled(product(), "--overridable", "q")


def test_a_package_keeps_the_default(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "product.sluice"
    sluice.compile(product().SerializeToString(), path, options=["--packed-only"])
    model = sluice.load(path)
    np.testing.assert_array_equal(model(X), X * K)
    np.testing.assert_array_equal(model(X, OTHER), X * OTHER)


def test_a_request_gives_a_value_or_not(runtime: sluice.Runtime) -> None:
    model = runtime.load(compiled(product()))
    assert [spec.has_default for spec in model.inputs] == [False, True]
    for _ in range(2):
        np.testing.assert_array_equal(model(X), X * K)
        np.testing.assert_array_equal(model(X, OTHER), X * OTHER)
        np.testing.assert_array_equal(model.run({"x": X})["y"], X * K)
        np.testing.assert_array_equal(model.submit(X, OTHER).result(30), X * OTHER)
    with pytest.raises(sluice.InvalidArgument, match='"x"'):
        model.run({"k": OTHER})


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


def run_command(*arguments: str) -> str:
    return subprocess.run([os.environ["SLUICE_PROGRAM"], *arguments], check=True, capture_output=True,
                          text=True).stdout


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
