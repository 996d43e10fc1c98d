"""sluice.onnxruntime beside onnxruntime itself."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import threading
import warnings
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import sluice
import sluice.onnxruntime as ort

from conftest import DIGITS, PATIENCE, make_model
from sluice.onnxruntime import protobuf


@pytest.fixture(autouse=True)
def cache(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    monkeypatch.setenv("SLUICE_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def session(cache: pathlib.Path) -> Any:
    return ort.InferenceSession(str(DIGITS), providers=["CPUExecutionProvider"])


def test_session_answers_as_onnxruntime(session: Any, image: np.ndarray) -> None:
    theirs = onnxruntime.InferenceSession(str(DIGITS))
    np.testing.assert_allclose(session.run(None, {"image": image})[0],
                               theirs.run(None, {"image": image})[0], atol=1e-5)
    for ours, their in zip(session.get_inputs() + session.get_outputs(),
                           theirs.get_inputs() + theirs.get_outputs()):
        assert (ours.name, ours.type, ours.shape) == (their.name, their.type, their.shape)
    assert session.get_providers() == theirs.get_providers()
    assert session.run([], {"image": image.tolist()})[0].shape == (2, 10)


def test_models_are_compiled_once_per_content(cache: pathlib.Path, image: np.ndarray,
                                              monkeypatch: pytest.MonkeyPatch) -> None:
    ort.InferenceSession(DIGITS.read_bytes())
    (package,) = cache.iterdir()
    monkeypatch.setattr(sluice.loading, "compile", lambda *_, **__: pytest.fail("compiled again"))
    os.utime(package, (1, 1))
    ort.InferenceSession(DIGITS.read_bytes()).run(None, {"image": image})
    assert package.stat().st_mtime > 1, "the package does not count as used"
    monkeypatch.undo()
    monkeypatch.setenv("SLUICE_CACHE_DIR", str(cache))
    package.write_bytes(b"damaged")
    ort.InferenceSession(DIGITS.read_bytes()).run(None, {"image": image})
    assert package.stat().st_size > 1000
    monkeypatch.setenv("SLUICE_CACHE_DIR", "")
    ort.InferenceSession(DIGITS.read_bytes())
    monkeypatch.setenv("SLUICE_CACHE_DIR", "/proc/none")
    ort.InferenceSession(DIGITS.read_bytes())


def test_run_async_calls_back(session: Any, image: np.ndarray) -> None:
    done = threading.Event()
    answers: list[Any] = []

    def callback(results: list[Any], user_data: Any, error: str) -> None:
        answers.append((results, user_data, error))
        done.set()

    session.run_async(None, {"image": image}, callback, 7)
    assert done.wait(PATIENCE)
    assert answers[0][1:] == (7, "") and answers[0][0][0].shape == (2, 10)
    done.clear()
    session.run_async(None, {"image": image[:, :, :4]}, callback, 8)
    assert done.wait(PATIENCE)
    assert "got f32[2,1,4,8]" in answers[1][2]


def test_io_binding_reads_and_writes_in_place(session: Any, image: np.ndarray) -> None:
    expected = session.run(None, {"image": image})[0]
    binding = session.io_binding()
    binding.bind_cpu_input("image", image)
    binding.bind_output("probabilities")
    session.run_with_iobinding(binding)
    np.testing.assert_array_equal(binding.copy_outputs_to_cpu()[0], expected)
    out = ort.OrtValue.ortvalue_from_shape_and_type([2, 10], np.float32)
    binding.bind_ortvalue_output("probabilities", out)
    binding.bind_input("image", "cpu", 0, np.float32, image.shape, image.ctypes.data)
    session.run_with_iobinding(binding)
    np.testing.assert_array_equal(out.numpy(), expected)
    by_address = np.empty((2, 10), np.float32)
    binding.bind_output("probabilities", "cpu", 0, np.float32, (2, 10), by_address.ctypes.data)
    session.run_with_iobinding(binding)
    np.testing.assert_array_equal(by_address, expected)
    with pytest.raises(ValueError, match="cuda"):
        binding.bind_output("probabilities", "cuda")


def test_ort_values_describe_themselves(session: Any, image: np.ndarray) -> None:
    value = ort.OrtValue.ortvalue_from_numpy(image)
    assert value.shape() == [2, 1, 8, 8] and value.data_type() == "tensor(float)"
    assert value.data_ptr() == image.ctypes.data and value.device_name() == "cpu"
    (result,) = session.run_with_ort_values(None, {"image": value})
    np.testing.assert_array_equal(result.numpy(), session.run(None, {"image": image})[0])


def test_wrong_feeds_fail_as_in_onnxruntime(session: Any, image: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"Required inputs \(\['image'\]\) are missing"):
        session.run(None, {})
    with pytest.raises(ort.capi.InvalidArgument, match="Invalid input name: picture"):
        session.run(None, {"image": image, "picture": image})
    with pytest.raises(ort.capi.InvalidArgument, match="got f64"):
        session.run(None, {"image": image.astype(np.float64)})
    with pytest.raises(ort.capi.NoSuchFile):
        ort.InferenceSession("/no/such.onnx")
    with pytest.raises(ort.capi.InvalidProtobuf):
        ort.InferenceSession(b"damaged")


def test_model_meta_is_the_authors() -> None:
    model = onnx.load(DIGITS)
    model.domain, model.model_version, model.doc_string = "org.example", 7, "reads digits"
    model.producer_name, model.graph.doc_string = "tests", "twelve layers"
    onnx.helper.set_model_props(model, {"character": "a\nä\n", "empty": ""})
    source = model.SerializeToString()
    ours = ort.InferenceSession(source).get_modelmeta()
    theirs = onnxruntime.InferenceSession(source).get_modelmeta()
    for name in ("custom_metadata_map", "producer_name", "graph_name", "domain", "description",
                 "graph_description", "version"):
        assert getattr(ours, name) == getattr(theirs, name), name


def test_options_without_effect_warn_once() -> None:
    options = ort.SessionOptions()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        options.intra_op_num_threads = 1
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
        options.log_severity_level = 3
        options.use_deterministic_compute = False
    with pytest.warns(RuntimeWarning, match="use_deterministic_compute has no effect"):
        options.use_deterministic_compute = True
    with pytest.warns(RuntimeWarning, match="CUDAExecutionProvider"):
        ort.InferenceSession(DIGITS.read_bytes(), options, ["CUDAExecutionProvider"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        options.use_deterministic_compute = True
        ort.InferenceSession(DIGITS.read_bytes(), options, [("CUDAExecutionProvider", {})])


def test_install_makes_it_onnxruntime() -> None:
    code = ("import sluice.onnxruntime as ort; ort.install(); import onnxruntime;"
            "assert onnxruntime is ort;"
            "from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument, Fail;"
            "from onnxruntime import InferenceSession, SessionOptions")
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
    with pytest.raises(RuntimeError, match="imported already"):
        ort.install()


def test_free_dimensions_are_overridden_by_name(image: np.ndarray) -> None:
    options = ort.SessionOptions()
    options.add_free_dimension_override_by_name("N", 2)
    session = ort.InferenceSession(str(DIGITS), options)
    assert session.get_inputs()[0].shape == [2, 1, 8, 8]
    assert session.run(None, {"image": image})[0].shape == (2, 10)
    with pytest.raises(sluice.InvalidArgument):
        session.run(None, {"image": image[:1]})


def test_optimised_model_is_a_package_that_a_session_opens(tmp_path: pathlib.Path, image: np.ndarray) -> None:
    options = ort.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "optimised.onnx")
    with pytest.warns(RuntimeWarning, match="optimised.onnx is a package of Sluice, no ONNX file"):
        session = ort.InferenceSession(str(DIGITS), options)
    again = ort.InferenceSession(options.optimized_model_filepath)
    np.testing.assert_array_equal(again.run(None, {"image": image})[0], session.run(None, {"image": image})[0])


def weighted_model() -> Any:
    """y = x * w + b"""
    f32 = onnx.TensorProto.FLOAT
    return make_model([onnx.helper.make_node("Mul", ["x", "w"], ["p"]), onnx.helper.make_node("Add", ["p", "b"], ["y"])],
                      [("x", f32, [3, 2])], [("y", f32, [3, 2])],
                      {"w": np.ones((3, 2), np.float32), "b": np.float32([10, 20])})


def answers(path: pathlib.Path, **values: Any) -> list[Any]:
    """The answers of onnxruntime and of the shim, with initializers in place of the model's."""
    results = []
    for engine in (onnxruntime, ort):
        options = engine.SessionOptions()
        kept = {name: engine.OrtValue.ortvalue_from_numpy(value) for name, value in values.items()}
        if len(kept) == 1:
            options.add_initializer(*next(iter(kept.items())))
        else:
            options.add_external_initializers(list(kept), list(kept.values()))
        session = engine.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        results.append(session.run(None, {"x": np.arange(6, dtype=np.float32).reshape(3, 2)})[0])
    return results


def test_initializers_of_the_options_replace_those_of_the_model(tmp_path: pathlib.Path) -> None:
    onnx.save(weighted_model(), tmp_path / "model.onnx")
    theirs, ours = answers(tmp_path / "model.onnx", w=np.float32([[2, 1], [4, 3], [6, 5]]))
    np.testing.assert_array_equal(ours, theirs)
    assert ours[2].tolist() == [34, 45]


def test_external_initializers_need_no_file(tmp_path: pathlib.Path) -> None:
    onnx.save(weighted_model(), tmp_path / "model.onnx", save_as_external_data=True, location="model.data",
              size_threshold=0)
    (tmp_path / "model.data").unlink()
    theirs, ours = answers(tmp_path / "model.onnx", w=np.full((3, 2), 3, np.float32), b=np.float32([1, 2]))
    np.testing.assert_array_equal(ours, theirs)


def test_one_external_initializer_leaves_the_others_to_the_file(tmp_path: pathlib.Path) -> None:
    onnx.save(weighted_model(), tmp_path / "model.onnx", save_as_external_data=True, location="model.data",
              size_threshold=0)
    theirs, ours = answers(tmp_path / "model.onnx", w=np.full((3, 2), 3, np.float32))
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("value", [np.ones((2, 3), np.float32), np.ones((3, 2), np.float64), np.array(["a"])])
def test_initializers_of_another_type_or_shape_are_refused(value: Any) -> None:
    options = ort.SessionOptions()
    options.add_initializer("w", value)
    with pytest.raises(sluice.InvalidArgument, match=r'initializer "w": got .*, the model has f32\[3, 2\]'):
        ort.InferenceSession(weighted_model().SerializeToString(), options)


def test_initializers_that_the_model_lacks_warn() -> None:
    options = ort.SessionOptions()
    options.add_initializer("other", np.float32([1]))
    with pytest.warns(RuntimeWarning, match='the model has no initializer "other"'):
        ort.InferenceSession(weighted_model().SerializeToString(), options)


def test_profile_of_a_session_is_a_trace(tmp_path: pathlib.Path, image: np.ndarray) -> None:
    options = ort.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = str(tmp_path / "digits_")
    session = ort.InferenceSession(str(DIGITS), options)
    session.run(None, {"image": image})
    session.run_with_ort_values(None, {"image": ort.OrtValue.ortvalue_from_numpy(image)})
    binding = session.io_binding()
    binding.bind_cpu_input("image", image)
    binding.bind_output("probabilities")
    session.run_with_iobinding(binding)
    events = json.loads(pathlib.Path(session.end_profiling()).read_text())
    assert [event["name"] for event in events] == ["model_run"] * 3 and events[0]["ph"] == "X"
    assert session.get_profiling_start_time_ns() > 0


def test_providers_are_normalized_as_onnxruntime_does(session: Any) -> None:
    from onnxruntime.capi.onnxruntime_inference_collection import check_and_normalize_provider_args as theirs

    valid = ["A", "B"]
    for providers, options in ((None, None), (["A"], None), ([("A", {1: 2}), "B"], None), (["A", "B"], [{1: 2}, {}])):
        assert ort.check_and_normalize_provider_args(providers, options, valid) == theirs(providers, options, valid)
    for providers, options in ((3, None), ([3], None), (["A"], 3), (["A"], ["x"]), (["A", "B"], [{}])):
        with pytest.raises(ValueError):
            ort.check_and_normalize_provider_args(providers, options, valid)
    with pytest.raises(RuntimeError, match="Unknown Provider Type: Invalid"):
        session.set_providers(["Invalid"])


def test_allocators_keep_their_settings() -> None:
    assert ort.OrtArenaCfg(8, 0, 4, 2).initial_chunk_size_bytes == 4
    assert ort.OrtArenaCfg({"max_mem": 16}).max_mem == 16
    with pytest.raises(ValueError):
        ort.OrtArenaCfg({"colour": 1})


def damaged_models() -> dict[str, bytes]:
    """Models of a few bytes; a reader that goes on to the end takes minutes."""
    many = b"\xff" * 2_000_000
    return {"a key": many,
            "a number": b"\x08" + many,
            "a size": b"\x3a" + many,
            "a dimension": bytes_of_graph(11, bytes_of(2, bytes_of(1, bytes_of(2, bytes_of(1, b"\x08" + many))))),
            "a long field": b"\x3a\x7f" + b"\0" * 3,
            "a short number": b"\x0d\0",
            "a group": b"\x3b"}


def bytes_of(number: int, message: bytes) -> bytes:
    return b"".join(protobuf.bytes_field(number, message))


def bytes_of_graph(number: int, message: bytes) -> bytes:
    return bytes_of(7, bytes_of(number, message))


@pytest.mark.filterwarnings("ignore:.*has no initializer")
@pytest.mark.parametrize("name, model", damaged_models().items(), ids=damaged_models())
def test_a_damaged_model_is_refused_at_once(name: str, model: bytes) -> None:
    dims, values = ort.SessionOptions(), ort.SessionOptions()
    dims.add_free_dimension_override_by_name("N", 2)
    values.add_initializer("w", np.zeros((3, 2), np.float32))
    for options in (dims, values):
        with pytest.raises(sluice.InvalidArgument):
            ort.InferenceSession(model, options)


def test_packed_dimensions_without_an_end_are_refused() -> None:
    tensor = bytes_of(8, b"w") + bytes_of(1, b"\xff" * 2_000_000)
    options = ort.SessionOptions()
    options.add_initializer("w", np.zeros((3, 2), np.float32))
    with pytest.raises(sluice.InvalidArgument, match="the model is damaged: a number without an end"):
        ort.InferenceSession(bytes_of_graph(5, tensor), options)


def test_every_message_that_protobuf_writes_is_read() -> None:
    tensor = onnx.TensorProto(dims=[0, 1, 127, 128, 2**63 - 1, -1], data_type=1, name="w", float_data=[1.5])
    read = [(number, bytes(value) if isinstance(value, memoryview) else value)
            for number, value in protobuf.fields(memoryview(tensor.SerializeToString()))]
    assert read[:6] == [(1, 0), (1, 1), (1, 127), (1, 128), (1, 2**63 - 1), (1, 2**64 - 1)]
    assert read[6:] == [(2, 1), (4, np.float32(1.5).tobytes()), (8, b"w")]
    assert list(protobuf.varints(memoryview(b"\x01\xff\x01\x00"))) == [1, 255, 0]
