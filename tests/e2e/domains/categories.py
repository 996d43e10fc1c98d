"""Cases of OneHotEncoder, LabelEncoder and CategoryMapper: keys and values of every kind."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
from onnx import numpy_helper

from domains.case import OneNode
from domains.classic import ml

WORDS = ["red", "", "grün", "red wine"]
X = {
    "strings": np.array([["red", "blue", ""], ["red wine", "Red", "grün"]]),
    "int64s": np.array([[3, 1, 7], [-2, 9, 3]], np.int64),
    "floats": np.array([[1.5, -0.0, np.nan], [0.1, 9, 1.5]], np.float32),
}
KEYS = {"strings": WORDS, "int64s": [1, 3, -2, 4], "floats": [1.5, 0.0, 0.1, -3.0]}
VALUES = {"strings": ["x", "", "yy", "z"], "int64s": [1 << 40, -5, 0, 7],
          "floats": [0.5, 1.5, -2.5, 3.0]}
DEFAULTS = {"strings": {"default_string": "none"}, "int64s": {"default_int64": -9},
            "floats": {"default_float": 0.25}}


def lists() -> Iterator[OneNode]:
    for keys, values in product(KEYS, VALUES):
        table = {f"keys_{keys}": KEYS[keys], f"values_{values}": VALUES[values]}
        yield ml(f"labels_{keys}_to_{values}", "LabelEncoder", X[keys], **table)
        yield ml(f"labels_{keys}_to_{values}_default", "LabelEncoder", X[keys], opset=4,
                 **table, **DEFAULTS[values])
    yield ml("labels_nan", "LabelEncoder", X["floats"], opset=4, values_strings=["a", "b"],
             keys_floats=[1.5, float("nan")])
    yield ml("labels_repeated_key", "LabelEncoder", X["int64s"], opset=4, default_int64=-1,
             keys_int64s=[1, 3, 1, 3], values_int64s=[10, 30, 11, 31])
    yield ml("labels_single", "LabelEncoder", X["strings"][:1, :1], keys_strings=WORDS,
             values_int64s=VALUES["int64s"])
    yield ml("labels_first_version", "LabelEncoder", X["strings"], opset=1, classes_strings=WORDS,
             default_int64=-3)
    yield ml("labels_first_version_back", "LabelEncoder", X["int64s"], opset=1,
             classes_strings=WORDS, default_string="none")


def tensors() -> Iterator[OneNode]:
    kinds = {"strings": object, "int64s": np.int64, "floats": np.float32}
    pairs = [(k, v, kinds[k], kinds[v]) for k, v in product(kinds, kinds)]
    pairs += [("floats", "floats", np.float64, np.float64), ("strings", "int64s", object, np.int16),
              ("floats", "strings", np.float64, object), ("strings", "floats", object, np.float64)]
    for keys, values, key_type, value_type in pairs:
        own = np.clip(VALUES[values], -99, 99) if value_type is np.int16 else VALUES[values]
        x = X[keys] if key_type is object else X[keys].astype(key_type)
        for default in (False, True):
            tables = {"keys_tensor": np.array(KEYS[keys], key_type),
                      "values_tensor": np.array(own, value_type)}
            if default:
                tables["default_tensor"] = np.array(own[-1:], value_type)
            name = f"{np.dtype(key_type).name}_{np.dtype(value_type).name}_{int(default)}"
            yield ml(f"label_tensors_{name}", "LabelEncoder", x, opset=4,
                     **{name: numpy_helper.from_array(array) for name, array in tables.items()})


def one_hots() -> Iterator[OneNode]:
    whole = X["int64s"]
    for dtype in (np.int64, np.int32, np.float32, np.float64):
        yield ml(f"one_hot_{dtype.__name__}", "OneHotEncoder", whole.astype(dtype),
                 cats_int64s=[1, 3, -2])
    yield ml("one_hot_cut", "OneHotEncoder", np.array([1.9, -1.9, 0.5]), cats_int64s=[0, 1, -1])
    yield ml("one_hot_strings", "OneHotEncoder", X["strings"], cats_strings=WORDS)
    yield ml("one_hot_repeated", "OneHotEncoder", whole, cats_int64s=[1, 3, 1])
    yield ml("one_hot_all_known", "OneHotEncoder", np.array(WORDS[::-1]), cats_strings=WORDS,
             zeros=0)


def mappers() -> Iterator[OneNode]:
    table = {"cats_strings": WORDS, "cats_int64s": KEYS["int64s"]}
    yield ml("mapper_to_ints", "CategoryMapper", X["strings"], **table)
    yield ml("mapper_to_ints_default", "CategoryMapper", X["strings"], **table, default_int64=8)
    yield ml("mapper_to_strings", "CategoryMapper", X["int64s"], **table)
    yield ml("mapper_to_strings_default", "CategoryMapper", X["int64s"], **table,
             default_string="none")


def build() -> Iterator[OneNode]:
    yield from lists()
    yield from tensors()
    yield from one_hots()
    yield from mappers()
