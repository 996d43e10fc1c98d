"""Cases of ZipMap, DictVectorizer and CastMap. onnxruntime takes and gives dictionaries; Sluice rows
with a column per key."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import helper

from domains.case import OneNode, onnxruntime_results

RNG = np.random.default_rng(8)
ELEMENTS = {"f32": onnx.TensorProto.FLOAT, "f64": onnx.TensorProto.DOUBLE,
            "i64": onnx.TensorProto.INT64, "string": onnx.TensorProto.STRING}
WORDS = ["age", "", "größe", "a, \"b\""]


def columns(rows: list[dict], keys: list) -> np.ndarray:
    return np.array([[row[key] for key in keys] for row in rows], np.float32)


def zip_maps() -> Iterator[OneNode]:
    for name, keys in (("words", WORDS), ("numbers", [7, -1, 0, 1 << 40])):
        scores = RNG.random((5, 4), np.float32)
        attribute = "classlabels_strings" if name == "words" else "classlabels_int64s"
        case = OneNode(f"zip_map_{name}", "ZipMap", "ai.onnx.ml", {"X": scores},
                       attributes={attribute: keys})
        [rows] = onnxruntime_results(case.model(), case.inputs)
        case.expected = [columns(rows, keys)]
        yield case


@dataclass
class OfMap(OneNode):
    """`inputs` are the rows that Sluice takes; the model declares a map of these types."""

    key: str = "string"
    value: str = "f32"

    def model(self) -> onnx.ModelProto:
        model = super().model()
        item = helper.make_tensor_type_proto(ELEMENTS[self.value], None)
        model.graph.input[0].type.CopyFrom(helper.make_map_type_proto(ELEMENTS[self.key], item))
        return model


def of_map(name: str, kind: str, row: list, fed: dict | np.ndarray, key: str, value: str,
           **attributes: object) -> OfMap:
    """`fed` to onnxruntime, or the result where it cannot be."""
    numpy_types = {"f32": np.float32, "f64": np.float64, "i64": np.int64, "string": object}
    case = OfMap(name, kind, "ai.onnx.ml", {"X": np.array([row], numpy_types[value])},
                 attributes=attributes, key=key, value=value)
    known = isinstance(fed, np.ndarray)
    case.expected = [fed] if known else onnxruntime_results(case.model(), {"X": fed})
    return case


def vectorizers() -> Iterator[OneNode]:
    yield of_map("dict_words_f32", "DictVectorizer", [0.5, 0.0, -2.0, 0.0],
                 {"age": 0.5, "größe": -2.0}, "string", "f32", string_vocabulary=WORDS)
    yield of_map("dict_words_i64", "DictVectorizer", [1 << 40, 0, 0, -3],
                 np.array([[1 << 40, 0, 0, -3]]), "string", "i64", string_vocabulary=WORDS)
    yield of_map("dict_numbers_f32", "DictVectorizer", [4.0, 0.0, 1.5], {9: 4.0, -2: 1.5},
                 "i64", "f32", int64_vocabulary=[9, 5, -2])


def casts() -> Iterator[OneNode]:
    yield of_map("cast_map_dense", "CastMap", [4.5, -1.0, 2.75], {0: 4.5, 3: -1.0, 9: 2.75}, "i64",
                 "f32", cast_to="TO_FLOAT")
    yield of_map("cast_map_whole_numbers", "CastMap", [4.0, -1.0], {1: 4.0, 2: -1.0}, "i64", "f32",
                 cast_to="TO_INT64")
    yield of_map("cast_map_words", "CastMap", ["12", "-3"], np.array([[12, -3]]), "i64", "string",
                 cast_to="TO_INT64")
    yield of_map("cast_map_words_to_f32", "CastMap", ["1.5", "-3"],
                 np.array([[1.5, -3]], np.float32), "i64", "string", cast_to="TO_FLOAT")
    yield of_map("cast_map_sparse", "CastMap", [0.0, 4.5, 0.0, -1.0, 0.0], {1: 4.5, 3: -1.0}, "i64",
                 "f32", map_form="SPARSE", max_map=5)


def build() -> Iterator[OneNode]:
    yield from zip_maps()
    yield from vectorizers()
    yield from casts()
