"""Language models of a few thousand random weights, as folders of Hugging Face's form, and what they compute:
plain numpy in f64, written from the families' papers and configurations, without a cache."""

from __future__ import annotations

import json
import struct
from collections import Counter
from collections.abc import Callable, Sequence
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
        if self.family == "gpt2":
            return int(self.config["n_embd"] // self.config["n_head"])
        return int(self.config.get("head_dim") or self.config["hidden_size"] // self.config["num_attention_heads"])

    @property
    def family(self) -> str:
        return str(self.config["model_type"])

    @property
    def layers(self) -> int:
        return int(self.config["n_layer" if self.family == "gpt2" else "num_hidden_layers"])

    @property
    def key_heads(self) -> int:
        return int(self.config["n_head" if self.family == "gpt2" else "num_key_value_heads"])

    @property
    def experts(self) -> int:
        return int(self.config.get("num_experts") or self.config.get("num_local_experts") or 0)

    def has_experts(self, layer: int) -> bool:
        step = self.config.get("decoder_sparse_step", 1)
        return self.experts > 0 and (layer + 1) % step == 0 and layer not in self.config.get("mlp_only_layers", [])

    @property
    def has_norms_behind(self) -> bool:
        return self.family in ("gemma2", "gemma3_text")


def make_gpt2(element: str = "F32", seed: int = 1, **changes: Any) -> Tiny:
    config: dict[str, Any] = {
        "architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "vocab_size": 97, "n_embd": 64, "n_layer": 3,
        "n_head": 4, "n_positions": 1200, "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5,
        "eos_token_id": 96, **changes}
    tiny, random = Tiny(config, {}, element), np.random.default_rng(seed)
    width, inner = config["n_embd"], config.get("n_inner") or 4 * config["n_embd"]

    def add(name: str, *dims: int) -> None:
        values = random.standard_normal(dims) * (0.5 if len(dims) == 1 else 1.5 / np.sqrt(dims[0]))
        tiny.weights[f"transformer.{name}"] = rounded(values.astype(np.float32), element)

    add("wte.weight", config["vocab_size"], width)
    add("wpe.weight", config["n_positions"], width)
    products = {"attn.c_attn": (width, 3 * width), "attn.c_proj": (width, width), "mlp.c_fc": (width, inner),
                "mlp.c_proj": (inner, width)}
    for layer in range(config["n_layer"]):
        for name, dims in products.items():
            add(f"h.{layer}.{name}.weight", *dims)
            add(f"h.{layer}.{name}.bias", dims[1])
        for part in (f"h.{layer}.ln_1", f"h.{layer}.ln_2"):
            add(f"{part}.weight", width)
            add(f"{part}.bias", width)
    add("ln_f.weight", width)
    add("ln_f.bias", width)
    return tiny


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

    def joined(names: list[str], whole: str) -> None:
        tiny.weights[whole] = np.concatenate([tiny.weights.pop(name) for name in names])

    def add_inner(at: str, width: int) -> None:
        for name in ("gate_proj", "up_proj"):
            add(f"{at}.{name}.weight", width, hidden)
        add(f"{at}.down_proj.weight", hidden, width)

    add("model.embed_tokens.weight", config["vocab_size"], hidden)
    for layer in range(config["num_hidden_layers"]):
        at = f"model.layers.{layer}"
        for name, columns in rows.items():
            add(f"{at}.self_attn.{name}_proj.weight", columns, hidden)
            if family in ("qwen2", "qwen2_moe") or config.get("attention_bias"):
                add(f"{at}.self_attn.{name}_proj.bias", columns)
        add(f"{at}.self_attn.o_proj.weight", hidden, rows["q"])
        if config.get("attention_bias"):
            add(f"{at}.self_attn.o_proj.bias", hidden)
        if family in ("qwen3", "qwen3_moe", "gemma3_text"):
            add(f"{at}.self_attn.q_norm.weight", size)
            add(f"{at}.self_attn.k_norm.weight", size)
        if tiny.has_experts(layer):
            add_experts(tiny, at, add)
        else:
            add_inner(f"{at}.mlp", inner)
        if family == "phi3":
            joined([f"{at}.self_attn.{name}_proj.weight" for name in rows], f"{at}.self_attn.qkv_proj.weight")
            joined([f"{at}.mlp.{name}_proj.weight" for name in ("gate", "up")], f"{at}.mlp.gate_up_proj.weight")
        add(f"{at}.input_layernorm.weight", hidden)
        add(f"{at}.post_attention_layernorm.weight", hidden)
        if tiny.has_norms_behind:
            add(f"{at}.pre_feedforward_layernorm.weight", hidden)
            add(f"{at}.post_feedforward_layernorm.weight", hidden)
    add("model.norm.weight", hidden)
    if not config["tie_word_embeddings"]:
        add("lm_head.weight", config["vocab_size"], hidden)
    return tiny


def add_experts(tiny: Tiny, at: str, add: Callable[..., None]) -> None:
    """A router and its experts, each apart; Qwen 2 has one more that all tokens take."""
    config, hidden = tiny.config, tiny.config["hidden_size"]
    width = config.get("moe_intermediate_size", config["intermediate_size"])
    names = expert_names(tiny)
    add(f"{at}.{names['router']}.weight", tiny.experts, hidden)
    parts = [(names["expert"].format(expert), width) for expert in range(tiny.experts)]
    if tiny.family == "qwen2_moe":
        parts.append(("mlp.shared_expert", config["shared_expert_intermediate_size"]))
        add(f"{at}.mlp.shared_expert_gate.weight", 1, hidden)
    for part, size in parts:
        own = names if part != "mlp.shared_expert" else QWEN_EXPERTS
        add(f"{at}.{part}.{own['gate']}.weight", size, hidden)
        add(f"{at}.{part}.{own['up']}.weight", size, hidden)
        add(f"{at}.{part}.{own['down']}.weight", hidden, size)


QWEN_EXPERTS = {"router": "mlp.gate", "expert": "mlp.experts.{}", "gate": "gate_proj", "up": "up_proj", "down": "down_proj"}
MIXTRAL_EXPERTS = {"router": "block_sparse_moe.gate", "expert": "block_sparse_moe.experts.{}", "gate": "w1", "up": "w3",
                   "down": "w2"}


def expert_names(tiny: Tiny) -> dict[str, str]:
    return MIXTRAL_EXPERTS if tiny.family == "mixtral" else QWEN_EXPERTS


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
    size = int(tiny.head_size * tiny.config.get("partial_rotary_factor", 1))
    inverse = 1 / tiny.config["rope_theta"] ** (np.arange(0, size, 2) / size)
    scaling = tiny.config.get("rope_scaling")
    if scaling is None:
        return inverse
    if scaling["type" if "type" in scaling else "rope_type"] == "longrope":
        return inverse / np.array(scaling["short_factor"])
    wavelength = 2 * np.pi / inverse
    trained, low, high = (scaling["original_max_position_embeddings"], scaling["low_freq_factor"],
                          scaling["high_freq_factor"])
    smooth = np.clip((trained / wavelength - low) / (high - low), 0, 1)
    return (1 - smooth) * inverse / scaling["factor"] + smooth * inverse


def turn_scale(tiny: Tiny) -> float:
    """The scale of sines and cosines: LongRoPE's is that of the ratio of both contexts."""
    trained = tiny.config.get("original_max_position_embeddings")
    if trained is None:
        return 1.0
    return float(np.sqrt(1 + np.log(tiny.config["max_position_embeddings"] / trained) / np.log(trained)))


def turned(x: np.ndarray, tiny: Tiny, local: bool = False) -> np.ndarray:
    """x [tokens, heads, size], of which the first numbers may turn alone."""
    size = x.shape[-1]
    turns = tiny.config["rope_local_base_freq"] ** (-np.arange(0, size, 2) / size) if local else frequencies(tiny)
    angles = np.outer(np.arange(len(x)), turns)
    angles = np.concatenate([angles, angles], -1)[:, None]
    half = len(turns)
    x, rest = x[..., : 2 * half], x[..., 2 * half:]
    moved = x * np.cos(angles) + np.concatenate([-x[..., half:], x[..., :half]], -1) * np.sin(angles)
    return np.concatenate([moved * turn_scale(tiny), rest], -1)


def attended(q: np.ndarray, k: np.ndarray, v: np.ndarray, hidden: np.ndarray, scale: float, cap: float | None) -> np.ndarray:
    """Attention of [tokens, heads, size] each: [tokens, heads * size]."""
    share = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, share, 1), np.repeat(v, share, 1)
    scores = capped(np.einsum("qhd,khd->hqk", q, k) / np.sqrt(scale), cap)
    scores[:, hidden] = -np.inf
    scores = np.exp(scores - scores.max(-1, keepdims=True))
    scores /= scores.sum(-1, keepdims=True)
    return np.einsum("hqk,khd->qhd", scores, v).reshape(len(q), -1)


def silu(x: np.ndarray) -> np.ndarray:
    return x / (1 + np.exp(-x))


def mixed(x: np.ndarray, tiny: Tiny, at: str, linear: Callable[[np.ndarray, str], np.ndarray]) -> np.ndarray:
    """What the experts of each token make of it, by their shares."""
    names, config = expert_names(tiny), tiny.config

    def expert(x: np.ndarray, part: str, own: dict[str, str]) -> np.ndarray:
        inner = silu(linear(x, f"{at}.{part}.{own['gate']}")) * linear(x, f"{at}.{part}.{own['up']}")
        return linear(inner, f"{at}.{part}.{own['down']}")

    scores = linear(x, f"{at}.{names['router']}")
    likely = np.exp(scores - scores.max(-1, keepdims=True))
    likely /= likely.sum(-1, keepdims=True)
    y = np.zeros_like(x)
    for token, row in enumerate(likely):
        best = np.argsort(-row)[: config["num_experts_per_tok"]]
        is_normalized = tiny.family == "mixtral" or config.get("norm_topk_prob")
        for chosen in best:
            share = row[chosen] / (row[best].sum() if is_normalized else 1)
            y[token] += share * expert(x[token], names["expert"].format(chosen), names)
    if tiny.family == "qwen2_moe":
        share = 1 / (1 + np.exp(-linear(x, f"{at}.mlp.shared_expert_gate")))
        y += share * expert(x, "mlp.shared_expert", QWEN_EXPERTS)
    return y


def capped(x: np.ndarray, cap: float | None) -> np.ndarray:
    return cap * np.tanh(x / cap) if cap else x


def gelu(x: np.ndarray) -> np.ndarray:
    return x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))) / 2


def gpt2_logits(tiny: Tiny, ids: list[int]) -> np.ndarray:
    config = tiny.config
    weights = {name.removeprefix("transformer."): values.astype(np.float64) for name, values in tiny.weights.items()}
    count = len(ids)
    x = weights["wte.weight"][ids] + weights["wpe.weight"][:count]
    hidden = np.arange(count)[:, None] < np.arange(count)[None]

    def normed(x: np.ndarray, name: str) -> np.ndarray:
        x = x - x.mean(-1, keepdims=True)
        return norm(x, weights[f"{name}.weight"], config["layer_norm_epsilon"]) + weights[f"{name}.bias"]

    def linear(x: np.ndarray, name: str) -> np.ndarray:
        return x @ weights[f"{name}.weight"] + weights[f"{name}.bias"]

    for layer in range(config["n_layer"]):
        at = f"h.{layer}"
        parts = np.split(linear(normed(x, f"{at}.ln_1"), f"{at}.attn.c_attn"), 3, -1)
        q, k, v = (part.reshape(count, config["n_head"], -1) for part in parts)
        x = x + linear(attended(q, k, v, hidden, tiny.head_size, None), f"{at}.attn.c_proj")
        x = x + linear(gelu(linear(normed(x, f"{at}.ln_2"), f"{at}.mlp.c_fc")), f"{at}.mlp.c_proj")
    return normed(x, "ln_f") @ weights["wte.weight"].T


def layer_kinds(tiny: Tiny) -> list[str]:
    """Which layers see a window, by the families' defaults."""
    if "layer_types" in tiny.config:
        return list(tiny.config["layer_types"])
    pattern = {"gemma2": 2, "gemma3_text": 6}.get(tiny.family, 1 << 20)
    return ["full_attention" if (i + 1) % pattern == 0 else "sliding_attention" for i in range(tiny.layers)]


def logits_of(tiny: Tiny, ids: list[int]) -> np.ndarray:
    """Logits of the token behind each of `ids`: [tokens, vocabulary]."""
    if tiny.family == "gpt2":
        return gpt2_logits(tiny, ids)
    config, weights = tiny.config, {name: values.astype(np.float64) for name, values in tiny.weights.items()}
    count, size, epsilon = len(ids), tiny.head_size, config["rms_norm_eps"]
    distance = np.arange(count)[:, None] - np.arange(count)[None]
    is_gemma = tiny.family.startswith("gemma")
    x = weights["model.embed_tokens.weight"][ids] * (np.sqrt(config["hidden_size"]) if is_gemma else 1)
    if is_gemma:  # a norm's weight is what is added to 1
        weights |= {name: values + 1 for name, values in weights.items() if values.ndim == 1 and "norm" in name}
    scale = config.get("query_pre_attn_scalar", size)
    turns = config.get("no_rope_layers") or [1] * tiny.layers

    def linear(x: np.ndarray, name: str) -> np.ndarray:
        return x @ weights[f"{name}.weight"].T + weights.get(f"{name}.bias", 0.0)

    def heads(x: np.ndarray, at: str) -> list[np.ndarray]:
        if tiny.family == "phi3":
            rows = [config["num_attention_heads"] * size, tiny.key_heads * size]
            parts = np.split(linear(x, f"{at}.qkv_proj"), np.cumsum(rows), -1)
        else:
            parts = [linear(x, f"{at}.{name}_proj") for name in "qkv"]
        return [part.reshape(count, -1, size) for part in parts]

    def inner(x: np.ndarray, layer: str, index: int) -> np.ndarray:
        if tiny.has_experts(index):
            return mixed(x, tiny, layer, linear)
        at = f"{layer}.mlp"
        if tiny.family == "phi3":
            gate, up = np.split(linear(x, f"{at}.gate_up_proj"), 2, -1)
        else:
            gate, up = linear(x, f"{at}.gate_proj"), linear(x, f"{at}.up_proj")
        return linear((gelu(gate) if is_gemma else silu(gate)) * up, f"{at}.down_proj")

    for layer, kind in enumerate(layer_kinds(tiny)):
        at = f"model.layers.{layer}"
        is_local = kind == "sliding_attention"
        hidden = (distance < 0) | (distance >= ((is_local and config.get("sliding_window")) or count))
        y = norm(x, weights[f"{at}.input_layernorm.weight"], epsilon)
        q, k, v = heads(y, f"{at}.self_attn")
        if f"{at}.self_attn.q_norm.weight" in weights:
            q = norm(q, weights[f"{at}.self_attn.q_norm.weight"], epsilon)
            k = norm(k, weights[f"{at}.self_attn.k_norm.weight"], epsilon)
        if turns[layer]:
            q, k = (turned(part, tiny, tiny.family == "gemma3_text" and is_local) for part in (q, k))
        seen = attended(q, k, v, hidden, scale, config.get("attn_logit_softcapping"))
        seen = linear(seen, f"{at}.self_attn.o_proj")
        middle = weights[f"{at}.post_attention_layernorm.weight"]
        x = x + (norm(seen, middle, epsilon) if tiny.has_norms_behind else seen)
        y = norm(x, weights[f"{at}.pre_feedforward_layernorm.weight"] if tiny.has_norms_behind else middle, epsilon)
        product = inner(y, at, layer)
        behind = weights.get(f"{at}.post_feedforward_layernorm.weight")
        x = x + (norm(product, behind, epsilon) if behind is not None else product)
    x = norm(x, weights["model.norm.weight"], epsilon)
    table = weights["model.embed_tokens.weight" if config["tie_word_embeddings"] else "lm_head.weight"]
    return capped(x @ table.T, config.get("final_logit_softcapping"))


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
