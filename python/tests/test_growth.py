"""Decoders whose past grows: what a model keeps for shapes of earlier runs, by its own counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sluice
from onnx import TensorProto, helper, numpy_helper

WIDTH = 16
LAYERS = 2


def decoder(in_arena: bool) -> Any:
    """One token in; its result and the longer past out. With `in_arena`, the scores are tensors of the
    arena, which grow with the past; without, attention is one kernel."""
    f32 = TensorProto.FLOAT
    random = np.random.default_rng(0)
    nodes, constants, state = [], [], "x"
    inputs = [helper.make_tensor_value_info("x", f32, [1, WIDTH])]
    outputs = []

    def node(kind: str, names: list[str], result: str, **attributes: Any) -> str:
        nodes.append(helper.make_node(kind, names, [result], **attributes))
        return result

    for i in range(LAYERS):
        for name in "qkvo":
            value = random.standard_normal((WIDTH, WIDTH)).astype(np.float32) * 0.1
            constants.append(numpy_helper.from_array(value, f"w{name}{i}"))
        whole = {}
        for name in "kv":
            inputs.append(helper.make_tensor_value_info(f"p{name}{i}", f32, ["past", WIDTH]))
            row = node("MatMul", [state, f"w{name}{i}"], f"row_{name}{i}")
            whole[name] = node("Concat", [f"p{name}{i}", row], f"{name}{i}", axis=0)
            outputs.append(helper.make_tensor_value_info(whole[name], f32, ["present", WIDTH]))
        query = node("MatMul", [state, f"wq{i}"], f"q{i}")
        scores = node("MatMul", [query, node("Transpose", [whole["k"]], f"kt{i}", perm=[1, 0])], f"s{i}")
        if in_arena:
            scores = node("Tanh", [scores], f"ts{i}")
        mixed = node("MatMul", [node("Softmax", [scores], f"p{i}", axis=-1), whole["v"]], f"m{i}")
        state = node("Add", [state, node("MatMul", [mixed, f"wo{i}"], f"o{i}")], f"x{i + 1}")
    outputs.insert(0, helper.make_tensor_value_info(state, f32, [1, WIDTH]))
    graph = helper.make_graph(nodes, "decoder", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


def feeds_of(length: int) -> dict[str, Any]:
    past = np.full((length, WIDTH), 0.1, np.float32)
    return {"x": np.ones((1, WIDTH), np.float32)} | {f"p{k}{i}": past for i in range(LAYERS) for k in "kv"}


def check_flat(run: Callable[[int], Any], recorded: Callable[[], int], tokens: int) -> None:
    """A list of another length may take a tenth more: on some processors a longer one is divided among
    workers, or needs more scratch. Lists that were kept for every length would take many times as much."""
    most = 0
    for length in range(tokens):
        run(length)
        if length < 64:
            most = max(most, recorded())
            assert most > 0
        assert recorded() <= most * 11 // 10, length


@pytest.mark.parametrize("in_arena", [False, True])
@pytest.mark.parametrize("threads", [1, 2])
def test_memory_is_flat_while_a_past_grows(in_arena: bool, threads: int) -> None:
    model = sluice.compile(decoder(in_arena), threads=threads)
    check_flat(lambda length: model.run(feeds_of(length)), lambda: model.recorded_bytes, 1500)


def test_a_shape_that_came_back_is_kept() -> None:
    model = sluice.compile(decoder(True), threads=1)
    for _ in range(3):
        for length in range(100):
            model.run(feeds_of(length))
        kept = model.recorded_bytes
    for length in range(100):
        model.run(feeds_of(length))
    assert model.recorded_bytes == kept
    fresh = sluice.compile(decoder(True), threads=1)
    for length in (7, 50, 99):
        for name, value in fresh.run(feeds_of(length)).items():
            np.testing.assert_array_equal(model.run(feeds_of(length))[name], value)


def test_statistics_count_recorded_bytes(runtime: sluice.Runtime) -> None:
    model = runtime.load(sluice.compile(decoder(True)))
    assert model.statistics().recorded_bytes == 0
    check_flat(lambda length: model.run(feeds_of(length)), lambda: model.statistics().recorded_bytes, 300)
