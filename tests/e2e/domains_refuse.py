#!/usr/bin/env python3
"""Models of ai.onnx.ml, of com.microsoft and of early exporters with something wrong in them: each is
refused with a message that names the node and the culprit, and nothing crashes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
from report import Report, scratch_folder

from domains.case import OneNode
from harness.sluice_cli import binary

STUMP = {
    "nodes_treeids": [0, 0, 0], "nodes_nodeids": [0, 1, 2], "nodes_featureids": [1, 0, 0],
    "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"], "nodes_values": [0.5, 0.0, 0.0],
    "nodes_truenodeids": [1, 0, 0], "nodes_falsenodeids": [2, 0, 0], "target_treeids": [0, 0],
    "target_nodeids": [1, 2], "target_ids": [0, 0], "target_weights": [1.0, 2.0], "n_targets": 1,
}
X = np.zeros((2, 3), np.float32)


def ml(name: str, kind: str, attributes: dict[str, object]) -> OneNode:
    return OneNode(name, kind, "ai.onnx.ml", {"X": X}, attributes=attributes)


def trees() -> Iterator[tuple[OneNode, str]]:
    wrong = {
        "short_list": ({"nodes_values": [0.5]}, "nodes_values"),
        "trees_of_fewer_nodes": ({"nodes_treeids": [0]}, "nodes_nodeids"),
        "feature_past_the_end": ({"nodes_featureids": [3, 0, 0]}, "nodes_featureids[0] is 3"),
        "feature_negative": ({"nodes_featureids": [-1, 0, 0]}, "nodes_featureids[0] is -1"),
        "child_unknown": ({"nodes_truenodeids": [9, 0, 0]}, "nodes_truenodeids[0] is 9"),
        "child_of_itself": ({"nodes_truenodeids": [0, 0, 0]}, "cycle"),
        "cycle": ({"nodes_modes": ["BRANCH_LEQ", "BRANCH_LT", "LEAF"],
                   "nodes_falsenodeids": [2, 2, 0]}, "cycle"),
        "node_twice": ({"nodes_nodeids": [0, 1, 1]}, "given twice"),
        "mode_unknown": ({"nodes_modes": ["BRANCH_MAYBE", "LEAF", "LEAF"]}, "BRANCH_MAYBE"),
        "target_past_the_end": ({"target_ids": [0, 1]}, "target_ids[1] is 1"),
        "weight_of_no_node": ({"target_nodeids": [1, 5]}, "target_nodeids[1] is 5"),
        "ragged_weights": ({"target_weights": [1.0]}, "target_weights"),
        "no_targets": ({"n_targets": 0}, "n_targets"),
        "huge_targets": ({"n_targets": 1 << 60}, "n_targets"),
        "transform_unknown": ({"post_transform": "CUBE"}, "CUBE"),
        "aggregate_unknown": ({"aggregate_function": "MODE"}, "MODE"),
        "list_of_the_wrong_kind": ({"nodes_values": [1, 2, 3]}, '"nodes_values" is of the wrong kind: got a list '
                                   'of integers, takes a list of floats'),
        "missing_ragged": ({"nodes_missing_value_tracks_true": [1]}, "tracks_true"),
    }
    for name, (change, told) in wrong.items():
        yield ml(name, "TreeEnsembleRegressor", STUMP | change), told


def classic() -> Iterator[tuple[OneNode, str]]:
    yield ml("scale_misfit", "Scaler", {"scale": [1.0, 2.0], "offset": [0.0]}), "scale"
    yield ml("norm_unknown", "Normalizer", {"norm": "L3"}), "L3"
    yield ml("coefficients_misfit", "LinearRegressor", {"coefficients": [1.0]}), "coefficients"
    yield ml("kernel_unknown", "SVMRegressor", {"kernel_type": "CUBE", "rho": [0.0]}), "CUBE"
    yield ml("supports_negative", "SVMRegressor", {"n_supports": -1, "rho": [0.0]}), "n_supports"
    yield ml("zip_map", "ZipMap", {"classlabels_int64s": [0, 1, 2, 3, 4, 5, 6]}), "lists 7 keys"
    yield ml("zip_map_without_labels", "ZipMap", {}), "classlabels_int64s"
    yield ml("dict_two_vocabularies", "DictVectorizer",
             {"int64_vocabulary": [1], "string_vocabulary": ["a"]}), "string_vocabulary"
    yield ml("cast_map_unknown", "CastMap", {"cast_to": "TO_BOOL"}), "TO_BOOL"
    yield ml("cast_map_no_columns", "CastMap", {"map_form": "SPARSE", "max_map": 0}), "max_map"
    yield ml("keys_and_values", "LabelEncoder",
             {"keys_int64s": [1], "values_int64s": [1, 2]}), "1 keys and 2 values"
    yield ml("keys_of_another_kind", "LabelEncoder",
             {"keys_strings": ["a"], "values_int64s": [1]}), "its keys are string"
    machine = {"classlabels_strings": ["a", "b"], "vectors_per_class": [1, 1], "rho": [0.0],
               "coefficients": [1.0, -1.0], "support_vectors": [0.0] * 6}
    wrong = {
        "svm_rho": ({"rho": [0.0, 1.0]}, "rho"),
        "svm_vectors": ({"support_vectors": [0.0] * 5}, "support_vectors"),
        "svm_per_class": ({"vectors_per_class": [2]}, "vectors_per_class"),
        "svm_negative": ({"vectors_per_class": [3, -1]}, "vectors_per_class"),
        "svm_probabilities": ({"prob_a": [1.0]}, "prob_b"),
        "svm_labels_twice": ({"classlabels_ints": [1, 2]}, "classlabels_ints"),
    }
    for name, (change, told) in wrong.items():
        yield ml(name, "SVMClassifier", machine | change), told


def microsoft() -> Iterator[tuple[OneNode, str]]:
    def ms(name: str, kind: str, attributes: dict[str, object],
           **constants: np.ndarray) -> OneNode:
        return OneNode(name, kind, "com.microsoft", {"X": X}, attributes=attributes,
                       constants=constants)

    bytes_ = np.zeros((4, 1, 16), np.uint8)
    scales = np.ones((4, 1), np.float32)
    sizes = {"K": 3, "N": 4, "block_size": 32}
    yield ms("product_misfit", "FusedMatMul", {}, B=np.zeros((4, 5), np.float32)), "do not multiply"
    yield ms("activation_unknown", "FusedGemm", {"activation": "Cube"},
             B=np.zeros((3, 5), np.float32)), "Cube"
    yield ms("bits_unknown", "MatMulNBits", sizes | {"bits": 5}, B=bytes_, S=scales), "bits"
    yield ms("block_odd", "MatMulNBits", sizes | {"block_size": 24}, B=bytes_, S=scales), "block_size"
    yield ms("size_huge", "MatMulNBits", sizes | {"K": 1 << 62}, B=bytes_, S=scales), "K and N"
    yield ms("weights_short", "MatMulNBits", sizes | {"N": 400}, B=bytes_,
             S=np.ones((400, 1), np.float32)), "bytes"
    yield ms("weights_prepacked", "MatMulNBits", sizes | {"weight_prepacked": 1}, B=bytes_, S=scales), "weight_prepacked"
    numbers, rows_of_scales = np.zeros((4, 16), np.uint8), np.ones((4, 1), np.float32)
    gather = {"block_size": 32}
    for name, change, told in (("gather_bits", {"bits": 3}, "bits"), ("gather_block", {"block_size": 8}, "block_size"),
                               ("gather_axis", {"gather_axis": 1}, "gather_axis"),
                               ("gather_axis_outside", {"gather_axis": 2}, "gather_axis"),
                               ("gather_quantized_outside", {"quantize_axis": -3}, "quantize_axis")):
        yield OneNode(name, "GatherBlockQuantized", "com.microsoft", {"i": np.zeros(2, np.int64)},
                      constants={"d": numbers, "s": rows_of_scales}, order=["d", "i", "s"],
                      attributes=gather | change), told
    bnb = {"K": 3, "N": 4, "block_size": 16, "quant_type": 1}
    yield ms("bnb_kind", "MatMulBnb4", bnb | {"quant_type": 2}, B=bytes_[0, 0, :6], S=scales[0]), "quant_type"
    yield ms("bnb_misfit", "MatMulBnb4", bnb | {"N": 8}, B=bytes_[0, 0, :6], S=scales[0]), "absmax"
    recurrent = {"W": np.zeros((1, 3, 8), np.int8), "R": np.zeros((1, 2, 8), np.int8), "ws": np.ones(3, np.float32),
                 "wz": np.zeros(1, np.int8), "rs": np.ones(1, np.float32), "rz": np.zeros(1, np.int8)}
    yield OneNode("lstm_scales", "DynamicQuantizeLSTM", "com.microsoft", {"x": np.zeros((2, 1, 3), np.float32)},
                  constants=recurrent, attributes={"hidden_size": 2},
                  order=["x", "W", "R", "", "", "", "", "", "ws", "wz", "rs", "rz"]), "do not broadcast"
    yield OneNode("lengths_misfit", "Attention", "com.microsoft", {"x": np.zeros((2, 1, 3), np.float32)},
                  constants={"w": np.zeros((3, 9), np.float32), "m": np.ones(5, np.int32)}, attributes={"num_heads": 1},
                  order=["x", "w", "", "m"]), "one or two for each"
    yield ms("window_wide", "UnfoldTensor", {"size": 9}), "size"
    yield ms("heads_none", "Attention", {"num_heads": 0}, W=np.zeros((3, 9), np.float32)), "num_heads"
    rows, lengths = np.zeros((1, 2, 6), np.float32), np.array([1], np.int32)
    group = {"k": rows, "v": rows, "n": lengths, "t": lengths}
    for name, change, told in (("group_heads", {"kv_num_heads": 0}, "kv_num_heads"),
                               ("group_columns", {"num_heads": 4}, "6 columns"),
                               ("group_slides", {"sliding_window_cache": 1}, "sliding_window_cache")):
        yield OneNode(name, "GroupQueryAttention", "com.microsoft", {"q": rows}, constants=group,
                      attributes={"num_heads": 2, "kv_num_heads": 2} | change,
                      order=["q", "k", "v", "", "", "n", "t"]), told
    yield OneNode("packed_misfit", "MultiHeadAttention", "com.microsoft",
                  {"q": np.zeros((1, 2, 3, 2, 4), np.float32)},
                  attributes={"num_heads": 3}), "[batch, length, 3, 3, size]"
    yield ms("metric_unknown", "CDist", {"metric": "taxi"}, B=X), "taxi"


def tokenizers() -> Iterator[tuple[OneNode, str]]:
    wrong: dict[str, tuple[dict[str, object], str]] = {
        "without_rule": ({}, "tokenexp"),
        "two_rules": ({"tokenexp": "a", "separators": [" "]}, "tokenexp"),
        "no_characters": ({"tokenexp": "a", "mincharnum": 0}, "mincharnum"),
        "long_characters": ({"separators": [""], "mincharnum": 2}, "mincharnum"),
        "bad_expression": ({"tokenexp": "(a"}, "(a"),
        "integers_to_separate": ({"separators": [1]},
                                 '"separators" is of the wrong kind: got a list of integers, takes a list of texts'),
        "one_separator": ({"separators": " "}, '"separators" is of the wrong kind: got text, takes a list of texts'),
        "two_expressions": ({"tokenexp": ["a", "b"]},
                            '"tokenexp" is of the wrong kind: got a list of texts, takes text'),
        "mark_of_text": ({"tokenexp": "a", "mark": "x"}, '"mark" is of the wrong kind: got text, takes an integer'),
    }
    for name, (attributes, told) in wrong.items():
        yield OneNode(f"tokenizer_{name}", "Tokenizer", "com.microsoft", {"X": np.array(["a b"], object)},
                      attributes=attributes), told
    yield OneNode("tokenizer_numbers", "Tokenizer", "com.microsoft", {"X": X}, attributes={"tokenexp": "a"}), "string"


IMAGE = np.zeros((1, 3, 4, 5), np.float32)


def early(kind: str, name: str, told: str, inputs: dict[str, np.ndarray] | None = None, opset: int = 8,
          constants: dict[str, np.ndarray] | None = None, **attributes: object) -> tuple[OneNode, str]:
    return OneNode(f"{kind}_{name}", kind, "", {"X": IMAGE} if inputs is None else inputs,
                   opsets={"": opset}, constants=constants or {}, attributes=attributes), told


def images() -> Iterator[tuple[OneNode, str]]:
    none = [0, 0, 0, 0]
    yield early("Crop", "without_border", "border has 0 numbers")
    yield early("Crop", "matrix", "rank 2", {"X": X}, border=none)
    yield early("Crop", "everything", "keeps pixels 3 to 2 of axis 3", border=[3, 0, 3, 0])
    yield early("Crop", "past_the_end", "keeps pixels 0 to 6 of axis 3", border=none, scale=[4, 6])
    yield early("Crop", "three_sizes", "scale has 3 numbers", border=none, scale=[1, 2, 3])
    yield early("Crop", "huge", "more than an image has", border=[1 << 62] * 4, scale=[1 << 62] * 2)
    yield early("Crop", "negative", "at least 0", border=[-1, 0, 0, 0])
    yield early("ImageScaler", "matrix", "rank 2", {"X": X}, bias=[1.0])
    yield early("ImageScaler", "two_channels", "bias has 2 numbers for 3 channels", bias=[1.0, 2.0])
    yield early("Scale", "text", '"scale"', scale="much")
    yield early("ThresholdedRelu", "text", '"alpha"', alpha="much")
    yield early("MeanVarianceNormalization", "matrix", "axis", {"X": X})
    three = {"S": np.array([1, 1, 2], np.float32)}
    yield early("Resize", "without_scales", "the data and the scales", opset=10)
    yield early("Resize", "three_scales", "3 scales for 4 axes", opset=10, constants=three)
    yield early("Upsample", "without_scales", "the data and the scales", opset=7)
    yield early("Upsample", "three_scales", "3 scales for 4 axes", opset=7, scales=[1.0, 1.0, 2.0])
    yield early("Upsample", "negative", "not positive", opset=7, scales=[1.0, 1.0, 2.0, -2.0])
    yield early("Upsample", "matrix", "4 scales for 2 axes", {"X": X}, 1, height_scale=2.0, width_scale=2.0)


def caffe2() -> Iterator[tuple[OneNode, str]]:
    for kind, given in (("ConstantFill", {}), ("GivenTensorFill", {"values": [1.0]})):
        yield early(kind, "without_shape", '"shape"', {}, **given)
        yield early(kind, "two_shapes", "not both", shape=[1], **given)
        yield early(kind, "extra_of_nothing", '"extra_shape"', {}, shape=[1], extra_shape=[2], **given)
        yield early(kind, "negative", "at least 0", {}, shape=[-1], **given)
        yield early(kind, "negative_extra", "at least 0", extra_shape=[-1], **given)
        yield early(kind, "listed_by_a_matrix", "rank", {"X": X}, input_as_shape=1, **given)
    yield early("ConstantFill", "type_unknown", '"dtype" is 12345', {}, shape=[1], dtype=12345)
    yield early("ConstantFill", "huge", "ConstantOfShape", {}, shape=[1 << 40, 1 << 40])
    yield early("ConstantLike", "type_unknown", '"dtype" is 12345', dtype=12345)
    yield early("ConstantLike", "without_shape", '"shape"', {})
    yield early("GivenTensorFill", "without_values", '"values"', {}, shape=[1])
    yield early("GivenTensorFill", "misfit", "3 elements", {}, shape=[2, 2], values=[1.0, 2.0, 3.0])
    bounds = {"S": np.array([0]), "E": np.array([1]), "A": np.array([9])}
    yield early("DynamicSlice", "without_ends", '"ends"', constants={"S": bounds["S"]})
    yield early("DynamicSlice", "axis_outside", "axis 9", constants=bounds)
    yield early("DynamicSlice", "misfit", "ends", constants=bounds | {"S": np.array([0, 0])})
    yield early("DynamicSlice", "float_bounds", '"starts"', constants={"S": X[0], "E": X[0]})
    matrices = {"X": X, "W": np.zeros((4, 3), np.float32)}
    bias = np.zeros(4, np.float32)
    yield early("FC", "without_bias", '"b"', matrices)
    yield early("FC", "axis_outside", "axis 3", {**matrices, "B": bias}, axis=3)
    yield early("FC", "misfit", "FC_misfit", {"X": X.T.copy(), "W": matrices["W"], "B": bias})
    yield early("FC", "long_bias", "FC_long_bias", {**matrices, "B": np.zeros(5, np.float32)})
    index = np.array(0, np.int32)
    yield early("LoopIndexTensor", "axis_outside", "axis 2", {"X": X, "i": index}, axis=2)
    yield early("LoopIndexTensor", "two_places", "2 elements", {"X": X, "i": np.zeros(2, np.int32)})
    unit = {"H": np.zeros((1, 3, 4), np.float32), "G": np.zeros((1, 3, 12), np.float32),
            "L": np.zeros(3, np.int32), "t": index}
    yield early("GRUUnit", "gates", "do not fit", unit | {"G": unit["G"][..., :11]})
    yield early("GRUUnit", "lengths", "do not fit", unit | {"L": np.zeros(2, np.int32)})
    yield early("GRUUnit", "without_step", '"t"', {name: unit[name] for name in "HGL"})


def verdict(case: OneNode, told: str, folder: Path) -> tuple[bool, str]:
    path = folder / f"{case.name}.onnx"
    onnx.save_model(case.model(), path)
    command = [str(binary()), "compile", str(path), "-o", str(path.with_suffix(".sluice"))]
    done = subprocess.run(command, capture_output=True, text=True)
    message = done.stderr.strip()
    passed = done.returncode == 1 and told in message and f'node "{case.name}"' in message
    return passed, f"{case.name}: exit code {done.returncode}, {message}"


def main() -> int:
    report = Report()
    with scratch_folder() as scratch:
        for family in (trees, classic, microsoft, tokenizers, images, caffe2):
            for case, told in family():
                report.add(*verdict(case, told, Path(scratch)))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
