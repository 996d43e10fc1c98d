"""Decoders of published shapes with random weights and a made-up vocabulary, as folders of Hugging Face's form."""

from __future__ import annotations

import itertools
import json
import string
import struct
from pathlib import Path
from typing import Any

import numpy as np

Config = dict[str, Any]

SHAPES: dict[str, Config] = {
    "1.1b": {"hidden_size": 2048, "intermediate_size": 5632, "num_hidden_layers": 22, "num_attention_heads": 32,
             "num_key_value_heads": 4, "vocab_size": 32000, "tie_word_embeddings": False},
    "135m": {"hidden_size": 576, "intermediate_size": 1536, "num_hidden_layers": 30, "num_attention_heads": 9,
             "num_key_value_heads": 3, "vocab_size": 49152, "tie_word_embeddings": True},
    # 0.35 billion weights, of which a token reads 0.09: 4 of 32 experts in each layer.
    "mixture": {"model_type": "mixtral", "hidden_size": 1024, "intermediate_size": 512, "num_hidden_layers": 6,
                "num_attention_heads": 16, "num_key_value_heads": 4, "vocab_size": 32000, "tie_word_embeddings": True,
                "num_local_experts": 32, "num_experts_per_tok": 4, "sliding_window": None},
    # Shows that every engine runs, in seconds.
    "tiny": {"hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 2, "num_attention_heads": 4,
             "num_key_value_heads": 2, "vocab_size": 2000, "tie_word_embeddings": False},
}
TEMPLATE = ("{% for message in messages %}{{ '[' + message['role'] + '] ' + message['content'] + '\n' }}{% endfor %}"
            "{% if add_generation_prompt %}{{ '[assistant] ' }}{% endif %}")
END = "<|end|>"


def config_of(shape: str) -> Config:
    settings = SHAPES[shape]
    return {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_act": "silu", "max_position_embeddings": 2048,
            "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "eos_token_id": settings["vocab_size"] - 1, "torch_dtype": "bfloat16",
            **settings}


def tensors_of(config: Config) -> dict[str, list[int]]:
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


def inner_parts(config: Config, at: str) -> list[tuple[str, tuple[str, str, str]]]:
    """Begins of names and names of gate, up and down: of the layer, or of each of its experts."""
    if "num_local_experts" not in config:
        return [(at + "mlp.", ("gate_proj", "up_proj", "down_proj"))]
    return [(f"{at}block_sparse_moe.experts.{expert}.", ("w1", "w3", "w2")) for expert in range(config["num_local_experts"])]


def token_weights(config: Config) -> int:
    """Weights that the products of one token read."""
    used, experts = config.get("num_experts_per_tok", 1), config.get("num_local_experts", 1)
    total = 0
    for name, dims in tensors_of(config).items():
        if len(dims) == 2 and (name != "model.embed_tokens.weight" or config["tie_word_embeddings"]):
            total += int(np.prod(dims)) * used // experts if ".experts." in name else int(np.prod(dims))
    return total


def characters() -> list[str]:
    """How byte-level tokenizers spell the 256 bytes: those that no file shows as they are stand behind the others."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in shown]
    return [chr(byte) for byte in shown] + [chr(256 + place) for place in range(len(hidden))]


def vocabulary(size: int) -> tuple[list[str], list[tuple[str, str]]]:
    """Tokens by their ids, and the pairs that merge: the bytes, words of two letters, words of four, and the end."""
    tokens, merges = characters(), []
    twos = ["".join(pair) for pair in itertools.product(string.ascii_lowercase, repeat=2)]
    for first, second in itertools.chain(twos, itertools.product(twos, twos)):
        if len(tokens) == size - 1:
            break
        tokens.append(first + second)
        merges.append((first, second))
    return [*tokens, END], merges


def write_tokenizer(folder: Path, size: int) -> None:
    tokens, merges = vocabulary(size)
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    added = {"id": size - 1, "content": END, "special": True, "single_word": False, "lstrip": False, "rstrip": False,
             "normalized": False}
    (folder / "tokenizer.json").write_text(json.dumps({
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [added], "normalizer": None,
        "pre_tokenizer": level, "post_processor": None, "decoder": level,
        "model": {"type": "BPE", "vocab": {token: place for place, token in enumerate(tokens)},
                  "merges": [" ".join(pair) for pair in merges]}}))
    (folder / "tokenizer_config.json").write_text(json.dumps({
        "tokenizer_class": "PreTrainedTokenizerFast", "eos_token": END, "chat_template": TEMPLATE}))


def make(shape: str, folder: Path) -> Path:
    """The folder, written unless it is there: bf16, 2.2 GB for 1.1b."""
    config = config_of(shape)
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
    write_tokenizer(folder, config["vocab_size"])
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def read(folder: Path) -> dict[str, np.ndarray]:
    """The weights as mapped bf16 numbers, u2 by their names."""
    path = folder / "model.safetensors"
    mapped = np.memmap(path, np.uint8, "r")
    length = int(mapped[:8].view("<u8")[0])
    header = json.loads(bytes(mapped[8:8 + length]))
    tensors = {}
    for name, entry in header.items():
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        tensors[name] = mapped[begin:end].view(np.uint16).reshape(entry["shape"])
    return tensors
