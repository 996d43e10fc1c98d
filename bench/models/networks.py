"""The table of benchmark networks: how each is built and what it is fed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import bert_base
import gpt2_small
import lstm
import mlp
import mobilenetv2
import numpy as np
import onnx
import resnet50
import trees


@dataclass(frozen=True)
class Network:
    build: Callable[[], onnx.ModelProto]
    inputs: Callable[[np.random.Generator], dict[str, np.ndarray]]


NETWORKS: dict[str, Network] = {
    "resnet50": Network(resnet50.build, resnet50.inputs),
    "mobilenetv2": Network(mobilenetv2.build, mobilenetv2.inputs),
    "bert_base": Network(bert_base.build, bert_base.inputs),
    "gpt2_small": Network(gpt2_small.build, gpt2_small.inputs),
    "mlp": Network(mlp.build, mlp.inputs),
    "lstm": Network(lstm.build, lstm.inputs),
    "mlp_tiny": Network(mlp.build_tiny, mlp.tiny_inputs),
    "forest_1": Network(trees.build_forest, trees.one_row),
    "forest_1000": Network(trees.build_forest, trees.thousand_rows),
    "boosted_1": Network(trees.build_boosted, trees.one_row),
    "boosted_1000": Network(trees.build_boosted, trees.thousand_rows),
}
CLASSIC_NAMES = [name for name in NETWORKS if name.startswith(("forest", "boosted"))]
DEFAULT_NAMES = [name for name in NETWORKS if name != "mlp_tiny" and name not in CLASSIC_NAMES]
