"""Inputs with a default: initializers that an ONNX file lists as inputs."""

from __future__ import annotations

import pathlib
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
    """Initializers of these values; outputs of the text whose shape is [_] have none."""
    model = parser.parse_model(f'<ir_version: {ir}, opset_import: ["": 20]> {text}')
    model.graph.initializer.extend(numpy_helper.from_array(np.asarray(value), name)
                                   for name, value in defaults.items())
    for output in model.graph.output:
        if [dim.dim_param for dim in output.type.tensor_type.shape.dim] == ["_"]:
            output.type.tensor_type.ClearField("shape")
    return model


def product(ir: int = 9) -> onnx.ModelProto:
    """y = x k; the input with a default stands first in the file."""
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
    with pytest.raises(sluice.InvalidArgument, match=r'input "k": got i64\[3\], model takes f32\[3\]'):
        model.run({"x": X, "k": K.astype(np.int64)})
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
    proto = model_of(f"g ({inputs}) => (float[_] y) {{ y = {node} }}", s=np.int64(default), end=np.int64([4]))
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
    model = compiled(model_of("g (float[3] x, float[M,3] k) => (float[_] y) { y = Add(x, k) }", k=K[None]))
    for k in (np.ones((5, 3), np.float32), np.ones((0, 3), np.float32), K[None]):
        np.testing.assert_array_equal(model.run({"x": X, "k": k})["y"], X + k)
    np.testing.assert_array_equal(model(X), (X + K)[None])
    with pytest.raises(sluice.InvalidArgument, match=r'input "k": got f32\[5,4\], model takes f32\[k_dim,3\]'):
        model.run({"x": X, "k": np.ones((5, 4), np.float32)})


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
    with pytest.raises(sluice.NotFound, match="--overridable w3 to give"):
        compiled(weights(20)).run({"t0": X, "w3": OTHER})
    some = compiled(weights(20), "--overridable", "w3,w7")
    assert [spec.name for spec in some.inputs] == ["t0", "w3", "w7"]
    np.testing.assert_array_equal(some.run({"t0": X, "w7": OTHER})["t20"], X + 19 + OTHER)
    assert len(compiled(weights(20), "--overridable", "all").inputs) == 21
    assert len(compiled(product(), "--overridable", "none").inputs) == 1
    with pytest.raises(sluice.InvalidArgument, match="--overridable q: no such initializer"):
        compiled(product(), "--overridable", "q")


#: Layers whose weights old exporters listed as inputs: nodes, shapes of the weights, the result.
LAYERS = {
    "MatMul": ("y = MatMul(x, w0)", [(3, 3)], lambda x, w: x @ w),
    "Gemm": ("y = Gemm<transB = 1>(x, w0, w1)", [(3, 3), (3,)], lambda x, w, b: x @ w.T + b),
    "Conv": ("four = Constant<value_ints = [1, 1, 3, 3]>() image = Reshape(x, four) c = Conv(image, w0, w1) "
             "flat = Constant<value_ints = [3, 3]>() y = Reshape(c, flat)",
             [(1, 1, 1, 1), (1,)], lambda x, w, b: x * w[0, 0, 0, 0] + b),
    "BatchNormalization": ("y = BatchNormalization<epsilon = 0.0>(x, w0, w1, w2, w3)", [(3,)] * 4,
                           lambda x, s, b, mean, var: (x - mean) / np.sqrt(var) * s + b),
    "LSTM": ("three = Constant<value_ints = [1, 3, 3]>() s = Reshape(x, three) hs, h, c = LSTM<hidden_size = 1>"
             "(s, w0, w1, w2) flat = Constant<value_ints = [3, 1]>() y = Reshape(h, flat)",
             [(1, 4, 3), (1, 4, 1), (1, 8)], None),
}


@pytest.mark.parametrize("layer", LAYERS)
def test_weights_of_layers_are_constants_where_all_initializers_are_inputs(layer: str) -> None:
    nodes, shapes, expected = LAYERS[layer]
    weights = {f"w{i}": np.random.default_rng(i).uniform(0.5, 2, shape).astype(np.float32)
               for i, shape in enumerate(shapes)}
    listed = "".join(f", float[{','.join(map(str, shape))}] w{i}" for i, shape in enumerate(shapes))
    model = model_of(f"g (float[3,3] x{listed}) => (float[_] y) {{ {nodes} }}", **weights)
    x = np.random.default_rng(9).uniform(-1, 1, (3, 3)).astype(np.float32)
    constant, overridable = compiled(model), compiled(model, "--overridable", "all")
    assert [spec.name for spec in constant.inputs] == ["x"]
    np.testing.assert_allclose(constant(x), overridable(x), rtol=1e-5, atol=1e-6)
    other = {name: value + 1 for name, value in weights.items()}
    if expected is not None:
        np.testing.assert_allclose(constant(x), expected(x, *weights.values()), rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(overridable(x, *other.values()), expected(x, *other.values()), rtol=1e-4, atol=1e-5)
    for name, value in other.items():
        with pytest.raises(sluice.NotFound, match=f'no input "{name}".*compile with --overridable {name} to give'):
            constant.run({"x": x, name: value})
    with pytest.raises(sluice.NotFound) as unknown:
        compiled(model, "--overridable", "all").run({"x": x, "w9": x})
    assert "--overridable" not in str(unknown.value)


def test_a_package_keeps_the_default(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "product.sluice"
    sluice.compile(product().SerializeToString(), path, options=["--packed-only"])
    model = sluice.load(path)
    np.testing.assert_array_equal(model(X), X * K)
    np.testing.assert_array_equal(model(X, OTHER), X * OTHER)


def test_each_of_two_may_be_given() -> None:
    model = compiled(model_of("g (float[3] x, float[3] k, float[3] b) => (float[3] y) { m = Mul(x, k) y = Add(m, b) }",
                              b=OTHER, k=K))
    for k in (None, OTHER, K):
        for b in (None, K):
            feeds = {"x": X} | ({} if k is None else {"k": k}) | ({} if b is None else {"b": b})
            np.testing.assert_array_equal(model.run(feeds)["y"],
                                          X * (K if k is None else k) + (OTHER if b is None else b))


def test_a_loop_runs_as_often_as_its_default_or_the_value() -> None:
    model = compiled(model_of(
        """g (float[3] x, int64 n, float[3] k) => (float[3] y) {
        c = Constant<value = bool {1}>()
        y = Loop(n, c, x) <body = b (int64 i, bool c1, float[3] v) => (bool c2, float[3] w)
            { c2 = Identity(c1) w = Add(v, k) }>}""", n=np.int64(2), k=K))
    for feeds, n, k in (({}, 2, K), ({"n": np.int64(5)}, 5, K), ({"k": OTHER}, 2, OTHER), ({"n": np.int64(0)}, 0, K)):
        np.testing.assert_array_equal(model.run({"x": X, **feeds})["y"], X + n * k)


#: Defaults that a pass uses where they are constants: neutral elements, masks, limits, scales.
FOLDED = {
    "Mul": ("Mul(x, k)", {"k": np.ones(3, np.float32)}, lambda x, k: x * k),
    "Add": ("Add(x, k)", {"k": np.zeros(3, np.float32)}, lambda x, k: x + k),
    "Pow": ("Pow(x, k)", {"k": np.ones(3, np.float32)}, lambda x, k: x ** k),
    "Where": ("Where(k, x, x2)", {"k": np.ones(3, bool)}, lambda x, k: np.where(k, x, 2 * x)),
    "Clip": ("Clip(x, k)", {"k": np.float32(-3)}, lambda x, k: np.maximum(x, k)),
    "QuantizeLinear": ("DequantizeLinear(q, k, zero)", {"k": np.float32(0.5)}, lambda x, k: np.round(x / k) * k),
}
GIVEN = {"Pow": np.float32([2, 2, 2]), "Where": np.bool_([1, 0, 1]), "Clip": np.float32(1.5),
         "QuantizeLinear": np.float32(1)}


@pytest.mark.parametrize("operator", FOLDED)
def test_no_pass_folds_a_default(operator: str) -> None:
    node, defaults, expected = FOLDED[operator]
    (default,) = defaults.values()
    kind = {"b": "bool", "f": "float"}[default.dtype.kind]
    shape = "[3]" if default.ndim else ""
    first = {"Where": "x2 = Add(x, x)", "QuantizeLinear": "q = QuantizeLinear(x, k, zero)"}
    model = compiled(model_of(
        f"g (float[3] x, {kind}{shape} k) => (float[3] y) {{ {first.get(operator, '')} y = {node} }}",
        zero=np.int8(0), **defaults))
    given = GIVEN.get(operator, OTHER)
    for feeds, k in (({}, default), ({"k": given}, given), ({}, default)):
        np.testing.assert_array_equal(model.run({"x": X, **feeds})["y"], expected(X, k))


def test_a_normalization_behind_a_convolution_takes_its_scale() -> None:
    one, two = np.ones(1, np.float32), np.float32([2])
    model = compiled(model_of(
        """g (float[1,1,2,2] x, float[1] s) => (float[1,1,2,2] y) {
        c = Conv(x, w) y = BatchNormalization<epsilon = 0.0>(c, s, zero, zero, one) }""",
        s=one, w=np.float32([[[[3]]]]), zero=0 * one, one=one))
    x = np.float32([[[[1, 2], [3, 4]]]])
    np.testing.assert_allclose(model(x), 3 * x)
    np.testing.assert_allclose(model(x, two), 6 * x)


def test_a_package_without_portable_weights_keeps_a_default_of_their_bytes(tmp_path: pathlib.Path) -> None:
    weight = np.arange(9, dtype=np.float32).reshape(3, 3)
    model = model_of("g (float[3,3] x, float[3,3] k) => (float[3,3] y) { m = MatMul(x, w) y = Add(m, k) }",
                     k=weight, w=weight)
    sluice.compile(model.SerializeToString(), tmp_path / "m.sluice", options=["--packed-only"])
    loaded = sluice.load(tmp_path / "m.sluice")
    x = np.ones((3, 3), np.float32)
    np.testing.assert_allclose(loaded(x), x @ weight + weight)
    np.testing.assert_allclose(loaded(x, x), x @ weight + x)


def test_weights_that_must_be_constants_are_refused_with_the_option() -> None:
    node = 'y = com.microsoft.MatMulNBits<K = 32, N = 1, bits = 4, block_size = 32>(x, b, s)'
    model = model_of(f"g (float[1,32] x, uint8[1,1,16] b) => (float[1,1] y) {{ {node} }}",
                     b=np.full((1, 1, 16), 0x99, np.uint8), s=np.ones(1, np.float32))
    model.opset_import.append(onnx.helper.make_opsetid("com.microsoft", 1))
    with pytest.raises(sluice.Error, match="input 1 must be a constant; --overridable none"):
        compiled(model)
    np.testing.assert_allclose(compiled(model, "--overridable", "none")(np.ones((1, 32), np.float32)), [[32]])
