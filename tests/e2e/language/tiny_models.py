"""Language models of a few thousand random weights, as folders of Hugging Face's form, and what they compute:
plain numpy in f64, written from the families' papers and configurations, without a cache."""

from __future__ import annotations

import json
import struct
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

Weights = dict[str, np.ndarray]


@dataclass
class Tiny:
    """A model: its config.json, and its weights in f32."""

    config: dict[str, Any]
    weights: Weights = field(default_factory=dict)
    element: str = "F32"

    @property
    def head_size(self) -> int:
        return int(self.config.get("head_dim") or self.config["hidden_size"] // self.config["num_attention_heads"])


def make(family: str, element: str = "F32", seed: int = 1, **changes: Any) -> Tiny:
    config: dict[str, Any] = {
        "architectures": [f"{family.capitalize()}ForCausalLM"], "model_type": family, "vocab_size": 97,
        "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 3, "num_attention_heads": 4,
        "num_key_value_heads": 2, "hidden_act": "silu", "max_position_embeddings": 1200, "rms_norm_eps": 1e-5,
        "rope_theta": 10000.0, "tie_word_embeddings": False, "eos_token_id": 96, **changes}
    tiny = Tiny(config, {}, element)
    random = np.random.default_rng(seed)
    hidden, inner, size = config["hidden_size"], config["intermediate_size"], tiny.head_size
    rows = {"q": config["num_attention_heads"] * size, "k": config["num_key_value_heads"] * size,
            "v": config["num_key_value_heads"] * size}

    def add(name: str, *dims: int) -> None:
        scale = 1.0 if len(dims) == 1 else 1.5 / np.sqrt(dims[-1])
        values = random.standard_normal(dims) * scale + (1.0 if "norm" in name else 0.0) * (len(dims) == 1)
        tiny.weights[name] = rounded(values.astype(np.float32), element)

    add("model.embed_tokens.weight", config["vocab_size"], hidden)
    for layer in range(config["num_hidden_layers"]):
        at = f"model.layers.{layer}"
        for name, columns in rows.items():
            add(f"{at}.self_attn.{name}_proj.weight", columns, hidden)
            if family == "qwen2" or config.get("attention_bias"):
                add(f"{at}.self_attn.{name}_proj.bias", columns)
        add(f"{at}.self_attn.o_proj.weight", hidden, rows["q"])
        if config.get("attention_bias"):
            add(f"{at}.self_attn.o_proj.bias", hidden)
        if family in ("qwen3", "gemma3_text"):
            add(f"{at}.self_attn.q_norm.weight", size)
            add(f"{at}.self_attn.k_norm.weight", size)
        for name in ("gate_proj", "up_proj"):
            add(f"{at}.mlp.{name}.weight", inner, hidden)
        add(f"{at}.mlp.down_proj.weight", hidden, inner)
        add(f"{at}.input_layernorm.weight", hidden)
        add(f"{at}.post_attention_layernorm.weight", hidden)
        if family == "gemma3_text":
            add(f"{at}.pre_feedforward_layernorm.weight", hidden)
            add(f"{at}.post_feedforward_layernorm.weight", hidden)
    add("model.norm.weight", hidden)
    if not config["tie_word_embeddings"]:
        add("lm_head.weight", config["vocab_size"], hidden)
    return tiny


def rounded(values: np.ndarray, element: str) -> np.ndarray:
    """The numbers that the file will hold, in f32."""
    if element == "F16":
        return values.astype(np.float16).astype(np.float32)
    if element == "BF16":
        return (values.view(np.uint32) & 0xFFFF0000).view(np.float32)
    return values


def stored(values: np.ndarray, element: str) -> bytes:
    if element == "F16":
        return values.astype(np.float16).tobytes()
    if element == "BF16":
        return (values.view(np.uint32) >> 16).astype(np.uint16).tobytes()
    return values.tobytes()


def save(tiny: Tiny, folder: Path, shards: int = 1) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(tiny.config))
    names = list(tiny.weights)
    places = {name: f"model-{i % shards}.safetensors" if shards > 1 else "model.safetensors"
              for i, name in enumerate(names)}
    for file in sorted(set(places.values())):
        save_weights({name: tiny.weights[name] for name in names if places[name] == file}, tiny.element, folder / file)
    if shards > 1:
        (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": places}))
    return folder


def save_weights(weights: Weights, element: str, path: Path) -> None:
    header, data = {}, b""
    for name, values in weights.items():
        piece = stored(values, element)
        header[name] = {"dtype": element, "shape": list(values.shape), "data_offsets": [len(data), len(data) + len(piece)]}
        data += piece
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def norm(x: np.ndarray, weight: np.ndarray, epsilon: float) -> np.ndarray:
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * weight


def frequencies(tiny: Tiny) -> np.ndarray:
    size = tiny.head_size
    inverse = 1 / tiny.config["rope_theta"] ** (np.arange(0, size, 2) / size)
    scaling = tiny.config.get("rope_scaling")
    if scaling is None:
        return inverse
    wavelength = 2 * np.pi / inverse
    trained, low, high = (scaling["original_max_position_embeddings"], scaling["low_freq_factor"],
                          scaling["high_freq_factor"])
    smooth = np.clip((trained / wavelength - low) / (high - low), 0, 1)
    return (1 - smooth) * inverse / scaling["factor"] + smooth * inverse


def turned(x: np.ndarray, tiny: Tiny, local: bool = False) -> np.ndarray:
    """x [tokens, heads, size]."""
    size = x.shape[-1]
    turns = tiny.config["rope_local_base_freq"] ** (-np.arange(0, size, 2) / size) if local else frequencies(tiny)
    angles = np.outer(np.arange(len(x)), turns)
    angles = np.concatenate([angles, angles], -1)[:, None]
    half = x.shape[-1] // 2
    return x * np.cos(angles) + np.concatenate([-x[..., half:], x[..., :half]], -1) * np.sin(angles)


def logits_of(tiny: Tiny, ids: list[int]) -> np.ndarray:
    """Of the token behind each of `ids`: [tokens, vocabulary]."""
    config, weights = tiny.config, {name: values.astype(np.float64) for name, values in tiny.weights.items()}
    count, size, epsilon = len(ids), tiny.head_size, config["rms_norm_eps"]
    distance = np.arange(count)[:, None] - np.arange(count)[None]
    is_gemma, is_gemma3 = config["model_type"].startswith("gemma"), config["model_type"] == "gemma3_text"
    x = weights["model.embed_tokens.weight"][ids] * (np.sqrt(config["hidden_size"]) if is_gemma else 1)
    if is_gemma:  # a norm's weight is what is added to 1
        weights |= {name: values + 1 for name, values in weights.items() if values.ndim == 1 and "norm" in name}
    scale = config["query_pre_attn_scalar"] if is_gemma3 else size

    def linear(x: np.ndarray, name: str) -> np.ndarray:
        return x @ weights[f"{name}.weight"].T + weights.get(f"{name}.bias", 0.0)

    for layer in range(config["num_hidden_layers"]):
        at = f"model.layers.{layer}"
        is_local = config["layer_types"][layer] == "sliding_attention" if is_gemma3 else True
        hidden = (distance < 0) | (distance >= ((is_local and config.get("sliding_window")) or count))
        y = norm(x, weights[f"{at}.input_layernorm.weight"], epsilon)
        q, k, v = (linear(y, f"{at}.self_attn.{name}_proj").reshape(count, -1, size) for name in "qkv")
        if f"{at}.self_attn.q_norm.weight" in weights:
            q = norm(q, weights[f"{at}.self_attn.q_norm.weight"], epsilon)
            k = norm(k, weights[f"{at}.self_attn.k_norm.weight"], epsilon)
        q, k = (turned(part, tiny, is_gemma3 and is_local) for part in (q, k))
        share = q.shape[1] // k.shape[1]
        k, v = np.repeat(k, share, 1), np.repeat(v, share, 1)
        scores = np.einsum("qhd,khd->hqk", q, k) / np.sqrt(scale)
        scores[:, hidden] = -np.inf
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        scores /= scores.sum(-1, keepdims=True)
        seen = linear(np.einsum("hqk,khd->qhd", scores, v).reshape(count, -1), f"{at}.self_attn.o_proj")
        middle = weights[f"{at}.post_attention_layernorm.weight"]
        x = x + (norm(seen, middle, epsilon) if is_gemma3 else seen)
        y = norm(x, weights[f"{at}.pre_feedforward_layernorm.weight"] if is_gemma3 else middle, epsilon)
        gate = linear(y, f"{at}.mlp.gate_proj")
        cubed = np.tanh(np.sqrt(2 / np.pi) * (gate + 0.044715 * gate**3))
        bent = gate * (1 + cubed) / 2 if is_gemma else gate / (1 + np.exp(-gate))
        product = linear(bent * linear(y, f"{at}.mlp.up_proj"), f"{at}.mlp.down_proj")
        x = x + (norm(product, weights[f"{at}.post_feedforward_layernorm.weight"], epsilon) if is_gemma3 else product)
    x = norm(x, weights["model.norm.weight"], epsilon)
    return x @ weights["model.embed_tokens.weight" if config["tie_word_embeddings"] else "lm_head.weight"].T


def adjusted(logits: np.ndarray, text: list[int], presence: float = 0, frequency: float = 0,
             bias: dict[int, float] | None = None, bad: Sequence[list[int]] = ()) -> np.ndarray:
    """By OpenAI's formula: `text` are the tokens behind the prompt. `bad`: tokens that do not follow each other."""
    logits = logits.copy()
    for token, number in (bias or {}).items():
        logits[token] += number
    for token, count in Counter(text).items():
        logits[token] -= count * frequency + presence
    for word in bad:
        if text[len(text) - len(word) + 1:] == word[:-1] and len(text) >= len(word) - 1:
            logits[word[-1]] = -np.inf
    return logits


def greedy(tiny: Tiny, prompt: list[int], count: int, **settings: Any) -> list[int]:
    """`settings`: of `adjusted`."""
    ids = list(prompt)
    while len(ids) < len(prompt) + count:
        token = int(adjusted(logits_of(tiny, ids)[-1], ids[len(prompt):], **settings).argmax())
        if token == tiny.config["eos_token_id"]:
            break
        ids.append(token)
    return ids[len(prompt):]
