#!/usr/bin/env python3
"""Models of ai.onnx.ml and com.microsoft with something wrong in them: each is refused with a message
that names the node and the culprit, and nothing crashes."""

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
        "list_of_the_wrong_kind": ({"nodes_values": [1, 2, 3]}, "nodes_values"),
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
    yield ms("heads_none", "Attention", {"num_heads": 0}, W=np.zeros((3, 9), np.float32)), "num_heads"
    rows, lengths = np.zeros((1, 2, 6), np.float32), np.array([1], np.int32)
    group = {"k": rows, "v": rows, "n": lengths, "t": lengths}
    for name, change, told in (("group_heads", {"kv_num_heads": 0}, "kv_num_heads"),
                               ("group_columns", {"num_heads": 4}, "6 columns"),
                               ("group_sinks", {"smooth_softmax": 1}, "smooth_softmax")):
        yield OneNode(name, "GroupQueryAttention", "com.microsoft", {"q": rows}, constants=group,
                      attributes={"num_heads": 2, "kv_num_heads": 2} | change,
                      order=["q", "k", "v", "", "", "n", "t"]), told
    yield OneNode("packed_misfit", "MultiHeadAttention", "com.microsoft",
                  {"q": np.zeros((1, 2, 3, 2, 4), np.float32)},
                  attributes={"num_heads": 3}), "[batch, length, 3, 3, size]"
    yield ms("metric_unknown", "CDist", {"metric": "taxi"}, B=X), "taxi"


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
        for family in (trees, classic, microsoft):
            for case, told in family():
                report.add(*verdict(case, told, Path(scratch)))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
