"""Tensors of torch. The project's environment has no torch; where it is installed, these run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sluice
from onnx import TensorProto

from conftest import same_type

torch: Any = pytest.importorskip("torch", reason="torch is not installed")


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
