from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
import sluice
from onnx import TensorProto, helper, numpy_helper


def test_wrong_type_is_named_with_the_remedy(digits: sluice.Model, image: np.ndarray) -> None:
    with pytest.raises(sluice.InvalidArgument) as caught:
        digits(image.astype(np.float64))
    assert str(caught.value) == ('input "image": got f64[2,1,8,8], model takes f32[N,1,8,8]; convert '
                                 "with .astype('float32')")
    assert caught.value.code == 3 and isinstance(caught.value, ValueError)


@pytest.mark.parametrize("x", [np.zeros((2, 1, 8, 9), np.float32), np.zeros(64, np.float32),
                               np.float32(1), np.zeros((1, 2, 8, 8), np.float32)])
def test_wrong_shape_is_named(digits: sluice.Model, x: Any) -> None:
    with pytest.raises(ValueError, match=r"model takes f32\[N,1,8,8\]"):
        digits(x)


@pytest.mark.parametrize("x", [object(), None, {"a": 1}, lambda: 1, type])
def test_values_that_are_no_arrays_are_type_errors(digits: sluice.Model, x: Any) -> None:
    with pytest.raises(TypeError, match='input "image"'):
        digits(x)


def test_wrong_dtypes_without_a_counterpart_are_refused(digits: sluice.Model) -> None:
    for x in (np.zeros(3, "datetime64[s]"), np.zeros(3, [("a", "f4")]), np.zeros(3, np.longdouble)):
        with pytest.raises(ValueError, match="numpy type"):
            digits(x)


def test_missing_unknown_and_double_inputs_are_named(two: sluice.Model) -> None:
    x = np.float32([1])
    with pytest.raises(ValueError, match='missing: "b": f32'):
        two(x)
    with pytest.raises(ValueError, match="3 inputs given, the model takes 2"):
        two(x, x, x)
    with pytest.raises(KeyError, match='no input "c"; it has "a", "b"'):
        two(a=x, c=x)
    with pytest.raises(ValueError, match="twice"):
        two(x, a=x)


def test_wrong_out_is_refused(two: sluice.Model) -> None:
    feeds = {"a": np.float32([1, 2]), "b": np.float32([3, 5])}
    frozen = np.empty(2, np.float32)
    frozen.flags.writeable = False
    for out in (np.empty(2, np.float64), frozen, np.empty(4, np.float32)[::2]):
        with pytest.raises(ValueError, match=r'out\["sum"\]'):
            two.run(feeds, out={"sum": out})
    with pytest.raises(TypeError, match="list"):
        two.run(feeds, out={"sum": [0, 0]})  # type: ignore[dict-item]
    with pytest.raises(KeyError):
        two.run(feeds, out={"product": np.empty(2, np.float32)})


def test_out_that_is_an_input_changes_it_when_nothing_reads_it_any_more(two: sluice.Model) -> None:
    a = sluice.empty(2)
    a[:] = [1, 2]
    results = two.run({"a": a, "b": np.float32([3, 5])}, out={"sum": a})
    np.testing.assert_array_equal(results["difference"], [-2, -3])
    np.testing.assert_array_equal(a, [4, 7])


def test_operators_fail_as_errors_not_crashes(two: sluice.Model) -> None:
    with pytest.raises(sluice.Error):
        two(np.zeros(2, np.float32), np.zeros(3, np.float32))
    np.testing.assert_array_equal(two(np.float32([1]), np.float32([2]))[0], [3])


def test_producers_that_fail_give_their_reason(digits: sluice.Model) -> None:
    class Broken:
        def __dlpack__(self, **_: Any) -> Any:
            raise BufferError("requires grad")

        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

    with pytest.raises(ValueError, match="requires grad"):
        digits(Broken())


def test_altered_packages_are_refused(digits: sluice.Model, tmp_path: Any) -> None:
    digits.save(tmp_path / "a.sluice")
    package = (tmp_path / "a.sluice").read_bytes()
    rng = np.random.default_rng(3)
    for _ in range(60):
        altered = bytearray(package)
        for place in rng.integers(0, len(altered), 3):
            altered[place] ^= int(rng.integers(1, 256))
        try:
            sluice.load(altered)(np.zeros((1, 1, 8, 8), np.float32))
        except sluice.Error:
            pass
    for length in (0, 1, 63, 4096, len(package) - 1):
        with pytest.raises(sluice.Error):
            sluice.load(package[:length])


def test_error_tree_is_of_built_in_exceptions() -> None:
    from sluice.errors import from_status
    bases = {3: ValueError, 4: TimeoutError, 5: FileNotFoundError, 7: PermissionError,
             8: MemoryError, 12: NotImplementedError, 14: ConnectionError}
    for code, base in bases.items():
        error = from_status(code, "text")
        assert isinstance(error, base) and isinstance(error, sluice.Error)
        assert error.code == code and str(error) == "text"
    assert type(from_status(99, "text")) is sluice.Error


def one_node(op: str, inputs: dict[str, tuple[int, list[int | str]]], outputs: dict[str, int], domain: str = "",
             **attributes: object) -> onnx.ModelProto:
    values = [helper.make_tensor_value_info(name, *given) for name, given in inputs.items()]
    node = helper.make_node(op, list(inputs), list(outputs), domain=domain, **attributes)
    graph = helper.make_graph([node], "g", values, [helper.make_tensor_value_info(name, element, None)
                                                    for name, element in outputs.items()])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


@pytest.mark.parametrize(("op", "name"), [("LayerNormalization", "stash_type"), ("Cast", "to"), ("EyeLike", "dtype"),
                                          ("RandomNormalLike", "dtype"), ("Bernoulli", "dtype")])
@pytest.mark.parametrize("number", [(1 << 32) + 1, -(1 << 32) + 1, 1 << 62, 1000])
def test_numbers_of_types_are_not_narrowed(op: str, name: str, number: int) -> None:
    inputs = {"x": (TensorProto.FLOAT, [2, 2]), **({"scale": (TensorProto.FLOAT, [2])} if op[0] == "L" else {})}
    with pytest.raises(sluice.InvalidArgument, match=f"{name}.*{number}"):
        sluice.compile(one_node(op, inputs, {"y": TensorProto.FLOAT}, **{name: number}))


def test_a_number_of_vectors_that_wraps_around_is_refused() -> None:
    """4 * 2**62 is 0 in 64 bits, which is the number of coefficients."""
    model = one_node("SVMClassifier", {"x": (TensorProto.FLOAT, ["N", "C"])},
                     {"label": TensorProto.INT64, "scores": TensorProto.FLOAT}, "ai.onnx.ml",
                     classlabels_ints=[0, 1, 2, 3, 4], vectors_per_class=[1 << 62, 0, 0, 0, 0], rho=[0.0] * 10,
                     kernel_type="LINEAR", kernel_params=[1.0, 0.0, 3.0])
    with pytest.raises(sluice.InvalidArgument, match="vectors, too many to count"):
        sluice.compile(model)


@pytest.mark.parametrize("seconds", [-1, float("inf"), float("nan"), 1e10, -1e-9])
def test_lengths_of_time_are_bounded_alike(digits: sluice.Model, image: np.ndarray, seconds: float) -> None:
    with sluice.Runtime() as runtime:
        loaded = runtime.load(digits)
        calls: list[Any] = [lambda: digits.run({"image": image}, timeout=seconds),
                            lambda: loaded.submit(image, timeout=seconds), lambda: loaded.stop(drain=seconds),
                            lambda: loaded.unload(drain=seconds), lambda: runtime.close(drain=seconds),
                            lambda: runtime.create_group(1, timeout=seconds),
                            lambda: runtime.load(digits, timeout=seconds),
                            lambda: runtime.load(digits, batch_rows=4, max_delay=seconds),
                            lambda: runtime.deploy(digits, keep_warm=seconds)]
        for call in calls:
            with pytest.raises(sluice.InvalidArgument, match="must be"):
                call()


@pytest.mark.parametrize("options", [{"depth": 2**40}, {"depth": -2**63 - 1}, {"queue_limit": 2**70}, {"weight": "3"}])
def test_numbers_that_no_field_holds_are_named(digits: sluice.Model, options: dict[str, Any]) -> None:
    with sluice.Runtime() as runtime, pytest.raises(sluice.InvalidArgument, match=f"{next(iter(options))}: got"):
        runtime.load(digits, **options)


@pytest.mark.parametrize("feeds", [np.zeros((1, 1, 8, 8), np.float32), [1], "image", 3, None, (np.zeros(3),)])
def test_run_without_names_is_told_what_to_do(digits: sluice.Model, feeds: Any) -> None:
    with pytest.raises(sluice.InvalidArgument, match="run takes a dict of inputs by name"):
        digits.run(feeds)


@pytest.mark.parametrize("text", ["a\0b", "\ud800", "\udcff.sluice"])
def test_texts_that_c_cannot_hold_are_refused(digits: sluice.Model, text: str) -> None:
    with sluice.Runtime() as runtime:
        with pytest.raises(sluice.InvalidArgument, match="no text of UTF-8"):
            runtime.load(digits, name=text)
        with pytest.raises(sluice.InvalidArgument, match="no text of UTF-8"):
            runtime.load(text, is_server_path=True)


def test_errors_of_files_with_names_of_any_bytes_are_errors(tmp_path: Any) -> None:
    node = helper.make_node("Pad", ["x"], ["y"], pads=[0, 0], mode=b"\xff\xfe")
    graph = helper.make_graph([node], "pads", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 2)], ir_version=8)
    with pytest.raises(sluice.Error, match="mode"):
        sluice.compile(model)


FLOATS = np.ones((2, 6), np.float32)
SOUND = np.ones((1, 32, 1), np.float32)


@pytest.mark.parametrize("is_constant", [False, True])
@pytest.mark.parametrize(("kind", "inputs", "name"), [
    ("Trilu", [FLOATS, np.int64([1, 2])], "k"),
    ("Trilu", [FLOATS, np.int64([])], "k"),
    ("CumSum", [FLOATS, np.int64([0, 1])], "axis"),
    ("OneHot", [np.int64([0, 1]), np.int64([3, 4]), np.float32([0, 1])], "depth"),
    ("TopK", [FLOATS, np.int64([1, 2])], "K"),
    ("Range", [np.int64(0), np.int64([5, 6]), np.int64(1)], "limit"),
    ("Clip", [FLOATS, np.float32([0, 1])], "min"),
    ("Pad", [FLOATS, np.int64([1, 1, 1, 1]), np.float32([1, 2])], "constant_value"),
    ("Dropout", [FLOATS, np.float32([0.5, 0.1])], "ratio"),
    ("Dropout", [FLOATS, np.float32(0.5), np.array([True, True])], "training_mode"),
    ("HannWindow", [np.int64([4, 5])], "size"),
    ("DFT", [SOUND, np.int64([4, 5])], "dft_length"),
    ("STFT", [SOUND, np.int64([4, 5]), np.ones(8, np.float32)], "frame_step"),
    ("NonMaxSuppression", [np.ones((1, 3, 4), np.float32), np.ones((1, 2, 3), np.float32), np.int64([2, 2])],
     "max_output_boxes_per_class"),
    ("NonMaxSuppression", [np.ones((1, 3, 4), np.float32), np.ones((1, 2, 3), np.float32), np.int64(2),
                           np.float32([0.4, 0.4])], "iou_threshold"),
])
def test_inputs_that_take_one_element_refuse_others(kind: str, inputs: list[np.ndarray], name: str,
                                                    is_constant: bool) -> None:
    names = [f"x{i}" for i in range(len(inputs))]
    given = [(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape) for name, x in zip(names, inputs)]
    constants = dict(zip(names[1:], inputs[1:])) if is_constant else {}
    outputs = [onnx.ValueInfoProto(name="y")]
    graph = helper.make_graph([helper.make_node(kind, names, ["y", "z"] if kind == "TopK" else ["y"])], "one",
                              [helper.make_tensor_value_info(*x) for x in given if x[0] not in constants], outputs,
                              [numpy_helper.from_array(x, name) for name, x in constants.items()])
    with pytest.raises(sluice.InvalidArgument, match=f'"{name}" has shape .*; it takes one element'):
        sluice.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]))


ROTATED = {np.float32: TensorProto.FLOAT, np.float16: TensorProto.FLOAT16, np.float64: TensorProto.DOUBLE}


def rotary(element: Any) -> sluice.Model:
    """RotaryEmbedding, whose kernel has one element type; others are products. x [1, 2, 3, 4] at positions [1, 3] of a table of 5 rows."""
    node = helper.make_node("RotaryEmbedding", ["x", "cosines", "sines", "positions"], ["y"])
    inputs = [helper.make_tensor_value_info(name, ROTATED[element], dims)
              for name, dims in (("x", [1, 2, 3, 4]), ("cosines", [5, 2]), ("sines", [5, 2]))]
    inputs.append(helper.make_tensor_value_info("positions", TensorProto.INT64, [1, 3]))
    graph = helper.make_graph([node], "rotary", inputs, [helper.make_tensor_value_info("y", ROTATED[element], [1, 2, 3, 4])])
    return sluice.compile(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)]))


@pytest.mark.parametrize("element", ROTATED)
def test_positions_outside_of_the_table_are_refused(element: Any) -> None:
    model = rotary(element)
    x, cosines, sines = np.ones((1, 2, 3, 4), element), np.full((5, 2), 2, element), np.zeros((5, 2), element)
    assert (model(x, cosines, sines, np.array([[0, 4, 2]])) == 2).all()
    for outside in (-1, -5, 5, 2**40):
        with pytest.raises(sluice.OutOfRange, match="is outside axis 0, which has 5"):
            model(x, cosines, sines, np.array([[0, outside, 1]]))
