"""Traces that python/tests_torch/record_graphs.py recorded with torch, replayed without it."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import onnx
import pytest
import sluice
from sluice.tracing import bucket_graph, size_buckets
from sluice.tracing.batching import batching_of
from sluice.tracing.compiling import compile_model
from sluice.tracing.weights import Apart, Weight

FOLDER = pathlib.Path(__file__).with_name("recorded")
INDEX: dict[str, Any] = json.loads((FOLDER / "index.json").read_text())["graphs"]
TOLERANCE = 1e-4
CALLED = [name for name, entry in INDEX.items() if "calls" in entry and name not in ("apart", "narrow", "sizes")]


def graph(name: str) -> onnx.ModelProto:
    return onnx.load_model(FOLDER / f"{name}.onnx")


def tensors(name: str) -> dict[str, np.ndarray]:
    with np.load(FOLDER / f"{name}.npz") as file:
        return dict(file)


def compiled(name: str) -> sluice.Model:
    return compile_model(graph(name), INDEX.get(name, {}).get("options", []), None)


def calls_of(name: str) -> Iterator[tuple[list[np.ndarray], list[np.ndarray]]]:
    """Arguments and eager results of each call."""
    read = tensors(name)
    for i in range(INDEX[name]["calls"]):
        yield tuple([read[f"{i}.{kind}.{j}"] for j in range(sum(key.startswith(f"{i}.{kind}.") for key in read))]
                    for kind in ("in", "out"))  # type: ignore[misc]


def run(model: Any, args: list[np.ndarray], **more: Any) -> list[np.ndarray]:
    feeds = {spec.name: value.view(spec.dtype) if value.dtype != spec.dtype else value
             for spec, value in zip(model.inputs, args)}
    results = model.run({**feeds, **more})
    return [results[spec.name] for spec in model.outputs]


def assert_close(got: list[np.ndarray], want: list[np.ndarray]) -> None:
    assert len(got) == len(want)
    for one, other in zip(got, want):
        other = other.view(one.dtype) if one.dtype.itemsize == other.dtype.itemsize else other
        assert one.dtype == other.dtype and one.shape == other.shape
        np.testing.assert_allclose(one.astype(np.float64), other.astype(np.float64), rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.parametrize("name", CALLED)
def test_trace_agrees_with_eager_in_memory_and_from_its_file(name: str, tmp_path: pathlib.Path) -> None:
    model = compiled(name)
    model.save(tmp_path / "model.sluice")
    for each in (model, sluice.load(tmp_path / "model.sluice"), model.reopen(cores=[0])):
        for args, results in calls_of(name):
            assert_close(run(each, args), results)


@pytest.mark.parametrize("name", ["conditional", "encoder", "any_size"])
def test_command_line_runs_the_file(name: str, tmp_path: pathlib.Path) -> None:
    model = compiled(name)
    model.save(tmp_path / "model.sluice")
    args, results = next(calls_of(name))
    inputs = []
    for spec, value in zip(model.inputs, args):
        np.save(tmp_path / f"{spec.name}.npy", value)
        inputs += ["--input", f"{spec.name}={tmp_path / spec.name}.npy"]
    subprocess.run([os.environ["SLUICE_PROGRAM"], "run", tmp_path / "model.sluice", *inputs, "--output-dir", tmp_path],
                   check=True, capture_output=True)
    assert_close([np.load(tmp_path / f"{model.outputs[0].name}.npy")], results[:1])


@pytest.mark.parametrize("name", ["counter", "cache", "alias"])
def test_states_reset_and_belong_to_their_session(name: str) -> None:
    model: Any = compiled(name)
    steps = list(calls_of(name))
    other = model.session()
    for args, results in steps:
        assert_close(run(model, args), results)
    assert_close(run(other, steps[0][0]), steps[0][1])
    model.state.reset()
    for args, results in steps:
        assert_close(run(model, args), results)


def test_work_directory_shows_how(tmp_path: pathlib.Path) -> None:
    model = compile_model(graph("encoder"), [], tmp_path)
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["inputs"] == [spec.name for spec in model.inputs] and report["operators"]["LayerNormalization"] == 2
    assert report["torch"].startswith("2.")
    assert sluice.compile(tmp_path / "model.onnx").inputs[0].type == model.inputs[0].type
    assert (tmp_path / "graphs" / "00-import.txt").exists()


def test_compiler_arguments_reach_the_compiler() -> None:
    (args, results), = calls_of("narrow")
    error = np.abs(run(compiled("narrow"), args)[0] - results[0]).max()
    assert 1e-6 < error < 2e-2, "bf16 rounds"


def test_weights_apart_are_replaced() -> None:
    kept = Apart(compiled("apart").metadata)
    weights = tensors("apart_weights")
    given = {name: Weight(str(value.dtype), list(value.shape)) for name, value in weights.items()}
    first, second = calls_of("apart")
    assert_close(run(compiled("apart"), first[0]), first[1])
    filled = kept.filled(given, lambda name: weights[name].tobytes(), lambda name, other: True)
    model = compile_model(filled, kept.options, None)
    assert_close(run(model, second[0]), second[1])
    assert Apart(model.metadata).options == kept.options, "it takes others"
    del given["conv.bias"]
    given["head.weight"] = Weight("float32", [2, 5])
    with pytest.raises(sluice.InvalidArgument, match='"conv.bias" is missing; "head.weight" is float32\\[2, 5\\], the'):
        kept.filled(given, lambda name: b"", lambda name, other: True)
    with pytest.raises(sluice.FailedPrecondition, match="inline_weights=False"):
        Apart(compiled("encoder").metadata)


def test_buckets_share_a_package_that_a_number_selects() -> None:
    names = ["bucket0", "bucket1", "bucket2"]
    merged = bucket_graph.merge([graph(name) for name in names])
    model = compile_model(merged, [], None)
    assert len({tensor.name for tensor in merged.graph.initializer if len(tensor.dims) == 4}) == 1, "weights are shared"
    for number, name in enumerate(names):
        (args, results), = calls_of(name)
        feeds = {model.inputs[1].name: args[0], "bucket": np.int64(number)}
        assert_close([model.run(feeds)[model.outputs[0].name]], results)
    with pytest.raises(sluice.Error):
        model.run({model.inputs[1].name: args[0], "bucket": np.int64(3)})
    with pytest.raises(sluice.InvalidArgument, match="rename that input"):
        other = graph("bucket0")
        other.graph.input[0].name = "bucket"
        bucket_graph.merge([other, other])


def test_size_buckets_pad_and_cut() -> None:
    sizes = [INDEX[name]["sizes"] for name in ("size0", "size1")]
    buckets = size_buckets.Buckets({"seq": [each["seq"] for each in sizes]})
    models = [graph(name) for name in ("size0", "size1")]
    outputs = [value.name for value in models[0].graph.output]
    observed = [size_buckets.Observed(each, dict(zip(outputs, (value.shape for value in next(calls_of(name))[1]))))
                for each, name in zip(sizes, ("size0", "size1"))]
    model = compile_model(size_buckets.merge_sizes(models, observed, [[(1, "seq")], [(1, "seq")]], buckets), [], None)
    for args, results in calls_of("sizes"):
        assert_close(run(model, args), results)
    check = size_buckets.SizeCheck.of(model.metadata)
    assert check is not None
    with pytest.raises(sluice.InvalidArgument, match="largest bucket takes 8"):
        check.check([np.zeros((2, 9)), np.zeros((2, 9))])


def test_batches_of_any_size_are_split_and_padded() -> None:
    model = compiled("bucket0")
    (args, results), = calls_of("bucket0")
    batching = batching_of(model.inputs, model.outputs, np.ndarray, np.concatenate)
    for rows in (1, 2, 5):
        got = batching.run(lambda values: run(model, values), [args[0].repeat(rows, 0)])
        assert_close(got, [results[0].repeat(rows, 0)])
    for wrong, message in (([[1]], "is a list"), ([args[0][:, :, :2]], "changes no other dimension"),
                           ([args[0][:0]], "at least one row")):
        with pytest.raises(sluice.InvalidArgument, match=message):
            batching.run(lambda values: values, wrong)  # type: ignore[arg-type]


def test_parts_in_sluice_compute_what_they_did_in_the_whole() -> None:
    values, steps = tensors("parts"), INDEX["parts"]["steps"]
    assert [step["is_sluice"] for step in steps] == [True, False, True]
    for i, step in enumerate(steps):
        if step["is_sluice"]:
            got = run(compiled(f"part{i}"), [values[name] for name in step["inputs"]])
            assert_close(got, [values[name] for name in step["outputs"]])
    eager = tensors("parts_eager")
    for name, value in INDEX["parts"]["outputs"].items():
        assert_close([values[value]], [eager[name]])


@pytest.mark.parametrize("feeds, message", [
    ({"x": np.zeros((2, 1, 8), np.float32)}, 'input "x": got f32\\[2,1,8\\]'),
    ({"x": np.zeros((2, 1, 8, 8))}, "got f64"), ({}, '"x"'), ({"y": np.zeros(1)}, '"y"')])
def test_wrong_inputs_are_named(feeds: Mapping[str, Any], message: str) -> None:
    with pytest.raises((sluice.InvalidArgument, sluice.NotFound), match=message):
        compiled("any_size").run(feeds)


def test_operators_that_sluice_lacks_are_all_listed() -> None:
    model = graph("encoder")
    kinds = {"Gemm": "Gemmoose", "MatMul": "Matmoose", "LayerNormalization": "LayerMoose"}
    for node in model.graph.node:
        node.op_type = kinds.get(node.op_type, node.op_type)
    with pytest.raises(sluice.Unimplemented, match="LayerMoose.*(Gem|Mat)moose|(Gem|Mat)moose.*LayerMoose"):
        compile_model(model, [], None)


def test_nothing_of_it_needs_torch() -> None:
    code = ("import sys; sys.modules['torch'] = None; from test_recorded import *\n"
            "assert run(compiled('any_size'), next(calls_of('any_size'))[0])")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          cwd=pathlib.Path(__file__).parent)
    assert done.returncode == 0, done.stderr
