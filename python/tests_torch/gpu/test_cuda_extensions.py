"""Extensions for torch on a GPU; gpu_results.py says how to run them.

Apart from test_cuda.py, because an extension compiles C++ against torch's headers when it is first imported, which
takes half a minute. All are compiled at the same time.
"""

from __future__ import annotations

import importlib
import pathlib
import subprocess
import sys
from types import ModuleType

import pytest
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from gpu_results import NAMES, assert_same, example, made_models, needs_gpu  # noqa: E402

pytestmark = needs_gpu


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    folder = made_models(tmp_path_factory.mktemp("gpu"))
    imports = [subprocess.Popen([sys.executable, "-c", f"import {name}"], cwd=folder) for name in NAMES]
    for each in imports:
        assert each.wait() == 0, each.args
    sys.path.insert(0, str(folder))
    return folder


def load_extension(folder: pathlib.Path, name: str) -> ModuleType:
    module = importlib.import_module(name)
    assert module.__file__ is not None and pathlib.Path(module.__file__).parent.parent == folder
    return module


@pytest.mark.parametrize("name", NAMES)
def test_extension_gives_what_the_model_does(folder: pathlib.Path, name: str) -> None:
    extension = load_extension(folder, name)
    inputs, want = example(folder, name)
    for _ in range(3):
        assert_same(extension.run(*inputs), want)
    extension.check()


@pytest.mark.parametrize("name", NAMES)
def test_extension_runs_on_the_current_stream(folder: pathlib.Path, name: str) -> None:
    extension = load_extension(folder, name)
    inputs, want = example(folder, name)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        late = tuple(torch.zeros_like(each) for each in inputs)
        torch.cuda._sleep(50_000_000)  # the launches must wait for the copies behind it
        for to, given in zip(late, inputs):
            to.copy_(given)
        got = extension.run(*late)
    stream.synchronize()
    assert_same(got, want)


def test_extension_is_captured_in_a_graph(folder: pathlib.Path) -> None:
    extension = load_extension(folder, "encoder")
    inputs, want = example(folder, "encoder")
    fixed = tuple(torch.zeros_like(each) for each in inputs)
    extension.run(*fixed)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        results = extension.run(*fixed)
    for _ in range(2):
        for to, given in zip(fixed, inputs):
            to.copy_(given)
        graph.replay()
        assert_same(results, want)


def test_extension_is_part_of_a_compiled_function(folder: pathlib.Path) -> None:
    extension = load_extension(folder, "convolutions")
    inputs, want = example(folder, "convolutions")
    # Not inductor, which compiles for a minute: what counts is that the operator is part of one graph.
    compiled = torch.compile(lambda x: extension.run(x) * 2 + 1, fullgraph=True, backend="aot_eager")
    assert_same(compiled(*inputs), tuple(each * 2 + 1 for each in want))


def test_wrong_index_is_told_after_the_call(folder: pathlib.Path) -> None:
    extension = load_extension(folder, "embedder")
    (ids, scale), want = example(folder, "embedder")
    extension.run(torch.full_like(ids, 10), scale)
    torch.cuda.synchronize()
    with pytest.raises(RuntimeError, match="met index 10 at .*Gather.*, outside of axis 0 of size 10"):
        extension.check()
    assert_same(extension.run(ids, scale), want)


def test_extension_refuses_tensors_of_two_devices(folder: pathlib.Path) -> None:
    (ids, scale), _ = example(folder, "embedder")
    with pytest.raises(RuntimeError, match='input "scale" is on cpu'):
        load_extension(folder, "embedder").run(ids, scale.cpu())
