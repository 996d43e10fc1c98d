"""OrtValue and the enumerations of sluice.onnxruntime beside onnxruntime's own."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnxruntime
import pytest
import sluice.onnxruntime as ort
from onnx import TensorProto
from sluice.dtypes import BY_NUMBER

BATCH = np.arange(6, dtype=np.float32).reshape(2, 3)


def updated(engine: Any, data: Any) -> Any:
    """What a value of zeros holds after the update, or the kind of the error; the zeros must be untouched then."""
    value = engine.OrtValue.ortvalue_from_numpy(np.zeros((2, 3), np.float32))
    try:
        value.update_inplace(engine.OrtValue.ortvalue_from_numpy(data[0]) if isinstance(data, tuple) else data)
    except (TypeError, RuntimeError) as error:
        assert not value.numpy().any()
        return type(error)
    return value.numpy().tolist()


@pytest.mark.parametrize("data", [
    BATCH, BATCH[:, ::-1], BATCH.reshape(3, 2), BATCH.T, BATCH.ravel(), (BATCH,), (BATCH.reshape(6, 1),),
    BATCH[:1], BATCH[:1, :1], BATCH[0], np.array(1, np.float32), np.ones((2, 4), np.float32), (BATCH[:1],),
    np.empty((0, 3), np.float32), np.float32(1), 1.0, [[0, 1, 2], [3, 4, 5]]], ids=repr)
def test_update_takes_what_onnxruntimes_takes(data: Any) -> None:
    assert updated(ort, data) == updated(onnxruntime, data)


@pytest.mark.parametrize("dtype", [np.float64, np.int32, np.uint32, np.float16, bool, "S4", "U1", object])
def test_update_refuses_another_type(dtype: Any) -> None:
    assert updated(ort, BATCH.astype(dtype)) is RuntimeError
    assert updated(ort, (BATCH.astype(dtype),)) is RuntimeError


def test_a_value_of_bf16_is_updated_by_its_bits() -> None:
    value = ort.OrtValue.ortvalue_from_shape_and_type([2], TensorProto.BFLOAT16)
    value.update_inplace(np.array([0x3F80, 0x4000], np.uint16))
    assert value.numpy().tolist() == [1, 2]
    value.update_inplace(np.array([3, 4], ml_dtypes.bfloat16))
    assert value.numpy().tolist() == [3, 4]
    for data in (np.array([1, 2], np.float16), np.array([1, 2], np.float32)):
        with pytest.raises(RuntimeError, match="type"):
            value.update_inplace(data)


@pytest.mark.parametrize("data, number", [
    (np.arange(6, dtype=np.uint16).reshape(2, 3), TensorProto.BFLOAT16), (np.zeros(3, np.int16), TensorProto.BFLOAT16),
    (np.zeros(3, np.uint8), TensorProto.FLOAT8E4M3FN), (np.zeros(3, np.float32), TensorProto.FLOAT),
    (np.zeros(3, np.int32), TensorProto.FLOAT), (np.zeros(0, np.uint16), TensorProto.BFLOAT16),
    (np.zeros(3, np.float32), TensorProto.BFLOAT16), (np.zeros(3, np.uint8), TensorProto.FLOAT),
    (np.zeros(3, np.uint16), 99), (np.zeros(3, object), TensorProto.STRING)])
def test_arrays_are_taken_as_types_that_numpy_lacks(data: Any, number: int) -> None:
    described: list[Any] = []
    for engine in (ort, onnxruntime):
        try:
            value = engine.OrtValue.ortvalue_from_numpy_with_onnx_type(data, number)
            described.append((value.element_type(), value.data_type(), list(value.shape()),
                              value.tensor_size_in_bytes(), not data.size or value.data_ptr() == data.ctypes.data))
        except (RuntimeError, ValueError):
            described.append(None)
    assert described[0] == described[1]


NUMBERS = BY_NUMBER.keys() - {TensorProto.STRING, TensorProto.COMPLEX64, TensorProto.COMPLEX128}


@pytest.mark.parametrize("number", sorted(NUMBERS), ids=TensorProto.DataType.Name)
def test_values_of_every_type_describe_themselves(number: int) -> None:
    ours, theirs = (engine.OrtValue.ortvalue_from_shape_and_type([3, 5], number) for engine in (ort, onnxruntime))
    assert (ours.data_type(), ours.element_type()) == (theirs.data_type(), theirs.element_type())
    assert ours.tensor_size_in_bytes() == theirs.tensor_size_in_bytes()


def test_elements_of_fewer_than_eight_bits_are_refused_as_bytes() -> None:
    for number in (TensorProto.INT4, TensorProto.UINT4, TensorProto.FLOAT4E2M1):
        with pytest.raises(ValueError, match="packed"):
            ort.OrtValue.ortvalue_from_numpy_with_onnx_type(np.zeros(4, np.uint8), number)
        with pytest.raises(ValueError, match="packed"):
            ort.IOBinding(None).bind_input("x", "cpu", 0, number, [4], 4096)


@pytest.mark.parametrize("data", [np.ones(3, bool), BATCH, BATCH.T.copy(), np.array(1, np.int64)], ids=repr)
def test_values_share_memory_by_dlpack(data: Any) -> None:
    for engine in (ort,) if data.dtype == bool else (ort, onnxruntime):  # which refuses numpy's bool
        source = engine.OrtValue.ortvalue_from_numpy(data)
        for value in (engine.OrtValue.from_dlpack(data), engine.OrtValue.from_dlpack(source)):
            assert value.data_ptr() == data.ctypes.data
            assert value.element_type() == source.element_type() and list(value.shape()) == list(data.shape)
    capsule = ort.OrtValue.ortvalue_from_numpy(data).__dlpack__()
    np.testing.assert_array_equal(ort.OrtValue.from_dlpack(capsule).numpy(), data)
    with pytest.raises(TypeError):
        ort.OrtValue.from_dlpack(data.tolist())


def test_numpy_copies_a_value_when_it_is_told_to() -> None:
    for engine in (ort, onnxruntime):
        value = engine.OrtValue.ortvalue_from_numpy(np.ones(3, np.float32))
        np.array(value, copy=True)[0] = 5
        assert value.numpy()[0] == 1
        np.asarray(value)[0] = 6
        assert value.numpy()[0] == 6
        assert np.asarray(value, np.float64).dtype == np.float64


@pytest.mark.parametrize("name", ["GraphOptimizationLevel", "ExecutionMode", "ExecutionOrder", "OrtAllocatorType",
                                  "OrtMemType"])
def test_enumerations_have_onnxruntimes_texts_and_numbers(name: str) -> None:
    ours, theirs = getattr(ort, name), getattr(onnxruntime, name)
    for member, their in theirs.__members__.items():
        mine = ours.__members__[member]
        assert (str(mine), f"{mine}", int(mine)) == (str(their), f"{their}", int(their))
