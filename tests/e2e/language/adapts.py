#!/usr/bin/env python3
"""A model with low-rank adapters says what plain numpy computes of the weights that they make, for each of them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gguf_files
import numpy as np
from generates import EXPERTS, GEMMA2, PHI3, PROMPT, generate
from report import first_wrong_refusal, run_cases
from tiny_adapters import Adapter, adapted, make_adapter, save_adapter
from tiny_encoders import make_encoder
from tiny_models import Tiny, greedy, make, make_gpt2, save

from harness.sluice_cli import run_command

ATTENTION = ("q_proj", "v_proj")
ALL = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
CASES: dict[str, tuple[Callable[[], Tiny], tuple[str, ...], dict[str, Any]]] = {
    "llama": (lambda: make("llama"), ATTENTION, {}),
    "llama in bf16, all products": (lambda: make("llama", "BF16"), ALL, {"element": "BF16"}),
    "llama, the logits too": (lambda: make("llama"), ("o_proj", "lm_head"), {}),
    "qwen2 with biases": (lambda: make("qwen2", "F16"), ALL, {"element": "F16", "use_rslora": True}),
    "mistral, modules of their own strength": (
        lambda: make("mistral", sliding_window=5), ALL, {"alpha_pattern": {"layers.1.mlp.up_proj": 24, "q_proj": 1}}),
    "gemma 2, tied": (lambda: make("gemma2", head_dim=32, **GEMMA2), ALL, {}),
    "gpt2, whose matrices lie the other way": (make_gpt2, ("c_attn", "c_proj", "c_fc"), {"fan_in_fan_out": True}),
    "phi3, whose products are joined": (lambda: make("phi3", **PHI3), ("qkv_proj", "gate_up_proj"), {}),
    "qwen3 beside experts": (lambda: make("qwen3_moe", head_dim=32, **EXPERTS), ("q_proj", "o_proj"), {}),
}


def says(model: Path, tiny: Tiny, given: tuple[str, ...]) -> str:
    tokens, wanted = generate(model, PROMPT, "--max-tokens", "20", *given), greedy(tiny, PROMPT, 20)
    return "" if tokens == wanted else f"{model.name} {given}: {tokens}, not {wanted}"


def agrees(made: tuple[Callable[[], Tiny], tuple[str, ...], dict[str, Any]], folder: Path) -> str:
    """The model alone, and each of two adapters of different ranks, in one package and from the folder."""
    tiny, (_, modules, changes) = made[0](), made
    first = make_adapter(tiny, modules, rank=4, seed=1, **changes)
    second = make_adapter(tiny, modules[-1:], rank=7, seed=2)
    texts = [greedy(one, PROMPT, 20) for one in (tiny, adapted(tiny, first), adapted(tiny, second))]
    if texts[0] in texts[1:] or texts[1] == texts[2]:
        return "an adapter changes nothing: choose another"
    model, package = save(tiny, folder / "tiny"), folder / "tiny.sluice"
    a, b = (f"{name}={save_adapter(adapter, folder / name)}" for name, adapter in (("a", first), ("b", second)))
    run_command("compile", model, "--adapter", a, "--adapter", b, "-o", package)
    return next(filter(None, (
        says(package, tiny, ()), says(package, adapted(tiny, first), ("--adapter", "a")),
        says(package, adapted(tiny, second), ("--adapter", "b")),
        says(model, adapted(tiny, second), ("--adapter", b)))), "")


def agrees_with_gguf(folder: Path) -> str:
    """The rows of queries and keys lie in pairs in the file, and half a head apart in the adapter."""
    tiny = make("llama")
    adapter = make_adapter(tiny, ALL, seed=3)
    gguf_files.save(tiny, folder / "tiny.gguf")
    return says(folder / "tiny.gguf", adapted(tiny, adapter), ("--adapter", f"a={save_adapter(adapter, folder / 'a')}"))


def a_changed_adapter_is_read_again(folder: Path) -> str:
    """The cache of compiled models looks at the adapter's files, too."""
    tiny = make("llama")
    model = save(tiny, folder / "tiny")
    for seed in (4, 5):
        adapter = make_adapter(tiny, ATTENTION, seed=seed)
        if wrong := says(model, adapted(tiny, adapter), ("--adapter", f"a={save_adapter(adapter, folder / 'a')}")):
            return wrong
    return ""


def narrow_weights_are_adapted(folder: Path) -> str:
    """Weights in 8 bits beside an adapter: the token that follows is among the likeliest."""
    tiny = make("llama", "BF16", hidden_size=256, intermediate_size=512)
    adapter = make_adapter(tiny, ALL, seed=6)
    model, wanted = save(tiny, folder / "tiny"), greedy(adapted(tiny, adapter), PROMPT, 1)
    given = ("--adapter", f"a={save_adapter(adapter, folder / 'a')}", "--max-tokens", "1")
    found = [generate(model, PROMPT, *given, "--weights", weights) for weights in ("bf16", "int8")]
    return "" if found == [wanted, wanted] else f"{found}, not {wanted}"


def refuses(folder: Path) -> str:
    tiny = make("llama")
    model, package = save(tiny, folder / "tiny"), folder / "tiny.sluice"
    run_command("compile", model, "--adapter", f"sql={save_adapter(make_adapter(tiny, ATTENTION), folder / 'sql')}",
                "--adapter", f"chat={folder / 'sql'}", "-o", package)
    encoder = save(make_encoder("bert", 60), folder / "encoder")

    def saved(name: str, adapter: Adapter, **lacks: str) -> str:
        save_adapter(adapter, folder / name)
        for file in lacks.values():
            (folder / name / file).unlink()
        return f"x={folder / name}"

    def changed(name: str, **changes: Any) -> str:
        return saved(name, make_adapter(tiny, ATTENTION, **changes))

    wide = make_adapter(make("llama", hidden_size=128), ATTENTION)
    torn = make_adapter(tiny, ATTENTION)
    torn.ups["model.layers.0.self_attn.q_proj"] = np.zeros((64, 3), np.float32)
    other = make_adapter(tiny, ATTENTION)
    other.downs["model.layers.0.mlp.router"], other.ups["model.layers.0.mlp.router"] = np.ones((4, 64)), np.ones((4, 4))
    other.downs = {name: values.astype(np.float32) for name, values in other.downs.items()}
    other.ups = {name: values.astype(np.float32) for name, values in other.ups.items()}
    whole = save_adapter(make_adapter(tiny, ATTENTION), folder / "whole")
    text = (whole / "adapter_model.safetensors").read_bytes()
    (whole / "adapter_model.safetensors").write_bytes(text[:-8])
    ids = ("--ids", "1,2")
    return first_wrong_refusal("generate", [
        ((package, *ids, "--adapter", "Sql"), 'no adapter "Sql"; the model has sql, chat'),
        ((model, *ids, "--adapter", "sql"), 'no adapter "sql": the model was compiled without adapters'),
        ((model, *ids, "--adapter", "x="), '"x=" is not NAME=FOLDER'),
        ((model, *ids, "--adapter", f"=../{folder.name}"), "is not NAME=FOLDER"),
        ((model, *ids, "--adapter", f"x={folder / 'none'}"), 'adapter "x"'),
        ((model, *ids, "--adapter", saved("bare", torn, weights="adapter_model.safetensors")), "adapter_model.safetensors"),
        ((model, *ids, "--adapter", saved("plain", torn, config="adapter_config.json")), "adapter_config.json"),
        ((model, *ids, "--adapter", saved("torn", torn)), 'lora_A and lora_B of "model.layers.0.self_attn.q_proj" do not fit'),
        ((model, *ids, "--adapter", saved("wide", wide)), "the product has 64 columns and 64 results"),
        ((model, *ids, "--adapter", saved("other", other)), 'the recipe of the model has no product "model.layers.0.mlp.router"'),
        ((model, *ids, "--adapter", f"x={whole}"), "adapter_model.safetensors"),
        ((model, *ids, "--adapter", changed("dora", use_dora=True)), "use_dora: true is not supported"),
        ((model, *ids, "--adapter", changed("saves", modules_to_save=["lm_head"])), "modules_to_save"),
        ((model, *ids, "--adapter", changed("bias", bias="all")), "bias"),
        ((model, *ids, "--adapter", changed("kind", peft_type="IA3")), "peft_type"),
        ((model, *ids, "--adapter", changed("pissa", init_lora_weights="pissa")), "init_lora_weights"),
        ((model, *ids, "--adapter", changed("regex", alpha_pattern={"layers.[01].*": 3})), "alpha_pattern"),
        ((model, *ids, "--adapter", changed("word", alpha_pattern={"q_proj": "many"})), "alpha_pattern"),
        ((model, *ids, "--adapter", changed("new", rank_of_rank=3)), "rank_of_rank: this setting is not known"),
        ((encoder, *ids, "--adapter", f"x={folder / 'sql'}"), "adapters are for models that generate texts"),
        (("examples/digits/digits.onnx", *ids, "--adapter", f"x={folder / 'sql'}"), "--adapter is for folders and GGUF files"),
    ]) or first_wrong_refusal("compile", [
        ((model, "--adapter", f"a={folder / 'sql'}", "--adapter", f"a={folder / 'sql'}", "-o", package),
         'an adapter has the name "a": names differ'),
    ])


def main() -> int:
    cases = {name: (lambda folder, made=made: agrees(made, folder)) for name, made in CASES.items()}
    return run_cases({**cases, "a GGUF file": agrees_with_gguf, "a changed adapter": a_changed_adapter_is_read_again,
                      "narrow weights": narrow_weights_are_adapted, "refuses": refuses})


if __name__ == "__main__":
    sys.exit(main())
