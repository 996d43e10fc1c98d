#!/usr/bin/env python3
"""Tokens per second of `sluice generate` on a language model of random weights, beside the speed of memory.

    .venv/bin/python bench/generation.py                          # Llama shape of 1.1B, int8, 1 and 2 threads
    .venv/bin/python bench/generation.py --shape 135m --weights f32,int8 --tokens 128
    .venv/bin/python bench/generation.py --shape 135m --kv-cache f32,f16 --prompt 1024
    .venv/bin/python bench/generation.py --shape mixture --weights f32,int8

Weights are bf16 in a folder of Hugging Face's form, which stays in `--folder` (2.2 GB for 1.1B). Each round runs every case
once and measures what the same number of threads of numpy read of a large array. A case is a process: the prompt's figure has
the planning of its shapes, the other one is that of the tokens behind the first.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import re
import statistics
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np

from harness import sluice_cli

SHAPES = {
    "1.1b": {"hidden_size": 2048, "intermediate_size": 5632, "num_hidden_layers": 22, "num_attention_heads": 32,
             "num_key_value_heads": 4, "vocab_size": 32000, "tie_word_embeddings": False},
    "135m": {"hidden_size": 576, "intermediate_size": 1536, "num_hidden_layers": 30, "num_attention_heads": 9,
             "num_key_value_heads": 3, "vocab_size": 49152, "tie_word_embeddings": True},
    # 0.35 billion weights, of which a token reads 0.09: 4 of 32 experts in each layer.
    "mixture": {"model_type": "mixtral", "hidden_size": 1024, "intermediate_size": 512, "num_hidden_layers": 6,
                "num_attention_heads": 16, "num_key_value_heads": 4, "vocab_size": 32000, "tie_word_embeddings": True,
                "num_local_experts": 32, "num_experts_per_tok": 4, "sliding_window": None},
}


def tensors_of(config: dict) -> dict[str, list[int]]:
    width, inner, size = config["hidden_size"], config["intermediate_size"], config["hidden_size"] // config["num_attention_heads"]
    keys, words = config["num_key_value_heads"] * size, config["vocab_size"]
    tensors = {"model.embed_tokens.weight": [words, width], "model.norm.weight": [width]}
    if not config["tie_word_embeddings"]:
        tensors["lm_head.weight"] = [words, width]
    for layer in range(config["num_hidden_layers"]):
        at = f"model.layers.{layer}."
        tensors |= {at + "self_attn.q_proj.weight": [width, width], at + "self_attn.k_proj.weight": [keys, width],
                    at + "self_attn.v_proj.weight": [keys, width], at + "self_attn.o_proj.weight": [width, width],
                    at + "input_layernorm.weight": [width], at + "post_attention_layernorm.weight": [width]}
        for part, names in inner_parts(config, at):
            gate, up, down = (f"{part}{name}.weight" for name in names)
            tensors |= {gate: [inner, width], up: [inner, width], down: [width, inner]}
        if "num_local_experts" in config:
            tensors[at + "block_sparse_moe.gate.weight"] = [config["num_local_experts"], width]
    return tensors


def inner_parts(config: dict, at: str) -> list[tuple[str, tuple[str, str, str]]]:
    """Begins of names and names of gate, up and down: of the layer, or of each of its experts."""
    if "num_local_experts" not in config:
        return [(at + "mlp.", ("gate_proj", "up_proj", "down_proj"))]
    return [(f"{at}block_sparse_moe.experts.{expert}.", ("w1", "w3", "w2")) for expert in range(config["num_local_experts"])]


def token_weights(config: dict) -> int:
    """Weights that the products of one token read."""
    used, experts = config.get("num_experts_per_tok", 1), config.get("num_local_experts", 1)
    total = 0
    for name, dims in tensors_of(config).items():
        if len(dims) == 2 and (name != "model.embed_tokens.weight" or config["tie_word_embeddings"]):
            total += int(np.prod(dims)) * used // experts if ".experts." in name else int(np.prod(dims))
    return total


def make_folder(shape: str, folder: Path) -> Path:
    config = {"model_type": "llama", "hidden_act": "silu", "max_position_embeddings": 2048, "rms_norm_eps": 1e-5,
              "rope_theta": 10000.0, **SHAPES[shape]}
    if (folder / "config.json").exists():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    header, end = {}, 0
    for name, dims in tensors_of(config).items():
        header[name] = {"dtype": "BF16", "shape": dims, "data_offsets": [end, end + 2 * int(np.prod(dims))]}
        end += 2 * int(np.prod(dims))
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    random = np.random.default_rng(1)
    with (folder / "model.safetensors").open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for entry in header.values():
            values = random.standard_normal(entry["shape"], np.float32) / np.float32(np.sqrt(entry["shape"][-1]))
            if len(entry["shape"]) == 1:
                values = np.ones(entry["shape"], np.float32)
            file.write((values.view(np.uint32) >> 16).astype(np.uint16).tobytes())
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def read_speed(threads: int, megabytes: int = 256) -> float:
    """Bytes that sums of large arrays read in a nanosecond: GB/s."""
    arrays = [np.ones(megabytes << 17, np.float64) for _ in range(threads)]
    readers = [threading.Thread(target=array.sum) for array in arrays]
    began = time.perf_counter()
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    return sum(array.nbytes for array in arrays) / (time.perf_counter() - began) / 1e9


def run(package: Path, threads: int, arguments: argparse.Namespace) -> tuple[float, float]:
    """Tokens per second of the prompt, and of the tokens behind it."""
    ids = ",".join(str(3 + 7 * i % 1000) for i in range(arguments.prompt))
    done = subprocess.run([str(sluice_cli.binary()), "generate", str(package), "--ids", ids, "--threads", str(threads),
                           "--max-tokens", str(arguments.tokens)], capture_output=True, text=True, check=False)
    rates = re.findall(r"\(([\d.]+)/s\)", done.stderr)
    if done.returncode != 0 or len(rates) != 2:
        raise sluice_cli.SluiceError(done.stderr)
    return float(rates[0]), float(rates[1])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", choices=SHAPES, default="1.1b")
    parser.add_argument("--weights", default="int8", metavar="W,W")
    parser.add_argument("--kv-cache", default="f32", metavar="T,T", help="numbers of keys and values: f32, f16, int8")
    parser.add_argument("--threads", default="1,2", metavar="N,N")
    parser.add_argument("--prompt", type=int, default=128)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=sluice_cli.ROOT / "build/bench")
    arguments = parser.parse_args()
    model = make_folder(arguments.shape, arguments.folder / f"llama-{arguments.shape}")
    packages = {}
    for weights, cache in itertools.product(arguments.weights.split(","), arguments.kv_cache.split(",")):
        form = f"{weights}/{cache}"
        packages[form] = arguments.folder / f"llama-{arguments.shape}-{weights}-{cache}.sluice"
        if not packages[form].exists():
            sluice_cli.run_command("compile", model, "-o", packages[form], "--weights", weights, "--kv-cache", cache,
                                   "--packed-only")
    cases = [(form, int(threads)) for form in packages for threads in arguments.threads.split(",")]
    rates: dict = {case: [] for case in cases}
    for _ in range(arguments.rounds):
        for form, threads in cases:
            rates[form, threads].append((*run(packages[form], threads, arguments), read_speed(threads)))
    print(f"A token reads {token_weights(SHAPES[arguments.shape]) / 1e6:.0f} million weights.")
    print("weights/cache threads  prompt/s  tokens/s   read GB/s  package MB")
    for (form, threads), rounds in rates.items():
        prompt, tokens, read = (statistics.median(column) for column in zip(*rounds))
        size = os.path.getsize(packages[form]) / 1e6
        print(f"{form:13} {threads:7} {prompt:9.1f} {tokens:9.1f} {read:11.1f} {size:11.0f}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except sluice_cli.SluiceError as error:
        sys.exit(f"generation: {error}")
