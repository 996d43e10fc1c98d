"""Cases of the three tree ensembles: random trees with every test, aggregate and transform."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from onnx import helper, numpy_helper

from domains.case import OneNode

TESTS = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]
TRANSFORMS = ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"]
FEATURES = 5


class Forest:
    """The lists of the named form, grown node by node. Splits are quarters, as the features are,
    so that equality happens."""

    def __init__(self, seed: int, tests: list[str], missing: bool = False) -> None:
        self.rng = np.random.default_rng(seed)
        self.tests = tests
        self.missing = missing
        self.nodes: list[tuple] = []  # tree, node, feature, mode, split, true, false, missing
        self.weights: list[tuple] = []  # tree, node, target, weight

    def grow(self, tree: int, depth: int, targets: list[int], positive: bool) -> None:
        rng, count = self.rng, 0
        stack = [(0, depth)]
        while stack:
            node, left = stack.pop()
            if left == 0 or (node > 0 and rng.random() < 0.15):
                self.nodes.append((tree, node, 0, "LEAF", 0.0, 0, 0, 0))
                for target in targets:
                    weight = rng.random() if positive else rng.normal()
                    self.weights.append((tree, node, target, float(np.float32(weight))))
                continue
            mode = self.tests[rng.integers(len(self.tests))]
            missing = int(self.missing and rng.random() < 0.5)
            self.nodes.append((tree, node, int(rng.integers(FEATURES)), mode,
                               float(rng.integers(-4, 5)) / 4, count + 1, count + 2, missing))
            stack += [(count + 2, left - 1), (count + 1, left - 1)]
            count += 2

    def attributes(self, prefix: str, as_tensors: bool = False) -> dict[str, object]:
        trees, ids, features, modes, splits, true, false, missing = map(list, zip(*self.nodes))
        weight_trees, weight_nodes, targets, weights = map(list, zip(*self.weights))
        lists = {
            "nodes_treeids": trees, "nodes_nodeids": ids, "nodes_featureids": features,
            "nodes_modes": modes, "nodes_truenodeids": true, "nodes_falsenodeids": false,
            f"{prefix}_treeids": weight_trees, f"{prefix}_nodeids": weight_nodes,
            f"{prefix}_ids": targets,
        }
        if self.missing:
            lists["nodes_missing_value_tracks_true"] = missing
        for name, values in (("nodes_values", splits), (f"{prefix}_weights", weights)):
            if as_tensors:
                lists[f"{name}_as_tensor"] = numpy_helper.from_array(np.array(values, np.float64))
            else:
                lists[name] = values
        return lists


def rows(rng: np.random.Generator, dtype: type = np.float32, with_nan: bool = False) -> np.ndarray:
    x = rng.integers(-6, 7, (23, FEATURES)) / 4
    if dtype in (np.int64, np.int32):
        return rng.integers(-3, 4, (23, FEATURES)).astype(dtype)
    if with_nan:
        x[rng.random(x.shape) < 0.3] = np.nan
    return x.astype(dtype)


def regressors() -> Iterator[OneNode]:
    seed = 0
    for aggregate in ("SUM", "AVERAGE", "MIN", "MAX"):
        for targets in (1, 3):
            for transform in TRANSFORMS if aggregate == "SUM" else ["NONE"]:
                seed += 1
                base = [0.25] * targets if seed % 2 else []
                forest = Forest(seed, TESTS if seed % 3 == 0 else TESTS[seed % 4 :][:1])
                for tree in range(7):
                    some = [t for t in range(targets) if targets == 1 or (t + tree) % 3 != 0]
                    forest.grow(tree, 4, some, transform == "PROBIT")
                attributes = forest.attributes("target")
                if transform == "PROBIT":
                    attributes["target_weights"] = [w / 8 for w in attributes["target_weights"]]
                    base = []
                if base:
                    attributes["base_values"] = base
                attributes |= {"n_targets": targets, "aggregate_function": aggregate,
                               "post_transform": transform}
                yield OneNode(f"regressor_{aggregate}_{targets}_{transform}",
                              "TreeEnsembleRegressor", "ai.onnx.ml", {"X": rows(forest.rng)},
                              attributes=attributes)


def regressor_types() -> Iterator[OneNode]:
    for index, dtype in enumerate((np.float32, np.float64)):
        forest = Forest(60 + index, TESTS[:1], missing=True)
        for tree in range(5):
            forest.grow(tree, 5, [0], False)
        attributes = forest.attributes("target", as_tensors=dtype == np.float64)
        attributes |= {"n_targets": 1}
        yield OneNode(f"regressor_missing_{dtype.__name__}", "TreeEnsembleRegressor", "ai.onnx.ml",
                      {"X": rows(forest.rng, dtype, True)}, attributes=attributes)
    forest = Forest(62, TESTS)
    for tree in range(5):
        forest.grow(tree, 5, [0], False)
    forest.nodes = [(*node[:4], node[4] / 10, *node[5:]) for node in forest.nodes]  # no f32
    yield OneNode("regressor_splits_of_64_bits", "TreeEnsembleRegressor", "ai.onnx.ml",
                  {"X": np.tile(rows(forest.rng, np.float64) / 10, (2, 1))},
                  attributes=forest.attributes("target", as_tensors=True) | {"n_targets": 1})
    forest = Forest(70, ["BRANCH_LEQ"])
    for tree in range(30):
        forest.grow(tree, 7, [tree % 2], False)
    yield OneNode("regressor_deep_open_batch", "TreeEnsembleRegressor", "ai.onnx.ml",
                  {"X": np.tile(rows(forest.rng), (40, 1))},
                  attributes=forest.attributes("target") | {"n_targets": 2},
                  symbols={"X": ["N", FEATURES]})


def regressors_by_number() -> Iterator[OneNode]:
    """Nodes in the order of their numbers, which backends find without a search; and tree numbers
    that do not start at 0."""
    for first in (0, 5):
        forest = Forest(80 + first, ["BRANCH_LEQ"])
        for tree in range(first, first + 9):
            forest.grow(tree, 5, [0], False)
        forest.nodes.sort()
        yield OneNode(f"regressor_by_number_{first}", "TreeEnsembleRegressor", "ai.onnx.ml",
                      {"X": rows(forest.rng)}, attributes=forest.attributes("target") | {"n_targets": 1})


def irregular_regressors() -> Iterator[OneNode]:
    """Leaves of different numbers of weights: the compiler leaves these trees in lists, as older
    packages have all of them."""
    for dtype in (np.float32, np.float64):
        forest = Forest(90, ["BRANCH_LEQ", "BRANCH_GT"])
        for tree in range(9):
            forest.grow(tree, 4, [0, 1] if tree % 2 else [1], False)
        attributes = forest.attributes("target", as_tensors=dtype == np.float64) | {"n_targets": 2}
        yield OneNode(f"regressor_irregular_{dtype.__name__}", "TreeEnsembleRegressor", "ai.onnx.ml",
                      {"X": rows(forest.rng, dtype)}, attributes=attributes)


def regressors_of_repeated_weights() -> Iterator[OneNode]:
    """With one target the first weight of a leaf is its value; skl2onnx writes a leaf's number once per class."""
    for aggregate in ("SUM", "AVERAGE", "MIN", "MAX"):
        for dtype in (np.float32, np.float64):
            forest = Forest(95, ["BRANCH_LEQ", "BRANCH_GT"])
            for tree in range(7):
                forest.grow(tree, 4, [0] * (1 + tree % 3 if aggregate == "SUM" else 3), False)
            attributes = forest.attributes("target", as_tensors=dtype == np.float64)
            attributes |= {"n_targets": 1, "aggregate_function": aggregate}
            yield OneNode(f"regressor_repeated_{aggregate.lower()}_{dtype.__name__}", "TreeEnsembleRegressor",
                          "ai.onnx.ml", {"X": rows(forest.rng, dtype)}, attributes=attributes)


def classifiers() -> Iterator[OneNode]:
    """Leaves out two classes with a score each: onnxruntime's label is then not the better class."""
    seed = 100
    for classes in (2, 3, 4):
        for transform in TRANSFORMS:
            for named in (["one", "all"] if classes == 2 else ["all", "per tree"]):
                for positive in (True, False):
                    if transform == "PROBIT" and (not positive or named == "one"):
                        continue  # onnxruntime leaves the second score unwritten
                    seed += 1
                    forest = Forest(seed, TESTS[:1] if seed % 2 else TESTS[:4])
                    for tree in range(6):
                        ids = {"one": [0], "all": list(range(classes)),
                               "per tree": [tree % classes]}[named]
                        forest.grow(tree, 3, ids, positive)
                    attributes = forest.attributes("class")
                    scale = 1 / 6 if positive else 1.0
                    attributes["class_weights"] = [w * scale for w in attributes["class_weights"]]
                    if seed % 3 == 0 and transform != "PROBIT" and (classes > 2 or named == "one"):
                        base = [0.125 * k - 0.25 for k in range(classes)]
                        attributes["base_values"] = base[: 1 if classes == 2 else classes]
                    attributes["post_transform"] = transform
                    if seed % 2:
                        attributes["classlabels_int64s"] = [7, 3, 5, 9][:classes]
                    else:
                        attributes["classlabels_strings"] = ["ash", "", "oak", "fir"][:classes]
                    dtype = (np.float32, np.float64, np.int64, np.int32)[seed % 4]
                    kind = "probabilities" if positive else "margins"
                    yield OneNode(
                        f"classifier_{classes}_{transform}_{named.replace(' ', '_')}_{kind}",
                        "TreeEnsembleClassifier", "ai.onnx.ml", {"X": rows(forest.rng, dtype)},
                        outputs=["Y", "Z"],
                        results=["Z"] if named == "all" and classes == 2 else None,
                        attributes=attributes)


def placed(name: str, dtype: type, aggregate: int, transform: int, members: bool) -> OneNode:
    """A stump per tree, written by place; the last tests for membership."""
    rng = np.random.default_rng(len(name))
    trees, targets = 6, 2
    modes = [*rng.integers(0, 6, trees - 1), 6 if members else 0]
    attributes = {
        "nodes_modes": helper.make_tensor("modes", 2, [trees], [int(m) for m in modes]),
        "nodes_splits": numpy_helper.from_array((rng.integers(-4, 5, trees) / 4).astype(dtype)),
        "nodes_featureids": [int(f) for f in rng.integers(0, FEATURES, trees)],
        "nodes_truenodeids": [2 * i for i in range(trees)],
        "nodes_falsenodeids": [2 * i + 1 for i in range(trees)],
        "nodes_trueleafs": [1] * trees, "nodes_falseleafs": [1] * trees,
        "leaf_targetids": [int(t) for t in rng.integers(0, targets, 2 * trees)],
        "leaf_weights": numpy_helper.from_array(rng.normal(size=2 * trees).astype(dtype)),
        "tree_roots": list(range(trees)), "n_targets": targets,
        "aggregate_function": aggregate, "post_transform": transform,
    }
    if members:
        attributes["membership_values"] = numpy_helper.from_array(
            np.array([-1, 0, 1, np.nan], dtype))
    x = rows(rng, np.int64).astype(dtype) if members else rows(rng, dtype)
    return OneNode(name, "TreeEnsemble", "ai.onnx.ml", {"X": x},
                   attributes=attributes, opsets={"ai.onnx.ml": 5})


def build() -> Iterator[OneNode]:
    yield from regressors()
    yield from regressor_types()
    yield from regressors_by_number()
    yield from irregular_regressors()
    yield from regressors_of_repeated_weights()
    yield from classifiers()
    for aggregate in range(4):  # onnxruntime confuses transforms 1 and 2
        transform = 3 * (aggregate % 2)
        yield placed(f"ensemble_f32_{aggregate}", np.float32, aggregate, transform, False)
    yield placed("ensemble_f64", np.float64, 1, 0, False)
    yield placed("ensemble_members", np.float32, 1, 0, True)
