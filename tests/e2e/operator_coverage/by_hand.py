"""Recipes for operators that the onnx package has no case for, and the words of older versions."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import helper

from operator_coverage.recipe import Recipe

FLOAT = onnx.TensorProto.FLOAT
INT32 = onnx.TensorProto.INT32
UINT8 = onnx.TensorProto.UINT8


def made(op: str, inputs: list[np.ndarray], outputs: list[tuple[int, list[int]]],
         **attributes) -> Recipe:
    names = [f"x{i}" for i in range(len(inputs))]
    results = [f"y{i}" for i in range(len(outputs))]
    recipe = Recipe(helper.make_node(op, names, results, **attributes))
    for name, value in zip(names, inputs):
        element = helper.np_dtype_to_tensor_dtype(value.dtype)
        recipe.types[name] = helper.make_tensor_type_proto(element, value.shape)
        recipe.values[name] = value
    for name, (element, shape) in zip(results, outputs):
        recipe.types[name] = helper.make_tensor_type_proto(element, shape)
    return recipe


def ramp(*shape: int) -> np.ndarray:
    return np.arange(1, 1 + np.prod(shape), dtype=np.float32).reshape(shape)


def linear_attention() -> Recipe:
    """Linear attention with an initial state, whose type may differ from the sequence's."""
    sequence, state = ramp(1, 2, 3), ramp(1, 1, 3, 3)
    return made("LinearAttention", [sequence, sequence, sequence, state],
                [(FLOAT, [1, 2, 3]), (FLOAT, [1, 1, 3, 3])], q_num_heads=1, kv_num_heads=1,
                update_rule="linear")


MISSING = {
    "LinearAttention": linear_attention,
    "ScatterND": lambda: made("ScatterND", [ramp(3), np.array([[1]], np.int64), ramp(1)],
                              [(FLOAT, [3])]),  # max and min have no order of complex numbers
    "GlobalLpPool": lambda: made("GlobalLpPool", [ramp(1, 2, 3)], [(FLOAT, [1, 2, 1])]),
    "MaxRoiPool": lambda: made("MaxRoiPool", [ramp(1, 1, 4, 4),
                                              np.array([[0, 0, 0, 3, 3]], np.float32)],
                               [(FLOAT, [1, 1, 2, 2])], pooled_shape=[2, 2]),
    "Multinomial": lambda: made("Multinomial", [ramp(1, 3)], [(INT32, [1, 2])], sample_size=2,
                                seed=1.0),
    "RandomNormal": lambda: made("RandomNormal", [], [(FLOAT, [2, 3])], shape=[2, 3], seed=1.0),
    "RandomNormalLike": lambda: made("RandomNormalLike", [ramp(2, 3)], [(FLOAT, [2, 3])], dtype=1),
    "RandomUniform": lambda: made("RandomUniform", [], [(FLOAT, [2, 3])], shape=[2, 3], seed=1.0),
    "RandomUniformLike": lambda: made("RandomUniformLike", [ramp(2, 3)], [(FLOAT, [2, 3])],
                                      dtype=1),
}


def byte_values(*values: int) -> np.ndarray:
    return np.array(values, np.uint8)


def packed(name: str) -> list[Recipe]:
    element = getattr(onnx.TensorProto, name)
    values = np.ones(2, helper.tensor_dtype_to_np_dtype(element))
    return [made("BitCast", [values], [(element, [2])], to=element)]


def recurrent(op: str, gates: int) -> list[Recipe]:
    """Recurrent operators with the optional input `sequence_lens`."""
    recipe = made(op, [ramp(2, 1, 3), ramp(1, gates, 3), ramp(1, gates, 1), ramp(1, 2 * gates),
                       np.array([1], np.int32)], [(FLOAT, [2, 1, 1, 1])], hidden_size=1)
    return [recipe]


def quantized_conv() -> list[Recipe]:
    """With a bias."""
    scale = np.float32(1)
    inputs = [byte_values(1, 2, 3).reshape(1, 1, 3), np.array(scale), np.array(1, np.uint8),
              byte_values(1, 1).reshape(1, 1, 2), np.array(scale), np.array(0, np.uint8),
              np.array(scale), np.array(0, np.uint8), np.array([1], np.int32)]
    return [made("QLinearConv", inputs, [(UINT8, [1, 1, 2])])]


# Recipes with optional operands that the onnx package's cases omit.
EXTRA = {
    "BitCast": lambda: [*packed("INT4"), *packed("INT2"), *packed("COMPLEX128")],
    "DFT": lambda: [made("DFT", [ramp(1, 4, 1), np.array(4, np.int64)], [(FLOAT, [1, 4, 2])])],
    "DequantizeLinear": lambda: [made("DequantizeLinear", [byte_values(1, 2), np.array([1.0, 2.0],
                                      np.float32)], [(FLOAT, [2])], axis=0, output_dtype=FLOAT)],
    "Dropout": lambda: [made("Dropout", [ramp(3)], [(FLOAT, [3]), (onnx.TensorProto.BOOL, [3])])],
    "GRU": lambda: recurrent("GRU", 3),
    "LayerNormalization": lambda: [made("LayerNormalization", [ramp(2, 3), ramp(3)],
                                        [(FLOAT, [2, 3]), (FLOAT, [2, 1])])],
    "QLinearConv": quantized_conv,
    "RNN": lambda: recurrent("RNN", 1),
}


def attribute_from_input(recipe: Recipe, index: int, name: str, scalar: bool = False) -> None:
    """What is an input today was an attribute: `axes` of Squeeze."""
    if len(recipe.node.input) > index and recipe.node.input[index]:
        value = recipe.values[recipe.node.input[index]].flatten().tolist()
        if value:
            recipe.set_attribute(name, value[0] if scalar else value)


def only_data(*attributes: str, scalar: bool = False):
    """All inputs but the first become these attributes."""
    def rewrite(recipe: Recipe) -> None:
        for index, name in enumerate(attributes, 1):
            attribute_from_input(recipe, index, name, scalar)
        recipe.drop_inputs(1)
    return rewrite


def old_pad(recipe: Recipe) -> None:
    attribute_from_input(recipe, 1, "pads")
    attribute_from_input(recipe, 2, "value", scalar=True)
    recipe.drop_inputs(1)


def old_resize(recipe: Recipe) -> None:
    """[X, scales] with nothing but a mode."""
    x, y = recipe.node.input[0], recipe.node.output[0]
    recipe.node.CopyFrom(helper.make_node("Resize", [x, "scales"], [y], mode="nearest"))
    rank = recipe.values[x].ndim
    recipe.values["scales"] = np.ones(rank, np.float32)
    recipe.types["scales"] = helper.make_tensor_type_proto(FLOAT, [rank])
    recipe.set_shape(y, list(recipe.values[x].shape))


def resize_11(recipe: Recipe) -> None:
    old_resize(recipe)
    x, scales = recipe.node.input
    recipe.node.input[:] = [x, "roi", scales]
    recipe.values["roi"] = np.zeros(0, np.float32)
    recipe.types["roi"] = helper.make_tensor_type_proto(FLOAT, [0])


def drop(*names: str):
    def rewrite(recipe: Recipe) -> None:
        for name in names:
            recipe.drop_attribute(name)
    return rewrite


REDUCTIONS = ["L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare"]

# (operator, first version that has today's words, rewrite for versions before it)
OLDER = [
    ("Clip", 11, only_data("min", "max", scalar=True)),
    ("DepthToSpace", 11, drop("mode")),
    ("Pad", 11, old_pad),
    ("Resize", 11, old_resize),
    ("Resize", 13, resize_11),
    ("RoiAlign", 16, drop("coordinate_transformation_mode")),
    ("Slice", 10, only_data("starts", "ends", "axes")),
    ("Squeeze", 13, only_data("axes")),
    ("TopK", 10, only_data("k", scalar=True)),
    ("Unsqueeze", 13, only_data("axes")),
    ("Upsample", 9, only_data("scales")),
    *[(f"Reduce{name}", 13 if name == "Sum" else 18, only_data("axes")) for name in REDUCTIONS],
]


def rewrite_for(recipe: Recipe, version: int) -> None:
    """Says a node of today in the words of `version`."""
    for op, since, rewrite in OLDER:
        if op == recipe.node.op_type and version < since:
            rewrite(recipe)
            return
