"""Small models that the tests of the Python package share."""

from __future__ import annotations

import pathlib
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import onnx
import pytest
import sluice
from onnx import TensorProto, helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
DIGITS = ROOT / "examples" / "digits" / "digits.onnx"
sys.path.insert(0, str(ROOT / "tests/support"))
from daemon import Daemon, running  # noqa: E402 - it waits as the tests do
from eventually import HANG_S, eventually  # noqa: E402, F401 - the tests take it from here

PATIENCE = HANG_S  #: seconds that a test waits for what an idle machine does at once

# A shell ignores this signal in what it runs in the background: tests of interrupts would wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)


def whole_lines(path: pathlib.Path) -> list[str]:
    """The lines of a file that is being written: without the last one while it has no end."""
    return path.read_text().split("\n")[:-1]


def make_model(nodes: list[Any], inputs: list[Any], outputs: list[Any],
               constants: dict[str, Any] | None = None) -> onnx.ModelProto:
    """Inputs and outputs are (name, element type, shape)."""
    graph = helper.make_graph(
        nodes, "test", [helper.make_tensor_value_info(*spec) for spec in inputs],
        [helper.make_tensor_value_info(*spec) for spec in outputs],
        [onnx.numpy_helper.from_array(value, name) for name, value in (constants or {}).items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


def same_type(element_type: int, operator: str = "Identity",
              shape: tuple[Any, ...] = ("N", 3)) -> sluice.Model:
    """A model that gives its input, of a type."""
    return sluice.compile(make_model([helper.make_node(operator, ["x"], ["y"])],
                                     [("x", element_type, shape)], [("y", element_type, shape)]))


@pytest.fixture(scope="session")
def digits() -> sluice.Model:
    return sluice.compile(DIGITS)


@pytest.fixture
def image() -> Any:
    return np.random.default_rng(1).random((2, 1, 8, 8), np.float32)


@pytest.fixture(scope="session")
def two() -> sluice.Model:
    """sum = a + b, difference = a - b."""
    f32 = TensorProto.FLOAT
    return sluice.compile(make_model(
        [helper.make_node("Add", ["a", "b"], ["sum"]),
         helper.make_node("Sub", ["a", "b"], ["difference"])],
        [("a", f32, ["N"]), ("b", f32, ["N"])], [("sum", f32, ["N"]), ("difference", f32, ["N"])]))


@pytest.fixture(scope="session")
def slow() -> sluice.Model:
    """Takes a second or so: a loop of additions, counted by `n`."""
    body = helper.make_graph(
        [helper.make_node("Identity", ["go"], ["go_on"]),
         helper.make_node("Add", ["v", "v"], ["doubled"]),
         helper.make_node("Sub", ["doubled", "v"], ["next"])], "body",
        [helper.make_tensor_value_info("i", TensorProto.INT64, []),
         helper.make_tensor_value_info("go", TensorProto.BOOL, []),
         helper.make_tensor_value_info("v", TensorProto.FLOAT, [64])],
        [helper.make_tensor_value_info("go_on", TensorProto.BOOL, []),
         helper.make_tensor_value_info("next", TensorProto.FLOAT, [64])])
    return sluice.compile(make_model(
        [helper.make_node("Loop", ["n", "", "x"], ["y"], body=body)],
        [("n", TensorProto.INT64, []), ("x", TensorProto.FLOAT, [64])],
        [("y", TensorProto.FLOAT, [64])]), threads=1)


@pytest.fixture(scope="session")
def types_are_strict(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., None]:
    """Checks files and folders. mypy keeps what it has read of NumPy between the calls."""
    cache = tmp_path_factory.mktemp("mypy")

    def check(*arguments: str | pathlib.Path) -> None:
        done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", cache, *arguments],
                              capture_output=True, text=True)
        assert done.returncode == 0, f"mypy:\n{done.stdout}{done.stderr}"

    return check


@pytest.fixture(scope="session")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running(tmp_path_factory.mktemp("daemon"), "--stream-requests", "4096") as started:
        yield started


@pytest.fixture(params=["local", "daemon"])
def runtime(request: pytest.FixtureRequest) -> Iterator[sluice.Runtime]:
    """An engine in this process, and a daemon behind the same interface."""
    if request.param == "local":
        opened = sluice.Runtime()
    else:
        opened = sluice.Runtime.connect(request.getfixturevalue("daemon").address)
    with opened:
        yield opened


@pytest.fixture
def local() -> Iterator[sluice.Runtime]:
    with sluice.Runtime() as opened:
        yield opened
