"""A recipe in another version and with another type for one of its type parameters."""

from __future__ import annotations

import re

import numpy as np
import onnx
from onnx import helper, numpy_helper

from operator_coverage.by_hand import rewrite_for
from operator_coverage.recipe import Recipe, Schema

ELEMENTS = {
    name.lower(): number for name, number in onnx.TensorProto.DataType.items()
    if name != "UNDEFINED"
}
WIDE_INTEGERS = {"int32", "int64", "uint32", "uint64"}
# Attributes that say the type of an output which no input says.
TYPE_ATTRIBUTES = {
    "BitCast": "to", "Cast": "to", "Bernoulli": "dtype", "EyeLike": "dtype",
    "Multinomial": "dtype", "RandomNormal": "dtype", "RandomNormalLike": "dtype",
    "RandomUniform": "dtype", "RandomUniformLike": "dtype", "QuantizeLinear": "output_dtype",
    "DequantizeLinear": "output_dtype", "SequenceEmpty": "dtype",
    **dict.fromkeys(["BlackmanWindow", "HammingWindow", "HannWindow", "MelWeightMatrix"],
                    "output_datatype"),
}
# The same for one of several type parameters.
PARAMETER_ATTRIBUTES = {("LayerNormalization", "U"): "stash_type"}
VALUE_ATTRIBUTES = {"Constant", "ConstantOfShape"}


def element_of(type_text: str) -> int | None:
    """tensor(float16) -> 10; None for sequences and the like."""
    found = re.fullmatch(r"tensor\((\w+)\)", type_text)
    return ELEMENTS[found[1]] if found else None


def formal_of(formals, index: int):
    return formals[min(index, len(formals) - 1)]


def names_of(recipe: Recipe, schema: Schema, parameter: str) -> tuple[list[str], list[str]]:
    """Inputs and outputs of the recipe whose type is that of the parameter."""
    node = recipe.node
    return ([name for i, name in enumerate(node.input)
             if name and formal_of(schema.inputs, i).type_str == parameter],
            [name for i, name in enumerate(node.output)
             if name and formal_of(schema.outputs, i).type_str == parameter])


def converted(values: np.ndarray, element: int) -> np.ndarray:
    """As another type, small and positive where that cannot hold everything."""
    dtype = helper.tensor_dtype_to_np_dtype(element)
    name = onnx.TensorProto.DataType.Name(element).lower()
    if element == onnx.TensorProto.STRING:
        return values.astype(str).astype(object)
    if values.dtype == object:
        values = np.zeros(values.shape)
    if name in WIDE_INTEGERS and values.dtype.kind in "iu":
        return values.astype(dtype)
    if "float" in name and name not in ("float", "float16", "double", "bfloat16"):
        return np.ones(values.shape, np.float32).astype(dtype)
    if dtype == np.bool_ or name.startswith(("float", "double", "bfloat", "complex")):
        return np.nan_to_num(values.astype(np.float64)).astype(dtype)
    limit = 1 if name.endswith("int2") else 3
    return (1 + np.arange(values.size) % limit).reshape(values.shape).astype(dtype)


def set_type(recipe: Recipe, name: str, element: int) -> None:
    old = recipe.types[name].tensor_type
    if old.elem_type == element:
        return
    old.elem_type = element
    if name in recipe.values:
        recipe.values[name] = converted(recipe.values[name], element)


def retyped(recipe: Recipe, schema: Schema, parameter: str, element: int) -> Recipe | None:
    """The recipe with another element type; None if the recipe has no operand of this type parameter."""
    recipe = recipe.copy()
    inputs, outputs = names_of(recipe, schema, parameter)
    if not inputs and not outputs:
        return None
    for name in inputs + outputs:
        set_type(recipe, name, element)
    op = recipe.node.op_type
    if outputs and op in TYPE_ATTRIBUTES and TYPE_ATTRIBUTES[op] in schema.attributes:
        recipe.set_attribute(TYPE_ATTRIBUTES[op], element)
    if op == "Bernoulli" and not outputs:
        recipe.set_attribute("dtype", recipe.types[recipe.node.output[0]].tensor_type.elem_type)
    if (op, parameter) in PARAMETER_ATTRIBUTES:
        recipe.set_attribute(PARAMETER_ATTRIBUTES[op, parameter], element)
    if outputs and not inputs and op in VALUE_ATTRIBUTES:
        old = recipe.attribute("value")
        value = numpy_helper.to_array(old) if old is not None else np.ones(1, np.float32)
        recipe.set_attribute("value", numpy_helper.from_array(converted(value, element)))
    return recipe


def is_accepted(recipe: Recipe, version: int) -> bool:
    """By onnx's own checker and shape inference; the latter errs on bodies of functions."""
    schema = onnx.defs.get_schema(recipe.node.op_type, version)
    is_function = schema.has_function or schema.has_context_dependent_function
    try:
        onnx.checker.check_model(recipe.model(version), full_check=not is_function)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError):
        return False
    return True


def in_version(recipe: Recipe, version: int) -> Recipe | None:
    """The recipe in another version of its operator; None if that version cannot express it."""
    recipe = recipe.copy()
    rewrite_for(recipe, version)
    return recipe if is_accepted(recipe, version) else None
