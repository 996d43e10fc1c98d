"""Tree ensembles: a random forest of unpruned trees, and a gradient-boosted one of shallow trees."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import helper

FEATURES = 50
CLASSES = 5


def grow(rng: np.random.Generator, tree: int, depth: int, stop: float) -> list[tuple]:
    """(tree, node, feature, split, true, false) per node, -1 for the feature of a leaf. Below the
    third level a branch ends early with probability `stop`."""
    nodes, stack, count = [], [(0, 0)], 1
    while stack:
        node, level = stack.pop()
        if level == depth or (level > 3 and rng.random() < stop):
            nodes.append((tree, node, -1, 0.0, 0, 0))
            continue
        nodes.append((tree, node, int(rng.integers(FEATURES)), float(np.float32(rng.normal())),
                      count, count + 1))
        stack += [(count + 1, level + 1), (count, level + 1)]
        count += 2
    return nodes


def node_lists(nodes: list[tuple]) -> dict[str, list]:
    trees, ids, features, splits, true, false = map(list, zip(*nodes))
    return {
        "nodes_treeids": trees, "nodes_nodeids": ids, "nodes_values": splits,
        "nodes_modes": ["LEAF" if feature < 0 else "BRANCH_LEQ" for feature in features],
        "nodes_featureids": [max(feature, 0) for feature in features],
        "nodes_truenodeids": true, "nodes_falsenodeids": false,
    }


def model_of(node: onnx.NodeProto, outputs: list[onnx.ValueInfoProto]) -> onnx.ModelProto:
    x = helper.make_tensor_value_info("X", onnx.TensorProto.FLOAT, ["N", FEATURES])
    graph = helper.make_graph([node], node.name, [x], outputs)
    return helper.make_model(graph, ir_version=8, producer_name="sluice-bench",
                             opset_imports=[helper.make_opsetid("", 17),
                                            helper.make_opsetid("ai.onnx.ml", 3)])


def build_forest() -> onnx.ModelProto:
    """200 trees of up to 14 levels; a leaf holds the share of each class."""
    rng = np.random.default_rng(1)
    nodes = [node for tree in range(200) for node in grow(rng, tree, 14, 0.2)]
    leaves = [(tree, node) for tree, node, feature, *_ in nodes if feature < 0]
    shares = rng.dirichlet([0.5] * CLASSES, len(leaves)) / 200
    attributes = node_lists(nodes) | {
        "class_treeids": [tree for tree, _ in leaves for _ in range(CLASSES)],
        "class_nodeids": [node for _, node in leaves for _ in range(CLASSES)],
        "class_ids": list(range(CLASSES)) * len(leaves),
        "class_weights": [float(share) for share in shares.ravel()],
        "classlabels_int64s": list(range(CLASSES)),
    }
    node = helper.make_node("TreeEnsembleClassifier", ["X"], ["label", "scores"], "forest",
                            domain="ai.onnx.ml", **attributes)
    return model_of(node, [
        helper.make_tensor_value_info("label", onnx.TensorProto.INT64, ["N"]),
        helper.make_tensor_value_info("scores", onnx.TensorProto.FLOAT, ["N", CLASSES])])


def build_boosted() -> onnx.ModelProto:
    """500 full trees of 6 levels."""
    rng = np.random.default_rng(2)
    nodes = [node for tree in range(500) for node in grow(rng, tree, 6, 0.0)]
    leaves = [(tree, node) for tree, node, feature, *_ in nodes if feature < 0]
    attributes = node_lists(nodes) | {
        "target_treeids": [tree for tree, _ in leaves],
        "target_nodeids": [node for _, node in leaves],
        "target_ids": [0] * len(leaves),
        "target_weights": [float(weight) for weight in rng.normal(0, 0.1, len(leaves))],
        "base_values": [0.5], "n_targets": 1,
    }
    node = helper.make_node("TreeEnsembleRegressor", ["X"], ["Y"], "boosted",
                            domain="ai.onnx.ml", **attributes)
    return model_of(node, [helper.make_tensor_value_info("Y", onnx.TensorProto.FLOAT, ["N", 1])])


def one_row(rng: np.random.Generator) -> dict[str, np.ndarray]:
    return {"X": rng.standard_normal((1, FEATURES), dtype=np.float32)}


def thousand_rows(rng: np.random.Generator) -> dict[str, np.ndarray]:
    return {"X": rng.standard_normal((1000, FEATURES), dtype=np.float32)}
