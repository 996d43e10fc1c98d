"""Tensors of torch as inputs and outputs of models that come from elsewhere."""

from __future__ import annotations

import pathlib

import numpy as np
import onnx
import pytest
import sluice
import torch
from onnx import TensorProto, helper

DIGITS = pathlib.Path(__file__).resolve().parents[2] / "examples" / "digits" / "digits.onnx"


@pytest.fixture(scope="module")
def digits() -> sluice.Model:
    return sluice.compile(DIGITS)


def same_type(element_type: int) -> sluice.Model:
    """A model that gives its input, of a type."""
    x, y = (helper.make_tensor_value_info(name, element_type, ["N", 3]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "same", [x], [y])
    model: onnx.ModelProto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    return sluice.compile(model)


def test_tensors_give_tensors(digits: sluice.Model) -> None:
    x = torch.rand(2, 1, 8, 8)
    y = digits(x)
    assert isinstance(y, torch.Tensor)
    assert isinstance(digits.run({"image": x})["probabilities"], torch.Tensor)
    assert isinstance(digits(x.numpy()), np.ndarray)
    np.testing.assert_array_equal(y.numpy(), digits(x.numpy()))


def test_tensors_of_any_strides_and_with_gradients_are_read(digits: sluice.Model) -> None:
    x = torch.rand(2, 1, 8, 8, requires_grad=True)
    turned = x.transpose(2, 3)
    assert torch.equal(digits(turned), digits(turned.contiguous()))


@pytest.mark.parametrize("number, name", [
    (TensorProto.BFLOAT16, "bfloat16"), (TensorProto.FLOAT16, "float16"), (TensorProto.BOOL, "bool"),
    (TensorProto.INT64, "int64")])
def test_types_come_back(number: int, name: str) -> None:
    x = torch.tensor([[0, 1, 1]]).to(getattr(torch, name))
    y = same_type(number)(x)
    assert y.dtype == x.dtype and torch.equal(y, x)


def test_wrong_type_is_named(digits: sluice.Model) -> None:
    with pytest.raises(ValueError, match="got f64"):
        digits(torch.rand(1, 1, 8, 8, dtype=torch.float64))
