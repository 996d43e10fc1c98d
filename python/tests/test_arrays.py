from __future__ import annotations

import array
import pathlib
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import sluice
import sluice.onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

from conftest import make_model, same_type

NUMPY_TYPES = {
    TensorProto.FLOAT: np.float32, TensorProto.UINT8: np.uint8, TensorProto.INT8: np.int8,
    TensorProto.UINT16: np.uint16, TensorProto.INT16: np.int16, TensorProto.INT32: np.int32,
    TensorProto.INT64: np.int64, TensorProto.BOOL: np.bool_, TensorProto.FLOAT16: np.float16,
    TensorProto.DOUBLE: np.float64, TensorProto.UINT32: np.uint32, TensorProto.UINT64: np.uint64,
    TensorProto.BFLOAT16: ml_dtypes.bfloat16,
}


@pytest.mark.parametrize("number", NUMPY_TYPES, ids=lambda number: TensorProto.DataType.Name(number))
def test_types_come_back(number: int) -> None:
    x = np.array([[0, 1, 1], [1, 0, 1]]).astype(NUMPY_TYPES[number])
    y = same_type(number)(x)
    assert y.dtype == x.dtype
    np.testing.assert_array_equal(y, x)


def cast_to(number: int) -> sluice.Model:
    return sluice.compile(make_model([helper.make_node("Cast", ["x"], ["y"], to=number)],
                                     [("x", TensorProto.FLOAT, ["N"])], [("y", number, ["N"])]),
                          backends=["cpu", "reference"])


@pytest.mark.parametrize("number, dtype", [
    (TensorProto.FLOAT8E4M3FN, ml_dtypes.float8_e4m3fn),
    (TensorProto.FLOAT8E5M2, ml_dtypes.float8_e5m2),
])
def test_outputs_of_eight_bits_are_of_ml_dtypes(number: int, dtype: Any) -> None:
    x = np.float32([0.5, -1, 2])
    y = cast_to(number)(x)
    assert y.dtype == dtype
    np.testing.assert_array_equal(y.astype(np.float32), x)


@pytest.mark.parametrize("dtype, bits, number", [
    (ml_dtypes.int4, 4, TensorProto.INT4), (ml_dtypes.uint4, 4, TensorProto.UINT4)])
def test_four_bits_are_packed_and_unpacked(dtype: Any, bits: int, number: int) -> None:
    from sluice import dtypes
    values = [-8, -1, 0, 3, 7] if dtype == ml_dtypes.int4 else [0, 1, 7, 8, 15]
    x = np.array(values).astype(dtype)
    raw, kind, shape = dtypes.encode(x, number)
    assert kind == number and raw.size == 3 and shape == (5,)
    np.testing.assert_array_equal(dtypes.decode((raw, kind, shape)).astype(np.int8), values)


def test_strings_come_back() -> None:
    model = same_type(TensorProto.STRING, shape=("N",))
    texts = ["", "grün", "a\0b", "x" * 1000]
    assert list(model(np.array(texts, object))) == texts
    assert list(model(texts)) == texts
    assert list(model(np.array([b"bytes", "text"], object))) == ["bytes", "text"]
    assert list(model(np.array(["ab", "c"]))) == ["ab", "c"]
    with pytest.raises(sluice.InvalidArgument, match="int"):
        model(np.array([1], object))


def test_numbers_lists_and_scalars_are_converted(two: sluice.Model) -> None:
    assert list(two([1, 2], [3.5, 4])[0]) == [4.5, 6]
    scalar = same_type(TensorProto.INT64, shape=())
    for value in (7, np.int64(7), np.array(7)):
        result = scalar(value)
        assert result.shape == () and result == 7
    with pytest.raises(ValueError):
        two([[1], [2, 3]], [1])


def test_arrays_of_any_strides_are_read() -> None:
    model = same_type(TensorProto.FLOAT)
    base = np.arange(24, dtype=np.float32)
    for x in (base.reshape(8, 3)[::2], base.reshape(3, 8).T, base[::-1].reshape(8, 3),
              np.broadcast_to(np.float32(2), (4, 3)), base.reshape(8, 3)[:0]):
        np.testing.assert_array_equal(model(x), x)


def test_read_only_and_unaligned_arrays_are_read() -> None:
    model = same_type(TensorProto.FLOAT)
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    x.flags.writeable = False
    np.testing.assert_array_equal(model(x), x)
    unaligned = np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(np.float32).reshape(2, 3)
    np.testing.assert_array_equal(model(unaligned), x)
    np.testing.assert_array_equal(model(x.astype(">f4")), x)


class Producer:
    def __init__(self, x: Any) -> None:
        self.x = x

    def __dlpack__(self, **options: Any) -> Any:
        return self.x.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.x.__dlpack_device__()


class Subclass(np.ndarray[Any, Any]):
    pass


def test_buffers_and_dlpack_are_read() -> None:
    model = same_type(TensorProto.FLOAT)
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(model(Producer(x)), x)
    np.testing.assert_array_equal(model(memoryview(x)), x)
    flat = same_type(TensorProto.FLOAT, shape=("N",))
    np.testing.assert_array_equal(flat(array.array("f", [1, 2])), [1, 2])
    np.testing.assert_array_equal(np.from_dlpack(model(x)), x)


@pytest.mark.parametrize("size", [2, 8192])  # whose outputs are copied, and bound
def test_models_of_a_runtime_take_the_same_arguments_by_position_and_name(size: int) -> None:
    model = same_type(TensorProto.FLOAT, shape=(size,))
    x = np.arange(size, dtype=np.float32)
    strided = np.repeat(x, 2)[::2]
    read_only = x.copy()
    read_only.flags.writeable = False
    values = [x, strided, read_only, x.astype(">f4"), array.array("f", x), memoryview(x), Producer(x), list(x),
              tuple(x.tolist()), x.view(Subclass)]
    with sluice.Runtime() as runtime, runtime.load(model) as loaded:
        for value in values:
            for result in (model(value), model(x=value), loaded(value), loaded(x=value)):
                np.testing.assert_array_equal(result, x)
                assert type(result) is np.ndarray
        for refused in (x.astype(np.float64), bytearray(4 * size), x.astype(np.int32)):
            for called in (model, loaded):
                with pytest.raises(sluice.InvalidArgument, match='input "x": got'):
                    called(refused)
                with pytest.raises(sluice.InvalidArgument, match='input "x": got'):
                    called(x=refused)
        for called in (model, loaded):
            with pytest.raises(sluice.InvalidArgument, match="2 inputs given, the model takes 1"):
                called(x, x)
            with pytest.raises(sluice.InvalidArgument, match="inputs are missing"):
                called()


def test_large_outputs_are_right() -> None:
    model = same_type(TensorProto.FLOAT, "Relu", (512, 512))
    x = np.random.default_rng(2).standard_normal((512, 512)).astype(np.float32)
    first, second = model(x), model(-x)
    np.testing.assert_array_equal(first, np.maximum(x, 0))
    np.testing.assert_array_equal(second, np.maximum(-x, 0))


def test_empty_is_aligned() -> None:
    for shape, dtype in (((3, 5), np.float32), (7, np.uint8), ((), np.float64), ((0, 2), np.int32)):
        x = sluice.empty(shape, dtype)
        assert x.ctypes.data % 64 == 0 and x.dtype == dtype
        assert x.shape == (shape if isinstance(shape, tuple) else (shape,))


@pytest.fixture(scope="module")
def runtime() -> Iterator[sluice.Runtime]:
    with sluice.Runtime() as runtime:
        yield runtime


@pytest.mark.parametrize("dtype", [object, "U3", "S3", "M8[s]", "m8", "V4", np.longdouble, [("a", "f4"), ("b", "i2")]])
def test_raw_memory_holds_numbers_of_tensors_alone(dtype: Any, runtime: sluice.Runtime) -> None:
    for empty in (sluice.empty, runtime.empty, ort.OrtValue.ortvalue_from_shape_and_type):
        with pytest.raises(TypeError, match="numbers of a tensor's type"):
            empty((2,), dtype)


@pytest.mark.parametrize("shape, error", [
    ((-1,), sluice.InvalidArgument), ((2, -1), sluice.InvalidArgument), ((0, -1), sluice.InvalidArgument),
    ((1 << 40, 1 << 40), MemoryError), ((1 << 32, 1 << 32), MemoryError), ((1 << 62,), MemoryError),
    ((1 << 80,), MemoryError), ((3, 1 << 62, 1 << 62), MemoryError), ((1 << 40, 0, 1 << 40), MemoryError)])
def test_sizes_of_raw_memory_do_not_wrap(shape: tuple[int, ...], error: type[Exception], runtime: sluice.Runtime) -> None:
    for empty in (sluice.empty, runtime.empty, ort.OrtValue.ortvalue_from_shape_and_type):
        with pytest.raises(error):
            empty(shape, np.float32)
    with pytest.raises(error):
        ort.IOBinding(None).bind_input("x", "cpu", 0, np.float32, shape, 4096)


# The run may allocate half of what a copy of an array would take.
NO_ROOM = """
    import resource
    import numpy as np, sluice
    def data_kb():
        return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmData"))
    x = {x}
    x[:] = 1
    out = sluice.empty(16_000_000)  # 64 MB
    out[:] = 1
    {open}
    model(x[:16])
    room = (data_kb() << 10) + (32 << 20)
    resource.setrlimit(resource.RLIMIT_DATA, (room, room))
    model.run({{"x": x}}, out={{"y": out}})
    assert (out == 0).all()
    x[:] = 2
    try:
        model.run({{"x": x[::-1]}}, out={{"y": out}})
    except MemoryError:
        print("a copy has no room")
    """


@pytest.mark.parametrize("x, opening", [
    ("np.empty(16_000_000, np.float32)", "model = sluice.load({package!r})"),
    ("np.empty(16_000_001, np.float32)[1:]", "model = sluice.load({package!r})"),
    ("sluice.empty(16_000_000)", "runtime = sluice.Runtime(); model = runtime.load({package!r})"),
], ids=["as numpy aligns", "at 4 bytes", "in a runtime"])
def test_large_arrays_are_not_copied(x: str, opening: str, tmp_path: pathlib.Path) -> None:
    package = str(tmp_path / "subtract.sluice")
    f32 = TensorProto.FLOAT
    sluice.compile(make_model([helper.make_node("Sub", ["x", "one"], ["y"])], [("x", f32, ["N"])],
                              [("y", f32, ["N"])], {"one": np.ones(1, np.float32)}), package)
    code = textwrap.dedent(NO_ROOM.format(x=x, open=opening.format(package=package)))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "a copy has no room\n"


@pytest.mark.parametrize("is_second", [False, True])
@pytest.mark.parametrize(("op", "dtype", "times"), [
    ("Greater", np.float32, 4), ("Less", np.float32, 4), ("Equal", np.int32, 4), ("GreaterOrEqual", np.int64, 8),
    ("Equal", np.float64, 8), ("LessOrEqual", np.float16, 2), ("Less", np.uint8, 1)])
def test_a_result_of_as_many_bytes_as_a_narrower_operand_is_right(op: str, dtype: type, times: int, is_second: bool) -> None:
    """The result of the comparison must not overwrite the operand that its later rows read."""
    n, element = 3000, helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    x, y = (helper.make_tensor_value_info(name, element, dims) for name, dims in (("x", [n]), ("y", [times, n])))
    nodes = [helper.make_node("ReverseSequence", ["square", "lengths"], ["turned"], batch_axis=0, time_axis=1),
             helper.make_node("Reshape", ["turned", "flat"], ["a"]),
             helper.make_node(op, ["y", "a"] if is_second else ["a", "y"], ["b"]),
             helper.make_node("Transpose", ["b"], ["z"], perm=[1, 0])]
    nodes.insert(0, helper.make_node("Reshape", ["x", "row"], ["square"]))
    constants = {"row": np.array([1, n]), "flat": np.array([n]), "lengths": np.array([n])}
    graph = helper.make_graph(nodes, "g", [x, y], [helper.make_tensor_value_info("z", TensorProto.BOOL, [n, times])],
                              [numpy_helper.from_array(value, name) for name, value in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    random = np.random.default_rng(7)
    xs, ys = random.integers(0, 5, n).astype(dtype), random.integers(0, 5, (times, n)).astype(dtype)
    compare = {"Greater": np.greater, "Less": np.less, "Equal": np.equal, "GreaterOrEqual": np.greater_equal,
               "LessOrEqual": np.less_equal}[op]
    want = compare(ys, xs[::-1]) if is_second else compare(xs[::-1], ys)
    for optimize in (True, False):
        np.testing.assert_array_equal(sluice.compile(model, optimize=optimize, threads=1)(xs, ys), want.T)
