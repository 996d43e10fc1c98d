"""Outputs of nodes that a file leaves away because nobody reads them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sluice
from conftest import make_model
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

X = np.random.default_rng(3).standard_normal((2, 6), np.float32)
SCALE = np.linspace(0.5, 2, 6, dtype=np.float32)
FLOAT, INT64, UINT8 = TensorProto.FLOAT, TensorProto.INT64, TensorProto.UINT8


def results(model: Any, *inputs: np.ndarray) -> tuple[np.ndarray, ...]:
    found = sluice.compile(model)(*inputs)
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.parametrize(("operator", "written", "types", "attributes"), [
    ("Split", ["a", "", "c"], [FLOAT, FLOAT], {"axis": 1, "num_outputs": 3}),
    ("Split", ["", "b", ""], [FLOAT], {"axis": 1, "num_outputs": 3}),
    ("TopK", ["", "at"], [INT64], {"axis": 1}),
    ("TopK", ["largest"], [FLOAT], {"axis": 1}),
    ("DynamicQuantizeLinear", ["y"], [UINT8], {}),
    ("DynamicQuantizeLinear", ["y", "", "zero"], [UINT8, UINT8], {}),
    ("LayerNormalization", ["", "mean"], [FLOAT], {}),
    ("LayerNormalization", ["", "", "deviation"], [FLOAT], {}),
])
def test_other_outputs_are_right(operator: str, written: list[str], types: list[int],
                                 attributes: dict[str, Any]) -> None:
    constants = {"TopK": {"k": np.int64([2])}, "LayerNormalization": {"scale": SCALE}}.get(operator, {})
    node = helper.make_node(operator, ["x", *constants], written, **attributes)
    read = [name for name in written if name]
    model = make_model([node], [("x", FLOAT, ["N", 6])], [(name, kind, None) for name, kind in zip(read, types)],
                       constants)
    wanted = ReferenceEvaluator(model).run(None, {"x": X})
    for found, value in zip(results(model, X), wanted, strict=True):
        assert found.dtype == value.dtype
        np.testing.assert_allclose(found, value, rtol=1e-5, atol=1e-6)


def test_indices_of_a_pool_come_alone() -> None:
    node = helper.make_node("MaxPool", ["x"], ["", "at"], kernel_shape=[2])
    model = make_model([node], [("x", FLOAT, [1, 1, 4])], [("at", INT64, [1, 1, 3])])
    assert results(model, np.float32([[[1, 3, 2, 5]]]))[0].ravel().tolist() == [1, 1, 3]


def test_a_node_without_any_name_is_refused() -> None:
    model = make_model([helper.make_node("Split", ["x"], ["", ""], num_outputs=2),
                        helper.make_node("Neg", ["x"], ["y"])], [("x", FLOAT, [4])], [("y", FLOAT, [4])])
    with pytest.raises(ValueError, match="none of its outputs has a name"):
        sluice.compile(model)
