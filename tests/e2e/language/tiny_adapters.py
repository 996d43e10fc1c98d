"""Low-rank adapters of tiny language models, as folders of PEFT's form, and the models that they make: W + scale B A."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from tiny_models import Tiny, Weights, rounded, save_weights


@dataclass
class Adapter:
    config: dict[str, Any]
    downs: Weights = field(default_factory=dict)  #: by module: [rank, in]
    ups: Weights = field(default_factory=dict)  #: [out, rank]
    element: str = "F32"

    def scale(self, module: str) -> float:
        patterns = self.config.get("alpha_pattern") or {}
        own = [alpha for name, alpha in patterns.items() if f".{module}".endswith(f".{name}")]
        rank = self.downs[module].shape[0]
        alpha = own[0] if own else self.config["lora_alpha"]
        return float(alpha / (np.sqrt(rank) if self.config.get("use_rslora") else rank))


def make_adapter(tiny: Tiny, modules: tuple[str, ...], rank: int = 4, seed: int = 1, element: str = "F32",
                 **changes: Any) -> Adapter:
    """`modules`: ends of the names of products that it changes, enough to change what is said."""
    config = {"peft_type": "LORA", "task_type": "CAUSAL_LM", "base_model_name_or_path": "tiny", "bias": "none",
              "r": rank, "lora_alpha": 2 * rank, "lora_dropout": 0.05, "target_modules": list(modules),
              "fan_in_fan_out": False, "inference_mode": True, "init_lora_weights": True, "modules_to_save": None,
              "rank_pattern": {}, "alpha_pattern": {}, "use_dora": False, "use_rslora": False, **changes}
    adapter, random = Adapter(config, element=element), np.random.default_rng(seed)
    for name, weight in tiny.weights.items():
        module = name.removesuffix(".weight")
        if name == module or not module.endswith(modules):
            continue
        out, columns = weight.shape[::-1] if tiny.family == "gpt2" else weight.shape
        for matrices, dims in ((adapter.downs, (rank, columns)), (adapter.ups, (out, rank))):
            values = (random.standard_normal(dims) / np.sqrt(dims[1])).astype(np.float32)
            matrices[module] = rounded(values, element)
    assert adapter.downs, modules
    return adapter


def save_adapter(adapter: Adapter, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "adapter_config.json").write_text(json.dumps(adapter.config))
    matrices = {f"base_model.model.{module}.lora_{part}.weight": values
                for part, all_of in (("A", adapter.downs), ("B", adapter.ups)) for module, values in all_of.items()}
    save_weights(matrices, adapter.element, folder / "adapter_model.safetensors")
    return folder


def adapted(tiny: Tiny, adapter: Adapter) -> Tiny:
    """The model that computes what the adapter makes of another."""
    weights = dict(tiny.weights)
    for module, down in adapter.downs.items():
        change = adapter.scale(module) * adapter.ups[module].astype(np.float64) @ down
        weights[f"{module}.weight"] = weights[f"{module}.weight"] + (change.T if tiny.family == "gpt2" else change)
    return Tiny(tiny.config, weights, tiny.element)
