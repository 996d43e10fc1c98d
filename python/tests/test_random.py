"""Operators that draw random numbers: no two draws are alike, and a seed repeats them all."""

from __future__ import annotations

import os
import pathlib
import subprocess
from typing import Any

import numpy as np
import onnx
import pytest
import sluice
from onnx import parser

X = np.full((40, 50), 0.5, np.float32)
WAYS = [("cpu", ()), ("cpu", ("--no-optimize",)), ("reference", ()), ("reference", ("--no-optimize",))]
# A node that writes {y}, from x: f32[40,50] of 0.5 and t: true.
DRAWS = {
    "RandomNormal": "{y} = RandomNormal<shape=[40,50]>()",
    "RandomUniform": "{y} = RandomUniform<shape=[40,50]>()",
    "RandomNormalLike": "{y} = RandomNormalLike(x)",
    "RandomUniformLike": "{y} = RandomUniformLike(x)",
    "Bernoulli": "{y} = Bernoulli(x)",
    "Multinomial": "{y}i = Multinomial<sample_size=50>(x) {y} = Cast<to=1>({y}i)",
    "Dropout": "{y} = Dropout(x, , t)",
}
BODIES = {
    "Loop": """y, all = Loop<body = b (int64 i, bool c, float[A,B] s) => (bool c2, float[A,B] s2, float[A,B] o) {
        c2 = Identity(c) s2 = Identity(s) o = RandomNormalLike(s) }>(n, t, x)""",
    "loop in a loop": """y, all = Loop<body = b (int64 i, bool c, float[A,B] s) => (bool c2, float[A,B] s2, float[A,B] o) {
        c2 = Identity(c) s2 = Identity(s) k = Constant<value = int64 {1}>()
        o = Loop<body = d (int64 j, bool e, float[A,B] u) => (bool e2, float[A,B] w) {
            e2 = Identity(e) r = RandomNormalLike(u) w = Add(u, r) }>(k, t, s) }>(n, t, x)""",
    "If in a loop": """y, all = Loop<body = b (int64 i, bool c, float[A,B] s) => (bool c2, float[A,B] s2, float[A,B] o) {
        c2 = Identity(c) s2 = Identity(s)
        o = If<then_branch = p () => (float[A,B] v) { v = RandomNormalLike(s) },
               else_branch = q () => (float[A,B] v) { v = Identity(s) }>(c) }>(n, t, x)""",
    "Scan": """k = Constant<value = float[4,1] {0, 0, 0, 0}>()
        y, all = Scan<num_scan_inputs = 1, body = b (float[A,B] s, float[1] i) => (float[A,B] s2, float[A,B] o) {
        s2 = Identity(s) o = RandomNormalLike(s) }>(x, k)""",
    "Dropout in a loop": """y, all = Loop<body = b (int64 i, bool c, float[A,B] s) => (bool c2, float[A,B] s2, float[A,B] o) {
        c2 = Identity(c) s2 = Identity(s) o = Dropout(s, , t) }>(n, t, x)""",
}


def model(nodes: str, outputs: str, extra: str = "") -> onnx.ModelProto:
    return parser.parse_model(
        f'<ir_version: 9, opset_import: ["": 20]> g (float[A,B] x{extra}) => ({outputs}) '
        f"{{ t = Constant<value = bool {{1}}>() {nodes} }}")


def two_of(kind: str) -> onnx.ModelProto:
    nodes = " ".join(DRAWS[kind].format(y=name) for name in ("y", "z"))
    return model(nodes, "float[C,D] y, float[E,F] z")


def compiled(proto: onnx.ModelProto, backend: str = "cpu", options: Any = (), **more: Any) -> sluice.Model:
    return sluice.compile(proto, backends=(backend,), options=options, progress=False, **more)


def draws(loaded: Any, runs: int = 2, **feeds: Any) -> list[Any]:
    """All outputs of the runs, one after the other."""
    return [value for _ in range(runs) for value in loaded.run({"x": X, **feeds}).values()]


def are_all_different(arrays: list[Any]) -> bool:
    return all((a != b).any() for i, a in enumerate(arrays) for b in arrays[:i])


@pytest.mark.parametrize("kind", DRAWS)
@pytest.mark.parametrize("backend,options", WAYS)
def test_nodes_and_runs_draw_different_numbers(kind: str, backend: str, options: Any) -> None:
    assert are_all_different(draws(compiled(two_of(kind), backend, options)))


@pytest.mark.parametrize("kind", DRAWS)
def test_a_seed_repeats_all_numbers_on_every_way(kind: str) -> None:
    expected = draws(compiled(two_of(kind), seed=7), runs=3)
    for backend, options in WAYS:
        got = draws(compiled(two_of(kind), backend, options, seed=7), runs=3)
        for a, b in zip(got, expected, strict=True):
            np.testing.assert_array_equal(a, b)
    assert (draws(compiled(two_of(kind), seed=8))[0] != expected[0]).any()


def test_numbers_are_not_correlated() -> None:
    y, z = draws(compiled(two_of("RandomNormal"), seed=1), runs=1)
    assert abs(np.corrcoef(y.ravel(), z.ravel())[0, 1]) < 0.1
    assert abs(y.mean()) < 0.1 and abs(y.std() - 1) < 0.1


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("backend,options", WAYS)
def test_iterations_draw_different_numbers(name: str, backend: str, options: Any) -> None:
    proto = model(BODIES[name], "float[C,D] y, float[T,E,F] all", ", int64 n")
    feeds = {"n": np.array(4)} if "Loop" in BODIES[name] else {}
    if not feeds:
        del proto.graph.input[1]
    loaded = compiled(proto, backend, options, seed=5)
    runs = [loaded.run({"x": X, **feeds})["all"] for _ in range(2)]
    assert runs[0].shape == (4, 40, 50)
    assert are_all_different([*runs[0], *runs[1]])
    again = compiled(proto, backend, options, seed=5).run({"x": X, **feeds})["all"]
    np.testing.assert_array_equal(again, runs[0])


@pytest.mark.parametrize("executor", ["linear", "dataflow", "parallel"])
def test_executors_draw_the_same_numbers(executor: str) -> None:
    """Branches that are long enough to run side by side."""
    branches = " ".join(f"r{i} = RandomNormalLike(big) y{i} = ReduceMean<keepdims=0>(r{i})" for i in range(6))
    proto = model(f"s = Constant<value = int64[2] {{50, 20}}>() big = Tile(x, s) {branches}",
                  ", ".join(f"float y{i}" for i in range(6)))
    proto.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 40
    proto.graph.input[0].type.tensor_type.shape.dim[1].dim_value = 50
    expected = draws(compiled(proto, "reference", seed=3), runs=3)
    got = draws(compiled(proto, options=("--executor", executor), seed=3), runs=3)
    for a, b in zip(got, expected, strict=True):
        np.testing.assert_allclose(a, b, 1e-4, 1e-6)


def test_set_seed_starts_again() -> None:
    loaded = compiled(two_of("RandomNormalLike"), seed=3)
    first = draws(loaded)
    loaded.set_seed(3)
    for a, b in zip(draws(loaded), first, strict=True):
        np.testing.assert_array_equal(a, b)
    loaded.set_seed(4)
    assert (draws(loaded)[0] != first[0]).any()


def test_loads_without_a_seed_differ() -> None:
    loaded = compiled(two_of("RandomNormalLike"))
    assert are_all_different([*draws(loaded), *draws(loaded.reopen())])


@pytest.mark.parametrize("seed", [-1, 1 << 64])
def test_a_seed_of_more_than_64_bits_is_refused(seed: int) -> None:
    with pytest.raises(sluice.InvalidArgument, match="2\\*\\*64"):
        compiled(two_of("Bernoulli"), seed=seed)


@pytest.mark.parametrize("node", ["RandomNormalLike<seed=3.0>(x)", "RandomUniform<seed=3.0, shape=[40,50]>()",
                                  "Bernoulli<seed=3.0>(x)", "Dropout<seed=3>(x, , t)"])
def test_an_attribute_seeds_the_node_s_own_generator(node: str) -> None:
    """As in onnxruntime: nodes of one seed are alike, every load repeats them, and runs go on."""
    proto = model(f"y = {node} z = {node}", "float[C,D] y, float[E,F] z")
    y, z, later, _ = draws(compiled(proto))
    np.testing.assert_array_equal(y, z)
    assert (y != later).any()
    for a, b in zip(draws(compiled(proto, "reference", seed=9)), [y, z, later, later], strict=True):
        np.testing.assert_array_equal(a, b)
    other = model(f"y = {node.replace('seed=3', 'seed=4')}", "float[C,D] y")
    assert (draws(compiled(other))[0] != y).any()


@pytest.mark.parametrize("node", ["Bernoulli(k)", "RandomNormalLike(k)", "Dropout(k, , t)"])
def test_constants_are_not_folded_through_them(node: str) -> None:
    proto = model(f"k = ConstantOfShape<value = float[1] {{0.5}}>(s) y = {node}", "float[C,D] y")
    proto.graph.initializer.append(onnx.numpy_helper.from_array(np.array([40, 50]), "s"))
    assert are_all_different(draws(compiled(proto)))


@pytest.mark.parametrize("element", ["float", "double", "float16", "bfloat16"])
@pytest.mark.parametrize("backend,options", WAYS)
def test_dropout_in_training(element: str, backend: str, options: Any) -> None:
    proto = model("v = Cast<to=R>(x) d, mask = Dropout(v, ratio, t) y = Cast<to=1>(d)".replace(
        "R", str(onnx.TensorProto.DataType.Value({"float": "FLOAT", "double": "DOUBLE"}.get(element, element.upper())))),
        "float[C,D] y, bool[E,F] mask")
    proto.graph.initializer.append(onnx.numpy_helper.from_array(np.float32(0.25), "ratio"))
    y, mask = draws(compiled(proto, backend, options, seed=2), runs=1)
    assert 0.7 < mask.mean() < 0.8
    np.testing.assert_allclose(y, np.where(mask, 0.5 / 0.75, 0), 1e-2)


def test_dropout_follows_the_mode_of_the_run() -> None:
    proto = model("y, mask = Dropout(x, r, m)", "float[C,D] y, bool[E,F] mask", ", bool m, float r")
    loaded = compiled(proto)
    y, mask = draws(loaded, 1, m=np.array(False), r=np.float32(0.5))
    assert mask.all() and (y == X).all()
    y, mask = draws(loaded, 1, m=np.array(True), r=np.float32(0))
    assert mask.all() and (y == X).all()
    y, mask = draws(loaded, 1, m=np.array(True), r=np.float32(0.9))
    assert 0.05 < mask.mean() < 0.15 and (y[mask] > 4.9).all() and (y[~mask] == 0).all()
    for ratio in (1.0, -0.1, float("nan")):
        with pytest.raises(sluice.InvalidArgument, match="ratio"):
            draws(loaded, 1, m=np.array(True), r=np.float32(ratio))


@pytest.mark.parametrize("element", ["float", "double", "float16", "bfloat16"])
@pytest.mark.parametrize("backend,options", WAYS)
def test_batch_normalization_in_training(element: str, backend: str, options: Any) -> None:
    number = onnx.TensorProto.DataType.Value({"float": "FLOAT", "double": "DOUBLE"}.get(element, element.upper()))
    names = ["x", "scale", "bias", "mean", "var"]
    casts = " ".join(f"{name}_ = Cast<to={number}>({name})" for name in names)
    proto = parser.parse_model(
        f'<ir_version: 9, opset_import: ["": 20]> g (float[N,3,H] x) => (float[N,3,H] y, float[3] m, float[3] v) {{ {casts} '
        "a, b, c = BatchNormalization<training_mode=1, momentum=0.8>(x_, scale_, bias_, mean_, var_) "
        "y = Cast<to=1>(a) m = Cast<to=1>(b) v = Cast<to=1>(c) }")
    rng = np.random.default_rng(4)
    x = rng.standard_normal((5, 3, 7)).astype(np.float32)
    scale, bias, mean, var = (rng.random(3).astype(np.float32) + 0.5 for _ in range(4))
    for name, value in zip(names[1:], (scale, bias, mean, var)):
        proto.graph.initializer.append(onnx.numpy_helper.from_array(value, name))
    y, m, v = compiled(proto, backend, options).run({"x": x}).values()
    own_mean, own_var = x.mean((0, 2)), x.var((0, 2))
    normal = (x - own_mean[:, None]) / np.sqrt(own_var[:, None] + 1e-5)
    close = {"float": 1e-4, "double": 1e-4, "float16": 1e-2, "bfloat16": 8e-2}[element]
    np.testing.assert_allclose(y, normal * scale[:, None] + bias[:, None], close, close)
    np.testing.assert_allclose(m, mean * 0.8 + own_mean * 0.2, close, close)
    np.testing.assert_allclose(v, var * 0.8 + own_var * 0.2, close, close)


def test_requests_of_a_runtime_follow_the_seed_of_the_load(runtime: sluice.Runtime) -> None:
    package = compiled(two_of("RandomNormalLike"), seed=11)
    expected = draws(package, 3)
    for _ in range(2):
        with runtime.load(package, name="noise", seed=11) as loaded:
            for a, b in zip(draws(loaded, 3), expected, strict=True):
                np.testing.assert_array_equal(a, b)
    with runtime.load(package, name="noise") as loaded:
        assert are_all_different([*draws(loaded, 2), *expected])


def test_sessions_take_a_seed(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "noise.sluice"
    package = compiled(two_of("RandomNormalLike"), seed=11)
    package.save(path)
    y, z = np.zeros_like(X), np.zeros_like(X)
    session = sluice.Session(path, seed=11)
    session.bind_source("x", X).bind_sink("y", y).bind_sink("z", z)
    session.load()
    session.run()
    expected = draws(package, 1)
    np.testing.assert_array_equal(y, expected[0])
    np.testing.assert_array_equal(z, expected[1])


def test_the_command_takes_a_seed(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "noise.sluice"
    package = compiled(two_of("RandomNormalLike"), seed=11)
    package.save(path)
    np.save(tmp_path / "x.npy", X)

    def run(*options: str) -> Any:
        subprocess.run([os.environ["SLUICE_PROGRAM"], "run", path, "--input", f"x={tmp_path / 'x.npy'}",
                        "--output-dir", tmp_path / "out", *options], check=True, stdout=subprocess.DEVNULL)
        return np.load(tmp_path / "out" / "y.npy")

    np.testing.assert_array_equal(run("--seed", "11"), draws(package, 1)[0])
    assert (run() != run()).any()


def test_a_file_cannot_pass_the_state() -> None:
    proto = parser.parse_model('<ir_version: 9, opset_import: ["": 20]> g (uint64[3] s) => (float[2] y) '
                               "{ y = RandomNormal<shape=[2]>(s) }")
    with pytest.raises(sluice.Error, match="RandomNormal.*1 input"):
        compiled(proto)
