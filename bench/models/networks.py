"""The table of benchmark networks: build function and inputs of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import ModuleType

import bert_base
import branches
import chain
import dlrm
import efficientnet_b0
import gpt2_small
import lstm
import mlp
import mobilenetv2
import numpy as np
import onnx
import resnet50
import speech_encoder
import trees
import vgg16
import vit_b16
import yolov8n


@dataclass(frozen=True)
class Network:
    build: Callable[[], onnx.ModelProto]
    inputs: Callable[[np.random.Generator], dict[str, np.ndarray]]
    peers: tuple[str, ...] = ("onnxruntime", "openvino")


ORT_ONLY = ("onnxruntime",)  # openvino reads no ai.onnx.ml
BATCH = 8

MODULES = [
    resnet50, mobilenetv2, vgg16, efficientnet_b0, yolov8n, bert_base, vit_b16, gpt2_small,
    speech_encoder, dlrm, mlp, lstm,
]  # fmt: skip


def at_batch(module: ModuleType, batch: int) -> Network:
    return Network(partial(module.build, batch), partial(module.inputs, batch=batch))


DEFAULT_NAMES = [module.__name__ for module in MODULES]  # one sample at a time
BATCHED_NAMES = [f"{name}_b{BATCH}" for name in DEFAULT_NAMES]
CLASSIC: dict[str, Network] = {
    "forest_1": Network(trees.build_forest, trees.one_row, ORT_ONLY),
    "forest_1000": Network(trees.build_forest, trees.thousand_rows, ORT_ONLY),
    "boosted_1": Network(trees.build_boosted, trees.one_row, ORT_ONLY),
    "boosted_1000": Network(trees.build_boosted, trees.thousand_rows, ORT_ONLY),
}
NETWORKS: dict[str, Network] = {
    **{name: at_batch(module, 1) for name, module in zip(DEFAULT_NAMES, MODULES)},
    **{name: at_batch(module, BATCH) for name, module in zip(BATCHED_NAMES, MODULES)},
    **{f"chain_{length}": Network(partial(chain.build, length), chain.inputs)
       for length in (10, 110)},
    "inception_like": Network(branches.build_inception, branches.inception_inputs),
    "two_towers": Network(branches.build_two_towers, branches.tower_inputs),
    "gpt2_prompt": Network(gpt2_small.build_prompt, gpt2_small.prompt_inputs),
    "mlp_tiny": Network(mlp.build_tiny, mlp.tiny_inputs),
    **CLASSIC,
}
