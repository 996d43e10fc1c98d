"""Models on a GPU whose inputs and outputs are torch's tensors there; gpu_results.py says how to run them.

python/tests/gpu does the same over an emulator, with a stand-in for torch.
"""

from __future__ import annotations

import pathlib
import sys

import pytest
import torch

import sluice

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import gpu_models  # noqa: E402
from gpu_results import NAMES, assert_same, example, made_models, needs_exporter, needs_gpu  # noqa: E402

pytestmark = needs_gpu


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    return made_models(tmp_path_factory.mktemp("gpu"))


def test_tensors_of_two_devices_are_refused(folder: pathlib.Path) -> None:
    (ids, scale), _ = example(folder, "embedder")
    with pytest.raises(sluice.InvalidArgument, match='input "scale" is on cpu, another is on a GPU'):
        sluice.load(folder / "embedder.sluice")(ids, scale.cpu())


@pytest.mark.parametrize("name", NAMES)
def test_package_takes_and_gives_tensors_on_the_gpu(folder: pathlib.Path, name: str) -> None:
    inputs, want = example(folder, name)
    with sluice.load(folder / f"{name}.sluice") as model:
        for _ in range(4):  # later runs may be graphs
            assert_same(model(*inputs), want)
        named = {spec.name: value for spec, value in zip(model.inputs, inputs)}
        assert_same(tuple(model.run(named).values()), want)
        assert model.copied_bytes == 0


def test_package_waits_for_work_of_torch(folder: pathlib.Path) -> None:
    inputs, want = example(folder, "convolutions")
    with sluice.load(folder / "convolutions.sluice") as model:
        for _ in range(4):
            late = torch.zeros_like(inputs[0])
            torch.cuda._sleep(50_000_000)
            late.copy_(inputs[0])
            assert_same(model(late), want)


def test_package_takes_views(folder: pathlib.Path) -> None:
    inputs, want = example(folder, "encoder")
    with sluice.load(folder / "encoder.sluice") as model:
        assert_same(model(inputs[0].transpose(0, 1).contiguous().transpose(0, 1)), want)
        shifted = torch.empty(inputs[0].numel() + 1, device="cuda")[1:].view_as(inputs[0]).copy_(inputs[0])
        assert_same(model(shifted), want)


def test_package_names_wrong_shapes_and_gradients(folder: pathlib.Path) -> None:
    with sluice.load(folder / "encoder.sluice") as model:
        with pytest.raises(sluice.InvalidArgument, match=r"got float32\[1, 9, 64\], model takes f32\[2,9,64\]"):
            model(torch.rand(1, 9, 64, device="cuda"))
        with pytest.raises(sluice.InvalidArgument, match="requires a gradient"):
            model(torch.rand(2, 9, 64, device="cuda", requires_grad=True))


def test_package_takes_arrays_of_the_processor_too(folder: pathlib.Path) -> None:
    inputs, want = example(folder, "encoder")
    with sluice.load(folder / "encoder.sluice") as model:
        got = model(inputs[0].cpu())
        torch.testing.assert_close(got, want[0].cpu(), rtol=1e-3, atol=1e-4)
        assert_same(model(*inputs), want)


@needs_exporter
def test_trace_for_a_gpu_takes_a_module_there() -> None:
    import sluice.torch

    model = gpu_models.Convolutions().eval().cuda()
    x = torch.rand(2, 3, 32, 32, device="cuda")
    traced = sluice.torch.trace(model, x, device="cuda")
    with torch.no_grad():
        assert_same(traced(x), (model(x),))


@needs_exporter
def test_compiled_model_takes_tensors_on_a_gpu() -> None:
    import sluice.torch  # noqa: F401

    model = gpu_models.Convolutions().eval().cuda()
    x = torch.rand(2, 3, 32, 32, device="cuda")
    with torch.no_grad():
        assert_same(torch.compile(model, backend="sluice")(x), (model(x),))
