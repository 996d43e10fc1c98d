from __future__ import annotations

import io
import os
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import pytest
import sluice
from onnx import TensorProto, helper, numpy_helper
from sluice.terminal import progress

from conftest import DIGITS, eventually


def test_path_bytes_and_proto_give_one_model(image: np.ndarray, digits: sluice.Model) -> None:
    expected = digits(image)
    for source in (str(DIGITS), DIGITS.read_bytes(), onnx.load(DIGITS)):
        np.testing.assert_array_equal(sluice.compile(source)(image), expected)


def test_output_is_a_package_that_loads_from_path_bytes_and_descriptor(
        tmp_path: pathlib.Path, image: np.ndarray, digits: sluice.Model) -> None:
    path = tmp_path / "digits.sluice"
    expected = digits(image)
    np.testing.assert_array_equal(sluice.compile(DIGITS, path)(image), expected)
    np.testing.assert_array_equal(sluice.load(path, threads=1)(image), expected)
    np.testing.assert_array_equal(sluice.load(path.read_bytes())(image), expected)
    with open(path, "rb") as file:
        model = sluice.load(file.fileno())
    np.testing.assert_array_equal(model(image), expected)


def test_save_writes_what_was_compiled(tmp_path: pathlib.Path, image: np.ndarray,
                                       digits: sluice.Model) -> None:
    digits.save(tmp_path / "a.sluice")
    again = sluice.load(tmp_path / "a.sluice")
    again.save(tmp_path / "b.sluice")
    assert (tmp_path / "a.sluice").read_bytes() == (tmp_path / "b.sluice").read_bytes()
    np.testing.assert_array_equal(again(image), digits(image))


def test_options_are_those_of_the_command(image: np.ndarray, digits: sluice.Model) -> None:
    model = sluice.compile(DIGITS, shapes={"image": (2, 1, 8, 8)}, weights="bf16",
                           options=["--no-pack"])
    assert model.inputs[0].shape == (2, 1, 8, 8)
    np.testing.assert_allclose(model(image), digits(image), atol=0.02)
    with pytest.raises(sluice.InvalidArgument, match="did you mean --weights"):
        sluice.compile(DIGITS, options=["--wieghts", "bf16"])
    with pytest.raises(sluice.NotFound, match="quantum"):
        sluice.compile(DIGITS, backends=["quantum"])


def test_progress_hears_phases_and_its_exception_arrives() -> None:
    phases: list[str] = []
    sluice.compile(DIGITS, progress=phases.append)
    assert phases[0] == "import" and len(phases) > 1

    def fail(phase: str) -> None:
        raise RuntimeError(f"stop at {phase}")

    with pytest.raises(RuntimeError, match="stop at import"):
        sluice.compile(DIGITS, progress=fail)


def test_long_compilation_shows_a_bar_in_a_terminal() -> None:
    stream = io.StringIO()
    with progress.Bar(stream, after=0) as bar:
        bar("optimize")
        eventually(lambda: "optimize" in stream.getvalue())
    assert "\rsluice: [######..................] optimize, " in stream.getvalue()
    assert stream.getvalue().endswith(" \r")  # the line is gone
    quiet = io.StringIO()
    with progress.Bar(quiet, after=60) as bar:
        bar("import")
    assert quiet.getvalue() == ""


def test_phases_of_the_bar_are_those_of_the_compiler() -> None:
    phases: list[str] = []
    sluice.compile(DIGITS, progress=phases.append)
    assert tuple(phases) == progress.PHASES


def test_compilation_in_a_terminal_draws_its_bar(tmp_path: pathlib.Path) -> None:
    master, terminal = os.openpty()
    code = f"import sluice; sluice.compile({str(DIGITS)!r}, progress=True)"
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=terminal)
    os.close(terminal)
    assert done.returncode == 0 and done.stdout == b""
    assert b"sluice: [" in os.read(master, 10000)
    os.close(master)


def test_wrong_sources_are_refused(tmp_path: pathlib.Path) -> None:
    with pytest.raises(FileNotFoundError, match="missing.onnx"):
        sluice.compile(tmp_path / "missing.onnx")
    with pytest.raises(sluice.InvalidArgument, match="damaged"):
        sluice.compile(b"no model")
    with pytest.raises(TypeError, match="list"):
        sluice.compile([1])
    with pytest.raises(sluice.InvalidArgument):
        sluice.load(b"no package")
    with pytest.raises(FileNotFoundError):
        sluice.load(tmp_path / "missing.sluice")
    with pytest.raises(OSError):
        sluice.load(os.open(tmp_path, os.O_RDONLY) + 1000)
    with pytest.raises(sluice.InvalidArgument, match="threads are from 0"):
        sluice.load(tmp_path, threads=-1)


def model_with(op_type: str, **attributes: str) -> bytes:
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node(op_type, ["x", "p"], ["y"], **attributes)], "g",
        [onnx.helper.make_tensor_value_info("x", 1, [2])], [onnx.helper.make_tensor_value_info("y", 1, [None])],
        [onnx.helper.make_tensor("p", 7, [2], [1, 1])])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)])
    written: bytes = model.SerializeToString()
    return written


def test_a_message_with_bytes_that_are_no_text_is_a_message() -> None:
    model = model_with("Pad", mode="unknown!").replace(b"unknown!", b"un\xff\xfeown!")
    with pytest.raises(sluice.InvalidArgument, match=r'attribute "mode" is "un\?\?own!"; it must be one of'):
        sluice.compile(model)


def test_places_of_a_blocked_image_are_those_of_rows() -> None:
    """A convolution of 16 channels gives its image in blocks; what takes row-major offsets must not read those."""
    generator = np.random.default_rng(0)
    weights = numpy_helper.from_array(generator.standard_normal((16, 16, 3, 3)).astype(np.float32), "w")
    nodes = [helper.make_node("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1]), helper.make_node("Relu", ["a"], ["b"]),
             helper.make_node("MaxUnpool", ["b", "places"], ["c"], kernel_shape=[2, 2], strides=[2, 2]),
             helper.make_node("Conv", ["c", "w"], ["y"], pads=[1, 1, 1, 1])]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 16, 6, 6]),
              helper.make_tensor_value_info("places", TensorProto.INT64, [1, 16, 6, 6])]
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], [weights])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    x = generator.standard_normal((1, 16, 6, 6)).astype(np.float32)
    places = (np.arange(16)[:, None, None] * 144 + np.arange(6)[:, None] * 24 + np.arange(6) * 2)[None].astype(np.int64)
    results = [sluice.compile(model, backends=backends)(x, places) for backends in (["cpu", "reference"], ["reference"])]
    np.testing.assert_allclose(*results, rtol=1e-3, atol=1e-2)
