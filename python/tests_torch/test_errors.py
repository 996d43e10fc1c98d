"""What is refused, and what the message says."""

from __future__ import annotations

import io
import pathlib
from typing import Any

import pytest
import sluice.torch
import torch
from torch import nn

from conftest import Conv


def test_training_mode_is_refused() -> None:
    with pytest.raises(ValueError, match="training mode; call model.eval"):
        sluice.torch.trace(Conv(), torch.rand(1, 1, 3, 3))
    half = nn.Sequential(nn.ReLU(), nn.Dropout()).eval()
    half[1].train()
    with pytest.raises(ValueError, match='module "1" is in training mode'):
        sluice.torch.trace(half, torch.rand(1))
    with pytest.raises(ValueError, match="for inference"):
        sluice.torch.trace(half.eval(), torch.rand(1)).train()


def test_options_by_position_and_unknown_ones_are_type_errors() -> None:
    trace: Any = sluice.torch.trace
    with pytest.raises(TypeError):
        trace(Conv().eval(), torch.rand(1, 1, 3, 3), {})
    with pytest.raises(TypeError, match="compiler_wrokdir"):
        trace(Conv().eval(), torch.rand(1, 1, 3, 3), compiler_wrokdir="x")


def test_other_shapes_types_and_structures_are_refused(conv: nn.Module) -> None:
    traced = sluice.torch.trace(conv, torch.rand(1, 1, 3, 3))
    with pytest.raises(ValueError, match=r'input "x": got f32\[2,1,3,3\], model takes f32\[1,1,3,3\]'):
        traced(torch.rand(2, 1, 3, 3))
    with pytest.raises(ValueError, match="got f64"):
        traced(torch.rand(1, 1, 3, 3, dtype=torch.float64))
    with pytest.raises(ValueError, match="was traced with"):
        traced(torch.rand(1, 1, 3, 3), torch.rand(1))


def test_foreign_messages_are_short_and_whole_in_the_work_directory(tmp_path: pathlib.Path) -> None:
    def sizes(x: torch.Tensor) -> torch.Tensor:
        return torch.ones(3) if x.max().item() > 0 else torch.zeros(2)

    with pytest.raises(NotImplementedError) as error:
        sluice.torch.trace(sizes, torch.rand(4), compiler_workdir=tmp_path)
    assert len(str(error.value)) < 900 and str(tmp_path) in str(error.value)
    assert len((tmp_path / "error.txt").read_text()) > 100


def test_an_operator_without_translation_is_named() -> None:
    with pytest.raises(NotImplementedError, match=r"no translation of aten\.") as error:
        sluice.torch.trace(lambda x: torch.linalg.eigvalsh(x), torch.eye(3))
    assert "\x1b" not in str(error.value)


def test_torchscript_of_a_traced_model_is_refused(conv: nn.Module, tmp_path: pathlib.Path) -> None:
    x = torch.rand(1, 1, 3, 3)
    traced = sluice.torch.trace(conv, x)
    with pytest.raises(RuntimeError, match="save it by save"):
        torch.jit.trace(nn.Sequential(traced), x)
    for target in (str(tmp_path / "traced.pt"), io.BytesIO()):
        with pytest.raises(RuntimeError, match="sluice.torch.load reads"):
            torch.jit.save(traced, target)
    assert not list(tmp_path.iterdir())


def test_a_traced_model_does_not_change_its_types(conv: nn.Module) -> None:
    traced = sluice.torch.trace(conv, torch.rand(1, 1, 3, 3))
    for change in (traced.half, traced.double, nn.Sequential(traced).bfloat16, lambda: traced.to(torch.float16)):
        with pytest.raises(ValueError, match="keeps the types of its trace"):
            change()
    assert traced.float() is traced and traced.to("cpu") is traced


def test_a_dimension_that_the_model_fixes_is_named() -> None:
    class Fixed(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.reshape(2, 3) + 1

    with pytest.raises(ValueError, match="dynamic_shapes"):
        sluice.torch.trace(Fixed().eval(), torch.rand(2, 3), dynamic_shapes={"x": {0: "N"}})
    with pytest.raises(ValueError, match="example of 2 or more"):
        sluice.torch.trace(nn.ReLU().eval(), torch.rand(1, 3), dynamic_shapes={"input": {0: "N"}})
    with pytest.raises(ValueError, match="the parameters are"):
        sluice.torch.trace(nn.ReLU().eval(), torch.rand(2, 3), dynamic_shapes={"y": {0: "N"}})


def test_wrong_compiler_arguments_are_refused(conv: nn.Module) -> None:
    with pytest.raises(ValueError, match="did you mean --weights"):
        sluice.torch.trace(conv, torch.rand(1, 1, 3, 3), compiler_args="--wieghts bf16")
    with pytest.raises(ValueError, match="frontend must be one of"):
        sluice.torch.trace(conv, torch.rand(1, 1, 3, 3), frontend="fx")


def test_inputs_of_other_kinds_are_refused() -> None:
    with pytest.raises(ValueError, match="contain a set"):
        sluice.torch.trace(lambda x: x, ({1},))
    with pytest.raises(TypeError, match="no module and no function"):
        sluice.torch.trace(3, torch.rand(1))


def test_a_traced_model_does_not_move_to_another_device(conv: nn.Module) -> None:
    traced = sluice.torch.trace(conv, torch.rand(1, 1, 5, 5))
    assert traced.cpu() is traced and traced.to("cpu", torch.float32) is traced
    with pytest.raises(sluice.InvalidArgument, match="cannot move to meta; trace the original with device="):
        traced.to("meta")
    with pytest.raises(sluice.InvalidArgument, match="cannot move to meta"):
        nn.Sequential(traced).to("meta")
