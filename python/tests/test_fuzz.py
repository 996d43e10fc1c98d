"""Random arguments for the binding: every call gives the right answer or an exception of the tree.

SLUICE_FUZZ_CALLS sets the number of calls; scripts/test-python-asan runs them under the address sanitizer.
"""

from __future__ import annotations

import os
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import sluice
from onnx import TensorProto, helper

from conftest import PATIENCE, make_model, same_type

CALLS = int(os.environ.get("SLUICE_FUZZ_CALLS", "400"))
DTYPES = [np.float32, np.float64, np.float16, np.int8, np.uint8, np.int16, np.int32, np.int64, np.uint64, np.bool_,
          np.complex64, np.longdouble, ml_dtypes.bfloat16, ml_dtypes.int4, ml_dtypes.float8_e4m3fn, ">f4", "<U3", "S2",
          "datetime64[s]", "V5", object, [("a", "f4"), ("b", "i2")]]
ALLOWED = (sluice.Error, TypeError)


def random_array(rng: np.random.Generator) -> Any:
    rank = int(rng.integers(0, 5)) if rng.integers(2) else 2  # the models' rank
    shape = tuple(int(n) for n in rng.choice([0, 1, 2, 3, 8], rank))
    number = int(rng.integers(len(DTYPES))) if rng.integers(3) else 0
    dtype = np.dtype(DTYPES[number])  # type: ignore[arg-type]
    if dtype.hasobject:
        array = np.empty(shape, object)
        array.fill(rng.choice(np.array([1, "text", b"bytes", None, 2.5], object)))
    else:
        count = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        raw = np.zeros(count + 7, np.uint8)
        start = int(rng.integers(0, 7))  # at any address
        array = raw[start : start + count].view(dtype).reshape(shape)
        if dtype.kind == "f" and array.flags.aligned:
            array[...] = rng.integers(-9, 9)
    return restride(rng, array)


def restride(rng: np.random.Generator, array: Any) -> Any:
    """The same kind of array in another order of memory."""
    for _ in range(int(rng.integers(0, 3))):
        choice = int(rng.integers(0, 6))
        if choice == 0:
            array = array.T
        elif choice == 1 and array.ndim:
            array = array[:: int(rng.choice([-1, 2, -2]))]
        elif choice == 2:
            array = np.asfortranarray(array)
        elif choice == 3 and array.ndim and array.shape[0]:
            array = np.broadcast_to(array[:1], (3, *array.shape[1:]))
        elif choice == 4:
            array = array.view()
            array.flags.writeable = False
        elif choice == 5 and array.ndim and array.shape[0]:
            array = np.lib.stride_tricks.as_strided(array, (2, *array.shape[1:]), (0, *array.strides[1:]))
    return array


def random_value(rng: np.random.Generator) -> Any:
    choice = int(rng.integers(0, 12))
    array = random_array(rng)
    others = [None, 3, -1.5, "text", b"12345678", [1, 2], [[1.0], [2.0, 3.0]], (), {"a": 1}, object(), 2**70,
              memoryview(bytearray(24)), np.float32(1), np.ma.masked_array([1.0], [True]), range(3), float("nan")]
    if choice == 0:
        return others[int(rng.integers(len(others)))]
    if choice == 1 and not array.dtype.hasobject:
        return array.tolist()
    return array


@pytest.fixture(scope="module")
def targets(digits: sluice.Model, two: sluice.Model) -> dict[str, sluice.Model]:
    f32 = TensorProto.FLOAT
    sequence = make_model([helper.make_node("SplitToSequence", ["x"], ["s"], axis=0)], [("x", f32, ["N", 3])], [])
    sequence.graph.output.append(helper.make_tensor_sequence_value_info("s", f32, None))
    length = make_model([helper.make_node("SequenceLength", ["s"], ["n"])], [],
                        [("n", TensorProto.INT64, [])])
    length.graph.input.append(helper.make_tensor_sequence_value_info("s", f32, None))
    types = (TensorProto.FLOAT, TensorProto.INT64, TensorProto.BFLOAT16, TensorProto.STRING, TensorProto.BOOL,
             TensorProto.INT4, TensorProto.UINT8)
    models = {f"same{number}": same_type(number, shape=("A", "B")) for number in types}
    return {"digits": digits, "two": two, "sequence": sluice.compile(sequence),
            "length": sluice.compile(length, backends=("cpu", "reference")), **models}


@pytest.mark.parametrize("seed", range(4))
def test_random_calls_answer_or_raise(seed: int, targets: dict[str, sluice.Model]) -> None:
    rng = np.random.default_rng(seed)
    answers = 0
    for _ in range(CALLS):
        name = str(rng.choice(sorted(targets)))
        model = targets[name]
        values = [random_value(rng) for _ in range(int(rng.integers(1, 3)))]
        try:
            result = model(*values)
        except ALLOWED:
            continue
        answers += 1
        if name.startswith("same"):
            given = np.asarray(values[0], result.dtype)
            assert result.shape == given.shape
            if result.dtype.kind != "O":
                np.testing.assert_array_equal(result.astype(np.float64), given.astype(np.float64))
    assert answers > CALLS / 100


@pytest.mark.parametrize("seed", range(4))
def test_random_outputs_are_written_or_refused(seed: int, targets: dict[str, sluice.Model]) -> None:
    rng = np.random.default_rng(seed)
    model = targets["same1"]
    for _ in range(CALLS // 4):
        x = np.ones((2, 3), np.float32)
        out = random_value(rng)
        try:
            result = model.run({"x": x}, out={"y": out})
        except ALLOWED:
            continue
        assert (result["y"] == x).all()


@pytest.mark.parametrize("seed", range(2))
def test_random_requests_answer_or_raise(seed: int, runtime: sluice.Runtime,
                                         targets: dict[str, sluice.Model]) -> None:
    rng = np.random.default_rng(seed)
    loaded = {name: runtime.load(model) for name, model in targets.items() if name in ("same1", "same8")}
    for _ in range(CALLS // 4):
        model = loaded[str(rng.choice(sorted(loaded)))]
        try:
            model(random_value(rng))
            model.submit(random_value(rng)).result(PATIENCE)
        except ALLOWED:
            continue


def test_random_package_bytes_are_refused(digits: sluice.Model, tmp_path: Any) -> None:
    digits.save(tmp_path / "digits.sluice")
    package = (tmp_path / "digits.sluice").read_bytes()
    rng = np.random.default_rng(5)
    for _ in range(CALLS // 10):
        damaged = bytearray(package)
        for place in rng.integers(0, len(damaged), int(rng.integers(1, 20))):
            damaged[place] = int(rng.integers(256))
        cut = int(rng.integers(0, len(damaged) + 1))
        try:
            sluice.load(bytes(damaged[:cut] if rng.integers(2) else damaged))(np.zeros((1, 1, 8, 8), np.float32))
        except ALLOWED:
            continue
