"""What calls on tensors of a GPU refuse, with tensors that only say that they are there."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

import sluice
import sluice.torch


class Sum(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + y


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sluice.Model]:
    path = tmp_path_factory.mktemp("packages") / "sum.sluice"
    sluice.torch.trace(Sum().eval(), (torch.rand(2, 3), torch.rand(3))).save(path)
    with sluice.load(path) as loaded:
        yield loaded


def on_gpu(*shape: int, dtype: torch.dtype = torch.float32, requires_grad: bool = False) -> torch.Tensor:
    with FakeTensorMode():
        return torch.empty(shape, dtype=dtype, device="cuda", requires_grad=requires_grad)


def test_mixed_devices_are_named(model: sluice.Model) -> None:
    with pytest.raises(sluice.InvalidArgument, match='input "y" is on cpu, another is on a GPU'):
        model(on_gpu(2, 3), torch.rand(3))
    with pytest.raises(sluice.InvalidArgument, match='input "x" is a ndarray, another is on a GPU'):
        model(torch.rand(2, 3).numpy(), on_gpu(3))
    with pytest.raises(sluice.InvalidArgument, match='input "y" is on cpu, another is on a GPU'):
        model.run({"y": torch.rand(3), "x": on_gpu(2, 3)})


def test_wrong_types_and_shapes_are_named(model: sluice.Model) -> None:
    with pytest.raises(sluice.InvalidArgument, match=r'input "x": got float32\[3, 3\], model takes f32\[2,3\]'):
        model(on_gpu(3, 3), on_gpu(3))
    with pytest.raises(sluice.InvalidArgument, match=r'input "y": got float16\[3\], model takes f32\[3\]'):
        model(on_gpu(2, 3), on_gpu(3, dtype=torch.float16))


def test_gradients_are_refused(model: sluice.Model) -> None:
    with pytest.raises(sluice.InvalidArgument, match='input "y" requires a gradient'):
        model(on_gpu(2, 3), on_gpu(3, requires_grad=True))


def test_options_for_arrays_are_refused(model: sluice.Model) -> None:
    with pytest.raises(sluice.InvalidArgument, match="`out`, `timeout` and `cancellation` are for inputs in memory"):
        model.run({"x": on_gpu(2, 3), "y": on_gpu(3)}, timeout=1)


def test_varying_shapes_are_refused(tmp_path: pathlib.Path) -> None:
    traced = sluice.torch.trace(Sum().eval(), (torch.rand(2, 3), torch.rand(3)),
                                dynamic_shapes={"x": {0: "N"}, "y": None})
    with pytest.raises(sluice.InvalidArgument, match=r'"x" is f32\[N,3\]: tensors on a GPU need fixed shapes'):
        traced(on_gpu(2, 3), on_gpu(3))


def test_trace_for_a_gpu_names_what_it_lacks() -> None:
    inputs = torch.rand(2, 3), torch.rand(3)
    with pytest.raises(sluice.InvalidArgument, match="device must be one of .*, not 'tpu'"):
        sluice.torch.trace(Sum().eval(), inputs, device="tpu")
    with pytest.raises(sluice.InvalidArgument, match="cannot be combined with dynamic_shapes, inline_weights=False"):
        sluice.torch.trace(Sum().eval(), inputs, device="cuda", inline_weights=False,
                           dynamic_shapes={"x": {0: "N"}, "y": None})


def test_trace_for_a_gpu_compiles_for_the_plug_in_cuda() -> None:
    if torch.cuda.is_available():
        pytest.skip("test_cuda.py runs it here")
    with pytest.raises(sluice.Error, match='backend "cuda"|CUDA'):
        sluice.torch.trace(Sum().eval(), (torch.rand(2, 3), torch.rand(3)), device="cuda")
