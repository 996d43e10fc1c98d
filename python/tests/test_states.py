"""States of a model on a device with memory of its own: an emulated GPU, which needs a CUDA toolkit for its kernels."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
import onnx
import pytest
import sluice
from onnx import TensorProto, helper, numpy_helper

PLACES, HEADS, SIZE, WIDTH, WORDS = 12, 2, 4, 8, 11
CACHE = (1, HEADS, PLACES, SIZE)


def decoder() -> onnx.ModelProto:
    """Two layers with caches of keys and values: one is written by TensorScatter, the other by ScatterND."""
    generator = np.random.default_rng(0)

    def weight(*shape: int) -> np.ndarray:
        return generator.standard_normal(shape, dtype=np.float32) / np.float32(np.sqrt(shape[0]))

    constants: dict[str, np.ndarray] = {
        "words": weight(WORDS, WIDTH), "out": weight(WIDTH, WORDS), "scale": np.ones(WIDTH, np.float32),
        "heads": np.array([1, 1, HEADS, SIZE]), "joined": np.array([1, 1, WIDTH]), "axis": np.array([0]),
        "places": np.arange(PLACES).reshape(1, 1, 1, PLACES),
        # (batch, head) of the tuples that ScatterND writes at.
        "rows": np.stack([np.zeros(HEADS, np.int64), np.arange(HEADS)], axis=1).reshape(1, HEADS, 1, 2),
        "row_shape": np.array([1, HEADS, 1, 1]),
    }
    nodes = [
        helper.make_node("Gather", ["words", "token"], ["row"]),
        helper.make_node("Unsqueeze", ["row", "axis"], ["x0"]),
        helper.make_node("LessOrEqual", ["places", "position"], ["mask"]),
        helper.make_node("Expand", ["position", "row_shape"], ["columns"]),
        helper.make_node("Concat", ["rows", "columns"], ["tuples"], axis=3),
    ]
    for layer in range(2):
        for kind in "qkv":
            constants[f"{kind}{layer}"] = weight(WIDTH, WIDTH)
        constants[f"o{layer}"] = weight(WIDTH, WIDTH)
        nodes.append(helper.make_node("LayerNormalization", [f"x{layer}", "scale"], [f"n{layer}"]))
        for kind in "qkv":
            nodes += [helper.make_node("MatMul", [f"n{layer}", f"{kind}{layer}"], [f"{kind}{layer}_wide"]),
                      helper.make_node("Reshape", [f"{kind}{layer}_wide", "heads"], [f"{kind}{layer}_split"]),
                      helper.make_node("Transpose", [f"{kind}{layer}_split"], [f"{kind}{layer}_now"],
                                       perm=[0, 2, 1, 3])]
        for kind in "kv":
            cache, now, after = f"{kind}_past{layer}", f"{kind}{layer}_now", f"{kind}_next{layer}"
            nodes.append(helper.make_node("TensorScatter", [cache, now, "position"], [after]) if layer == 0 else
                         helper.make_node("ScatterND", [cache, "tuples", now], [after]))
        nodes += [
            helper.make_node("Attention", [f"q{layer}_now", f"k_next{layer}", f"v_next{layer}", "mask"],
                             [f"mixed{layer}"]),
            helper.make_node("Transpose", [f"mixed{layer}"], [f"back{layer}"], perm=[0, 2, 1, 3]),
            helper.make_node("Reshape", [f"back{layer}", "joined"], [f"flat{layer}"]),
            helper.make_node("MatMul", [f"flat{layer}", f"o{layer}"], [f"sum{layer}"]),
            helper.make_node("Add", [f"x{layer}", f"sum{layer}"], [f"x{layer + 1}"]),
        ]
    nodes.append(helper.make_node("MatMul", ["x2", "out"], ["logits"]))
    names = [f"{kind}_{{}}{layer}" for layer in range(2) for kind in "kv"]
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, "decoder",
        [info("token", TensorProto.INT64, [1]), info("position", TensorProto.INT64, [1]),
         *(info(name.format("past"), TensorProto.FLOAT, CACHE) for name in names)],
        [info("logits", TensorProto.FLOAT, [1, 1, WORDS]),
         *(info(name.format("next"), TensorProto.FLOAT, CACHE) for name in names)],
        [numpy_helper.from_array(value, name) for name, value in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24)], ir_version=10)
    states = [{"name": name.format("cache"), "input": name.format("past"), "output": name.format("next"),
               "initial": "zero"} for name in names]
    helper.set_model_props(model, {"sluice.states": json.dumps(states)})
    return model


CACHE_BYTES = 4 * int(np.prod(CACHE))
STEP_BYTES = 8 + 8 + 2 * 4 * WORDS  #: token, position, and the logits, from the device and then to the caller
CACHES = 4


@pytest.fixture(params=["none", "masks"])
def on_device(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The decoder on an emulated GPU alone, with plain and with masked kernels."""
    monkeypatch.setenv("SLUICE_CUDA_CONFINE", request.param)
    return load("cuda-emulated")


def load(backend: str) -> Any:
    try:
        return sluice.compile(decoder(), backends=backend)
    except sluice.Error as error:
        if "no compiler for CUDA" in str(error):
            pytest.skip(str(error))
        raise


def write(model: Any, steps: int, first: int = 1) -> list[int]:
    """`first` and the words that the model finds likeliest behind it."""
    words = [first]
    for position in range(steps):
        logits = model(np.array([words[-1]]), np.array([position]))
        words.append(int(logits.argmax()))
    return words


def test_decoder_on_a_device_equals_reference(on_device: Any) -> None:
    whole = load("reference")
    for position, word in enumerate(np.random.default_rng(1).integers(WORDS, size=PLACES)):
        step = (np.array([word]), np.array([position]))
        np.testing.assert_allclose(on_device(*step), whole(*step), rtol=1e-4, atol=1e-5)
    for name, value in whole.state.snapshot().items():
        np.testing.assert_allclose(on_device.state[name], value, rtol=1e-4, atol=1e-5)


def aligned(value: int) -> np.ndarray:
    """What runs read where it lies; other arrays are copied once more."""
    array = sluice.empty(1, np.int64)
    array[0] = value
    return array


def copied_by(model: Any, position: int, word: int = 1) -> int:
    """Bytes that a step copies."""
    before = model.copied_bytes
    model(aligned(word), aligned(position))
    copied: int = model.copied_bytes - before
    return copied


def test_a_step_copies_tokens_and_logits_alone(on_device: Any) -> None:
    assert on_device.kept_bytes == 0
    assert copied_by(on_device, 0) == STEP_BYTES + CACHES * CACHE_BYTES, "the first values go to the device"
    assert on_device.kept_bytes == CACHES * CACHE_BYTES
    assert [copied_by(on_device, position) for position in range(1, 6)] == 5 * [STEP_BYTES]
    before = on_device.copied_bytes
    assert on_device.state["k_cache0"].any()
    assert on_device.copied_bytes == before, "of runs alone"
    assert copied_by(on_device, 6) == STEP_BYTES, "a value that was asked for is still there"
    assert STEP_BYTES < CACHE_BYTES


def test_a_state_that_is_set_goes_to_the_device_alone(on_device: Any) -> None:
    copied_by(on_device, 0)
    on_device.state["v_cache1"] = np.ones(CACHE, np.float32)
    assert copied_by(on_device, 1) == STEP_BYTES + CACHE_BYTES
    on_device.state.reset()
    assert copied_by(on_device, 0) == STEP_BYTES + CACHES * CACHE_BYTES


def test_states_of_a_model_on_the_host_are_kept_nowhere() -> None:
    model = load("cpu")
    write(model, 2)
    assert model.kept_bytes == 0
    assert model.session().kept_bytes == 0


def test_state_that_is_set_is_taken_to_the_device(on_device: Any) -> None:
    words = write(on_device, 6)
    kept = on_device.state.snapshot()
    on_device.state.reset()
    assert write(on_device, 6) == words
    on_device.state.reset()
    on_device.state.restore(kept)
    for name, value in kept.items():
        np.testing.assert_array_equal(on_device.state[name], value)
    on_device.state["k_cache0"] = np.zeros(CACHE, np.float32)
    on_device(np.array([3]), np.array([6]))
    after = on_device.state.snapshot()
    assert not after["k_cache0"][:, :, :6].any() and after["k_cache0"][:, :, 6].any()
    np.testing.assert_array_equal(after["v_cache1"][:, :, :6], kept["v_cache1"][:, :, :6])


def test_sessions_have_states_of_their_own(on_device: Any) -> None:
    other = on_device.session()
    words = write(on_device, 6)
    assert write(other, 6, first=2)[0] == 2
    on_device.state.reset()
    assert write(on_device, 6) == words


def test_index_outside_names_its_node_and_ends_the_run_alone(on_device: Any) -> None:
    words = write(on_device, 3)
    with pytest.raises(sluice.OutOfRange, match=rf"index {WORDS} is outside axis 0, which has {WORDS}"):
        on_device(np.array([WORDS]), np.array([3]))
    with pytest.raises(sluice.OutOfRange, match=f"index {PLACES} is outside axis 2, which has {PLACES}"):
        on_device(np.array([1]), np.array([PLACES]))
    on_device.state.reset()
    assert write(on_device, 3) == words


def test_refused_run_leaves_the_states(on_device: Any) -> None:
    for _ in range(2):
        before = on_device.state.snapshot()
        with pytest.raises(sluice.InvalidArgument):
            on_device(np.array([1, 2]), np.array([0]))
        for name, value in before.items():
            np.testing.assert_array_equal(on_device.state[name], value)
        write(on_device, 3)


def test_closed_model_leaves_states_that_were_set(on_device: Any) -> None:
    write(on_device, 3)
    on_device.state["v_cache0"] = np.ones(CACHE, np.float32)
    on_device.state["k_cache1"] = np.zeros(CACHE, np.float32)
    with pytest.raises(sluice.InvalidArgument):
        on_device(np.array([1, 2]), np.array([3]))
    on_device.close()
    assert on_device.state["k_cache0"].any()
    np.testing.assert_array_equal(on_device.state["v_cache0"], np.ones(CACHE, np.float32))
    assert not on_device.state["k_cache1"].any()


def test_forked_child_reads_states_of_the_host_and_those_that_it_sets(on_device: Any) -> None:
    model = load("cpu")
    write(model, 3)
    write(on_device, 3)
    child = os.fork()
    if child == 0:
        faults = 0
        try:
            faults += not model.state["k_cache0"].any()
            on_device.state["k_cache0"]  # on a device that the child has not
            faults += 2
        except sluice.FailedPrecondition:
            on_device.state.reset()
            faults += 4 * bool(on_device.state["k_cache0"].any())
        finally:
            os._exit(faults)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert on_device.state["k_cache0"].any()


def test_closed_model_leaves_its_last_states(on_device: Any) -> None:
    on_device(np.array([1]), np.array([0]))
    kept = on_device.state.snapshot()
    on_device.close()
    for name, value in kept.items():
        np.testing.assert_array_equal(on_device.state[name], value)
    with pytest.raises(sluice.FailedPrecondition, match="closed"):
        on_device(np.array([1]), np.array([1]))
