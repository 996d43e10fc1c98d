#!/usr/bin/env python3
"""Classical models, as scikit-learn fits and skl2onnx writes them, at several batches: Sluice beside onnxruntime.

    .venv/bin/python bench/classical.py [--quick] [--models knn,forest_f64] [--batches 8,100,1000]

Needs scikit-learn and skl2onnx beside requirements-bench.txt. The processes take turns as in compare.py. A ratio is
the median over the rounds of onnxruntime's time over Sluice's: above 1, Sluice is faster.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from onnx import TensorProto

from harness import agreement, sluice_cli, workers

try:
    from skl2onnx import to_onnx
    from sklearn import ensemble, neighbors, tree
    from sklearn.base import is_classifier
except ImportError as missing:
    sys.exit(f"classical: {missing}; `.venv/bin/pip install scikit-learn skl2onnx` installs it")

TOLERANCE = 1e-3  # of the largest result


def samples(rows: int, features: int, element: type) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((rows, features)).astype(element)


@dataclass
class Classical:
    """A model that is fitted to 1000 rows of random features; `options` are skl2onnx's."""

    model: object
    features: int
    element: type = np.float32
    options: dict[str, object] = field(default_factory=dict)

    def export(self) -> bytes:
        x = samples(1000, self.features, self.element)
        y = x[:, 0] * x[:, 1] + x[:, 2]
        self.model.fit(x, (y > 0).astype(np.int64) if is_classifier(self.model) else y)
        proto = to_onnx(self.model, x[:1], options={type(self.model): self.options},
                        target_opset={"": 18, "ai.onnx.ml": 3, "com.microsoft": 1})
        for output in proto.graph.output:  # skl2onnx writes that trees on f64 give f64; the operator gives f32
            if output.type.tensor_type.elem_type == TensorProto.DOUBLE:
                output.type.tensor_type.elem_type = TensorProto.FLOAT
        return proto.SerializeToString()


def forest(element: type) -> Classical:
    return Classical(ensemble.RandomForestRegressor(100, max_depth=8, random_state=0), 50, element)


def boosted_stumps() -> Classical:
    tree_of_two_levels = tree.DecisionTreeClassifier(max_depth=2)
    model = ensemble.AdaBoostClassifier(tree_of_two_levels, n_estimators=20, random_state=0)
    return Classical(model, 50, options={"zipmap": False})


CDIST = {"optim": "cdist"}  # distances by an operator; without, by a Scan over the rows
MODELS = {
    "knn": Classical(neighbors.KNeighborsRegressor(5), 20, options=CDIST),
    "knn_scan": Classical(neighbors.KNeighborsRegressor(5), 20),
    "lof": Classical(neighbors.LocalOutlierFactor(20, novelty=True), 20, options=CDIST),
    "adaboost": boosted_stumps(),
    "forest_f32": forest(np.float32),
    "forest_f64": forest(np.float64),
}


def measure(name: str, rows: int, threads: int, arguments: argparse.Namespace) -> str:
    classical = MODELS[name]
    model = arguments.folder / f"{name}.onnx"
    if not model.exists():
        model.write_bytes(classical.export())
    feeds = {"X": samples(rows, classical.features, classical.element)}
    package = sluice_cli.compile_model(model, arguments.folder / f"{name}.sluice")
    error = agreement.error_against(package, feeds, agreement.onnxruntime_outputs(model, feeds))
    if not error <= TOLERANCE:
        raise RuntimeError(f"{name} with {rows} rows differs from onnxruntime by {error} of the largest result")
    files = [workers.Model(package, sluice_cli.save_inputs(feeds, arguments.folder / f"{name}_{rows}"))]
    crew = {"sluice": workers.sluice_worker(files, threads),
            "onnxruntime": workers.peer_worker("onnxruntime", [workers.Model(model, files[0].inputs)], threads)}
    try:
        for worker in reversed(crew.values()):
            worker.run(arguments.seconds)
        turns = [{key: worker.run(arguments.seconds)["median_us"] for key, worker in crew.items()}
                 for _ in range(arguments.rounds)]
    finally:
        for worker in crew.values():
            worker.close()
    own, peer = (statistics.median(turn[key] for turn in turns) for key in crew)
    ratio = statistics.median(turn["onnxruntime"] / turn["sluice"] for turn in turns)
    return f"{name:12} {rows:6} {threads:8} {own:12.1f} {peer:16.1f} {ratio:8.2f}x"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(MODELS), metavar="A,B", help="default: %(default)s")
    parser.add_argument("--batches", default="8,100,1000", metavar="N,N")
    parser.add_argument("--threads", default="1", metavar="N,N")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=0.1)
    parser.add_argument("--quick", action="store_true", help="3 rounds")
    parser.add_argument("--folder", type=Path, default=sluice_cli.ROOT / "build/bench/classical")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.rounds = 3
    arguments.folder.mkdir(parents=True, exist_ok=True)
    print("model          rows  threads    Sluice us   onnxruntime us    ratio", flush=True)
    for name in arguments.models.split(","):
        for rows in arguments.batches.split(","):
            for threads in arguments.threads.split(","):
                print(measure(name, int(rows), int(threads), arguments), flush=True)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (sluice_cli.SluiceError, RuntimeError) as error:
        sys.exit(f"classical: {error}")
