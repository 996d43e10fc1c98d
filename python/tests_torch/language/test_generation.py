"""`sluice generate` on folders that transformers saved: the same tokens as transformers' own greedy search."""

from __future__ import annotations

import os
import pathlib
import subprocess
from typing import Any

import pytest
import torch
import transformers

PROMPT = [1, 50, 7, 23, 88, 4, 61]
SIZES: dict[str, Any] = {
    "vocab_size": 311, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 3, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 256, "initializer_range": 0.2, "eos_token_id": None,
    "bos_token_id": 1}
LLAMA3 = {"rope_type": "llama3", "rope_theta": 10000.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 32}
UNBOUND = {key: size for key, size in SIZES.items() if key != "max_position_embeddings"}
GEMMA = {**SIZES, "head_dim": 32, "query_pre_attn_scalar": 20, "sliding_window": 16}
LONG = {"rope_type": "longrope", "rope_theta": 10000.0, "partial_rotary_factor": 0.75,
        "short_factor": [1.0, 1.1, 1.3, 1.5, 2.0, 3.0], "long_factor": [4.0] * 6, "original_max_position_embeddings": 128}
LAYERS = {"sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
          "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6}}
YARN = {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0, "original_max_position_embeddings": 64}
MODELS = {
    "gemma": lambda: transformers.GemmaConfig(**SIZES, head_dim=32),
    "gemma2": lambda: transformers.Gemma2Config(**GEMMA, attn_logit_softcapping=2.0, final_logit_softcapping=3.0),
    "gemma3": lambda: transformers.Gemma3TextConfig(
        **GEMMA, rope_parameters=LAYERS, layer_types=["sliding_attention", "full_attention", "sliding_attention"]),
    "mixtral": lambda: transformers.MixtralConfig(**SIZES, num_local_experts=4, num_experts_per_tok=2),
    "qwen2_moe": lambda: transformers.Qwen2MoeConfig(
        **SIZES, num_experts=6, num_experts_per_tok=2, moe_intermediate_size=40, shared_expert_intermediate_size=48,
        mlp_only_layers=[1]),
    "qwen3_moe": lambda: transformers.Qwen3MoeConfig(
        **SIZES, head_dim=32, num_experts=6, num_experts_per_tok=3, moe_intermediate_size=40, norm_topk_prob=True),
    "gpt2": lambda: transformers.GPT2Config(
        vocab_size=311, n_embd=64, n_layer=3, n_head=4, n_positions=256, initializer_range=0.2, eos_token_id=None),
    "phi3": lambda: transformers.Phi3Config(**SIZES, sliding_window=20, pad_token_id=0),
    "phi3, longrope": lambda: transformers.Phi3Config(
        **UNBOUND, max_position_embeddings=512, original_max_position_embeddings=128, rope_parameters=LONG, pad_token_id=0),
    "qwen3, yarn": lambda: transformers.Qwen3Config(**SIZES, rope_parameters=YARN),
    "smollm3": lambda: transformers.SmolLM3Config(**SIZES, no_rope_layers=[1, 0, 1], pad_token_id=0),
    "llama": lambda: transformers.LlamaConfig(**SIZES, attention_bias=True),
    "llama3": lambda: transformers.LlamaConfig(**SIZES, rope_parameters=LLAMA3, tie_word_embeddings=True),
    "mistral": lambda: transformers.MistralConfig(**SIZES, sliding_window=20),
    "qwen2": lambda: transformers.Qwen2Config(**SIZES),
    "qwen3": lambda: transformers.Qwen3Config(**SIZES, head_dim=32),
}


@pytest.mark.parametrize("element", [torch.float32, torch.bfloat16], ids=["f32", "bf16"])
@pytest.mark.parametrize("name", MODELS)
def test_first_fifty_tokens_are_those_of_transformers(name: str, element: torch.dtype, tmp_path: pathlib.Path) -> None:
    torch.manual_seed(3)
    model = transformers.AutoModelForCausalLM.from_config(MODELS[name]()).eval()
    model.to(element).save_pretrained(tmp_path)
    # bf16 weights, multiplied in f32: as Sluice does. A model that is cast would keep rounded frequencies.
    model = transformers.AutoModelForCausalLM.from_pretrained(tmp_path, dtype=torch.float32).eval()
    ids = torch.tensor([PROMPT])
    expected = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=50)
    done = subprocess.run(
        [os.environ.get("SLUICE_PROGRAM", "sluice"), "generate", str(tmp_path), "--ids", ",".join(map(str, PROMPT)),
         "--max-tokens", "50"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [int(word) for word in done.stdout.split()] == expected[0, len(PROMPT):].tolist()
