#!/usr/bin/env python3
"""Exports public architectures, with seeded random weights, by PyTorch's exporter.

Runs in the environment that scripts/torch-env makes; bench/public.py calls it. Writes NAME.onnx and the
inputs of one run, NAME.npz, for each name.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

Made = tuple[torch.nn.Module, dict[str, torch.Tensor]]


def image(size: int = 224) -> dict[str, torch.Tensor]:
    return {"image": torch.randn(1, 3, size, size)}


def of_torchvision(name: str, size: int = 224) -> Callable[[], Made]:
    def make() -> Made:
        import torchvision

        options = {"weights_backbone": None} if "deeplab" in name else {}
        return torchvision.models.get_model(name, weights=None, **options), image(size)

    return make


def of_timm(name: str, size: int = 224) -> Callable[[], Made]:
    def make() -> Made:
        import timm

        return timm.create_model(name, pretrained=False), image(size)

    return make


class FirstOutput(torch.nn.Module):
    """The first tensor that a model of `transformers` returns, for arguments by place."""

    def __init__(self, model: torch.nn.Module, names: list[str]) -> None:
        super().__init__()
        self.model = model
        self.names = names

    def forward(self, *values: torch.Tensor) -> torch.Tensor:
        return self.model(**dict(zip(self.names, values)), return_dict=False, **self.fixed())[0]

    def fixed(self) -> dict[str, bool]:
        return {"use_cache": False} if hasattr(self.model.config, "use_cache") else {}


def of_transformers(kind: str, config: str, inputs: dict[str, torch.Tensor],
                    **settings: object) -> Callable[[], Made]:
    def make() -> Made:
        import transformers

        model = getattr(transformers, kind)(getattr(transformers, config)(**settings))
        return FirstOutput(model, list(inputs)), inputs

    return make


def tokens(length: int, mask: bool = True) -> dict[str, torch.Tensor]:
    ids = {"input_ids": torch.arange(length).reshape(1, length) * 7 % 1000}
    return {**ids, "attention_mask": torch.ones(1, length, dtype=torch.int64)} if mask else ids


ARCHITECTURES: dict[str, Callable[[], Made]] = {
    "convnext_tiny": of_torchvision("convnext_tiny"),
    "deeplabv3_mobilenet": of_torchvision("deeplabv3_mobilenet_v3_large", 256),
    "densenet121": of_torchvision("densenet121"),
    "mobilenet_v3_large": of_torchvision("mobilenet_v3_large"),
    "regnet_y_800mf": of_torchvision("regnet_y_800mf"),
    "resnet18": of_torchvision("resnet18"),
    "shufflenet_v2": of_torchvision("shufflenet_v2_x1_0"),
    "swin_t": of_torchvision("swin_t"),
    "deit_tiny": of_timm("deit_tiny_patch16_224"),
    "efficientformer_l1": of_timm("efficientformer_l1"),
    "levit_128": of_timm("levit_128"),
    "mixer_s16": of_timm("mixer_s16_224"),
    "mobilevit_s": of_timm("mobilevit_s", 256),
    "distilbert": of_transformers("DistilBertModel", "DistilBertConfig", tokens(128)),
    "gpt2": of_transformers("GPT2LMHeadModel", "GPT2Config", tokens(64, mask=False), n_layer=6),
    "llama_small": of_transformers(
        "LlamaForCausalLM", "LlamaConfig", tokens(64), hidden_size=512, intermediate_size=1408,
        num_hidden_layers=6, num_attention_heads=8, num_key_value_heads=2, vocab_size=8000),
    "t5_encoder": of_transformers("T5EncoderModel", "T5Config", tokens(128)),
    "whisper_encoder": of_transformers(
        "WhisperModel", "WhisperConfig",
        {"input_features": torch.randn(1, 80, 3000),
         "decoder_input_ids": torch.tensor([[1, 2, 3, 4]])},
        d_model=384, encoder_layers=4, decoder_layers=4, encoder_attention_heads=6,
        decoder_attention_heads=6, encoder_ffn_dim=1536, decoder_ffn_dim=1536),
}


def export(name: str, folder: Path) -> None:
    torch.manual_seed(0)
    model, inputs = ARCHITECTURES[name]()
    scratch = folder / f"{name}.partial"
    with torch.no_grad():
        program = torch.onnx.export(model.eval(), tuple(inputs.values()), dynamo=True,
                                    verbose=False, external_data=False)
    program.save(scratch, external_data=False)
    names = [value.name for value in program.model.graph.inputs]
    np.savez(folder / f"{name}.npz", **dict(zip(names, (v.numpy() for v in inputs.values()))))
    scratch.replace(folder / f"{name}.onnx")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", choices=[*ARCHITECTURES, []])
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for name in arguments.names or ARCHITECTURES:
        if (arguments.folder / f"{name}.onnx").exists():
            continue
        print(f"exporting {name}", flush=True)
        export(name, arguments.folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
