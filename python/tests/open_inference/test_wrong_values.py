"""Values that a model's kernels refuse are the request's own fault, at every door: not the server's, nor the model's."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import onnx
import pytest
import sluice
from conftest import make_model
from onnx import TensorProto, helper
from test_http import Curl

grpcclient = pytest.importorskip("tritonclient.grpc")
from tritonclient.utils import InferenceServerException  # noqa: E402

from repositories import serving  # noqa: E402

DATA = np.arange(6, dtype=np.float32).reshape(2, 3)
F32, I64, STRING = TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING


class Case(NamedTuple):
    model: Any
    wrong: np.ndarray  #: a value of the input x that no kernel takes
    right: np.ndarray
    message: str
    datatype: str = "INT64"


def over_data(node: Any, shape: list[Any], output: list[Any], element: int = F32) -> Any:
    """An operation on DATA and the input x."""
    return make_model([node], [("x", I64, shape)], [("y", element, output)], {"data": DATA})


def cases() -> dict[str, Case]:
    gather = helper.make_node("Gather", ["data", "x"], ["y"])
    gather_nd = helper.make_node("GatherND", ["data", "x"], ["y"])
    elements = helper.make_node("GatherElements", ["data", "x"], ["y"], axis=1)
    scatter_nd = helper.make_node("ScatterND", ["data", "x", "row"], ["y"])
    reshape = helper.make_node("Reshape", ["data", "x"], ["y"])
    expand = helper.make_node("Expand", ["data", "x"], ["y"])
    division = helper.make_node("Div", ["ten", "x"], ["y"])
    cast = helper.make_node("Cast", ["x"], ["y"], to=F32)
    scattered = make_model([scatter_nd], [("x", I64, [1, 1])], [("y", F32, [2, 3])],
                           {"data": DATA, "row": np.ones((1, 3), np.float32)})
    divided = make_model([division], [("x", I64, ["N"])], [("y", I64, ["N"])], {"ten": np.array([10])})
    numbers = make_model([cast], [("x", STRING, ["N"])], [("y", F32, ["N"])])

    def ints(*values: Any) -> np.ndarray:
        return np.array(values, np.int64)

    return {
        "gather": Case(over_data(gather, ["N"], ["N", 3]), ints(0, 7), ints(0, 1), "index 7"),
        "gather_nd": Case(over_data(gather_nd, ["N", 2], ["N"]), ints([0, 5]), ints([1, 2]), "5"),
        "gather_elements": Case(over_data(elements, [2, "N"], [2, "N"]), ints([0], [-9]), ints([0], [2]), "-9"),
        "scatter_nd": Case(scattered, ints([4]), ints([1]), "4"),
        "reshape": Case(over_data(reshape, [2], ["A", "B"]), ints(4, 2), ints(3, 2), "Reshape"),
        "expand": Case(over_data(expand, [2], ["A", "B"]), ints(5, 3), ints(2, 3), "Expand"),
        "division": Case(divided, ints(1, 0), ints(1, 5), "division by zero"),
        "cast": Case(numbers, np.array([b"1.5", b"plum"], object), np.array([b"1.5", b"2"], object), "plum", "BYTES"),
    }


CASES = cases()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with serving(tmp_path_factory.mktemp("values")) as (daemon, repository, client):
        for name, case in CASES.items():
            repository.put(f"{name}.onnx", case.model)
            client.load_model(name)
        yield daemon


def body_of(case: Case, value: np.ndarray) -> bytes:
    data = [item.decode() for item in value] if case.datatype == "BYTES" else value.ravel().tolist()
    tensor = {"name": "x", "shape": list(value.shape), "datatype": case.datatype, "data": data}
    return json.dumps({"inputs": [tensor]}).encode()


@pytest.mark.parametrize("name", CASES)
def test_http_says_400_with_the_kernels_words(served: Any, name: str) -> None:
    case, curl = CASES[name], Curl(served.http)
    status, answer = curl("POST", f"/v2/models/{name}/infer", body_of(case, case.wrong))
    assert status == 400, answer
    assert case.message in json.loads(answer)["error"]
    status, answer = curl("POST", f"/v2/models/{name}/infer", body_of(case, case.right))
    assert status == 200, answer


@pytest.mark.parametrize("name", CASES)
def test_grpc_says_invalid_argument(served: Any, name: str) -> None:
    case = CASES[name]
    with grpcclient.InferenceServerClient(served.address) as client:
        def ask(value: np.ndarray) -> Any:
            made = grpcclient.InferInput("x", list(value.shape), case.datatype)
            made.set_data_from_numpy(value)
            return client.infer(name, [made])

        with pytest.raises(InferenceServerException) as refused:
            ask(case.wrong)
        assert refused.value.status() == "StatusCode.INVALID_ARGUMENT"
        assert case.message in refused.value.message()
        assert ask(case.right).as_numpy("y") is not None


@pytest.mark.parametrize("name", CASES)
def test_the_library_raises_invalid_argument_and_the_model_stays_well(runtime: sluice.Runtime, name: str) -> None:
    case = CASES[name]
    with runtime.load(sluice.compile(case.model)) as model:
        for _ in range(3):
            with pytest.raises(sluice.InvalidArgument, match=case.message):
                model(case.wrong)
        assert model.health().state == "healthy", model.health()
        assert model(case.right) is not None


def test_a_damaged_photo_is_the_requests_fault_in_the_library_too(runtime: sluice.Runtime) -> None:
    decoder = helper.make_model(helper.make_graph(
        [helper.make_node("ImageDecoder", ["x"], ["y"])], "photo",
        [helper.make_tensor_value_info("x", TensorProto.UINT8, ["N"])],
        [helper.make_tensor_value_info("y", TensorProto.UINT8, ["H", "W", 3])]),
        opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    with runtime.load(sluice.compile(decoder)) as model:
        with pytest.raises(sluice.InvalidArgument, match="neither PNG nor JPEG"):
            model(np.frombuffer(b"no photo at all", np.uint8))


@pytest.mark.parametrize("name", ["gather", "reshape", "division"])
def test_the_command_fails_with_one_line(tmp_path: pathlib.Path, name: str) -> None:
    case = CASES[name]
    onnx.save(case.model, tmp_path / "m.onnx")
    np.save(tmp_path / "x.npy", case.wrong)
    done = subprocess.run([sys.executable, "-m", "sluice", "run", tmp_path / "m.onnx", "--input", f"x={tmp_path / 'x.npy'}"],
                          capture_output=True, text=True)
    assert done.returncode == 1, done
    line = done.stderr.splitlines()[-1]  # behind the note that the cache of compiled models has it
    assert line.startswith(("sluice run: invalid argument: ", "sluice run: out of range: ")) and case.message in line
