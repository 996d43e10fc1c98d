"""Files of ggml's format GGUF, written from its description, and tables of random blocks with what they stand for."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from tiny_models import Tiny, Weights, expert_names, stored, turn_scale

PLAIN = {"F32": 0, "F16": 1, "BF16": 30}
NAMES = {
    "model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output", "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
    "post_attention_layernorm": "ffn_norm", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down", "self_attn.qkv_proj": "attn_qkv", "mlp.gate_up_proj": "ffn_up",
}
NORMS_BEHIND = {"pre_feedforward_layernorm": "ffn_norm", "post_attention_layernorm": "post_attention_norm",
                "post_feedforward_layernorm": "post_ffw_norm"}
GPT2 = {"wte": "token_embd", "wpe": "position_embd", "ln_f": "output_norm", "ln_1": "attn_norm", "attn.c_attn": "attn_qkv",
        "attn.c_proj": "attn_output", "ln_2": "ffn_norm", "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down"}
ARCHITECTURES = {"gemma3_text": "gemma3", "mixtral": "llama", "qwen2_moe": "qwen2moe", "qwen3_moe": "qwen3moe"}
EXPERTS = {"mlp.gate": "ffn_gate_inp", "mlp.experts.gate_proj": "ffn_gate_exps", "mlp.experts.up_proj": "ffn_up_exps",
           "mlp.experts.down_proj": "ffn_down_exps", "mlp.shared_expert_gate": "ffn_gate_inp_shexp",
           "mlp.shared_expert.gate_proj": "ffn_gate_shexp", "mlp.shared_expert.up_proj": "ffn_up_shexp",
           "mlp.shared_expert.down_proj": "ffn_down_shexp"}
Table = tuple[bytes, np.ndarray]  # of a file, and the weights in f32


def value(of: Any) -> bytes:
    """A value behind its type."""
    if isinstance(of, bool):
        return struct.pack("<IB", 7, of)
    if isinstance(of, np.int32):
        return struct.pack("<Ii", 5, of)
    if isinstance(of, int):
        return struct.pack("<II", 4, of)
    if isinstance(of, float):
        return struct.pack("<If", 6, of)
    if isinstance(of, str):
        return struct.pack("<I", 8) + text(of)
    kind = value(of[0])[:4] if of else struct.pack("<I", 4)
    return struct.pack("<I", 9) + kind + struct.pack("<Q", len(of)) + b"".join(value(item)[4:] for item in of)


def text(of: str) -> bytes:
    data = of.encode()
    return struct.pack("<Q", len(data)) + data


def write(path: Path, metadata: dict[str, Any], tensors: dict[str, tuple[int, tuple[int, ...], bytes]],
          version: int = 3, alignment: int = 32) -> Path:
    """`tensors`: type, dimensions from the outermost on, bytes."""
    if alignment != 32:
        metadata = metadata | {"general.alignment": alignment}
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(metadata))
    head += b"".join(text(key) + value(of) for key, of in metadata.items())
    data = bytearray()
    for name, (kind, dims, content) in tensors.items():
        data += bytes(-len(data) % alignment)
        head += text(name) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims[::-1], kind, len(data))
        data += content
    with path.open("wb") as file:
        file.write(head + bytes(-len(head) % alignment))
        file.write(data)
    return path


def half(values: np.ndarray) -> np.ndarray:
    return values.astype("<f2")


def packed(numbers: np.ndarray) -> np.ndarray:
    """[.., 32] of 4 bits: the first sixteen are the low halves."""
    return (numbers[..., :16] | numbers[..., 16:] << 4).astype(np.uint8)


def fifths(numbers: np.ndarray) -> np.ndarray:
    """The fifth bits of [.., 32], four bytes."""
    return np.packbits((numbers >> 4 & 1).astype(np.uint8), axis=-1, bitorder="little")


def joined(*parts: np.ndarray) -> bytes:
    """Blocks of the parts' bytes, the last axis of each."""
    return np.concatenate([np.ascontiguousarray(part).view(np.uint8) for part in parts], axis=-1).tobytes()


def simple(bits: int, has_least: bool, rows: int, columns: int, random: np.random.Generator) -> Table:
    """Q4_0, Q4_1, Q5_0, Q5_1 and Q8_0: 32 numbers with a scale, and perhaps the weight of a 0."""
    shape = (rows, columns // 32)
    numbers = random.integers(0, 1 << bits, (*shape, 32))
    scales = half(random.uniform(0.5, 1.5, (*shape, 1)) * 5 / np.sqrt(columns) / (1 << bits))
    leasts = half(-scales.astype(np.float32) * random.uniform(0.4, 0.6, (*shape, 1)) * (1 << bits))
    scales[0, 0] = 0  # a block of zeros, or of one number
    zero = 0 if has_least else 1 << bits - 1
    weights = scales.astype(np.float32) * (numbers - zero).astype(np.float32)
    parts = [scales]
    if has_least:
        weights = weights + leasts.astype(np.float32)
        parts.append(leasts)
    if bits == 8:
        parts.append((numbers - 128).astype(np.int8))
    else:
        parts += [fifths(numbers)] if bits == 5 else []
        parts.append(packed(numbers & 15))
    return joined(*parts), weights.reshape(rows, columns)


def k_scales(scales: np.ndarray, leasts: np.ndarray) -> np.ndarray:
    """Eight of each, of 6 bits, in 12 bytes."""
    out = np.zeros((*scales.shape[:-1], 12), np.uint8)
    out[..., :4] = scales[..., :4] | scales[..., 4:] >> 4 << 6
    out[..., 4:8] = leasts[..., :4] | leasts[..., 4:] >> 4 << 6
    out[..., 8:] = (scales[..., 4:] & 15) | (leasts[..., 4:] & 15) << 4
    return out


def k_blocks(bits: int, rows: int, columns: int, random: np.random.Generator) -> Table:
    """Q4_K and Q5_K: eight groups of 32."""
    shape = (rows, columns // 256)
    numbers = random.integers(0, 1 << bits, (*shape, 8, 32))
    scales, leasts = random.integers(0, 64, (2, *shape, 8))
    scale = half(np.full((*shape, 1), 5 / np.sqrt(columns) / (1 << bits) / 32))
    least = half(scale.astype(np.float32) * (1 << bits - 1))
    weights = (scale.astype(np.float32) * scales)[..., None] * numbers - (least.astype(np.float32) * leasts)[..., None]
    parts = [scale, least, k_scales(scales, leasts)]
    if bits == 5:
        high = numbers >> 4 & 1
        parts.append((high << np.arange(8)[:, None]).sum(-2).astype(np.uint8))
    low = numbers & 15
    parts.append((low[..., 0::2, :] | low[..., 1::2, :] << 4).astype(np.uint8).reshape(*shape, 128))
    return joined(*parts), weights.astype(np.float32).reshape(rows, columns)


def q6_k(rows: int, columns: int, random: np.random.Generator) -> Table:
    """Sixteen groups of 16."""
    shape = (rows, columns // 256)
    numbers = random.integers(0, 64, (*shape, 256))
    scales = random.integers(-128, 128, (*shape, 16)).astype(np.int8)
    scale = half(np.full((*shape, 1), 5 / np.sqrt(columns) / 64 / 64))
    weights = (scale.astype(np.float32) * scales)[..., None] * (numbers - 32).reshape(*shape, 16, 16)
    low = (numbers & 15).reshape(*shape, 2, 2, 64)
    high = (numbers >> 4).reshape(*shape, 2, 4, 32)
    lows = (low[..., 0, :] | low[..., 1, :] << 4).astype(np.uint8).reshape(*shape, 128)
    highs = (high << np.array([0, 2, 4, 6])[:, None]).sum(-2).astype(np.uint8).reshape(*shape, 64)
    return joined(lows, highs, scales, scale), weights.astype(np.float32).reshape(rows, columns)


def two_bits(numbers: np.ndarray) -> np.ndarray:
    """[.., 256] of 2 bits: in 32 bytes 128 of them, the lowest bits the first 32."""
    parts = (numbers & 3).reshape(*numbers.shape[:-1], 2, 4, 32)
    return (parts << np.array([0, 2, 4, 6])[:, None]).sum(-2).astype(np.uint8).reshape(*numbers.shape[:-1], 64)


def q2_k(rows: int, columns: int, random: np.random.Generator) -> Table:
    """Sixteen groups of 16, with scales and leasts of 4 bits."""
    shape = (rows, columns // 256)
    numbers = random.integers(0, 4, (*shape, 256))
    scales, leasts = random.integers(0, 16, (2, *shape, 16))
    scale = half(np.full((*shape, 1), 5 / np.sqrt(columns) / 4 / 8))
    least = half(scale.astype(np.float32) * 1.5)
    weights = ((scale.astype(np.float32) * scales)[..., None] * numbers.reshape(*shape, 16, 16)
               - (least.astype(np.float32) * leasts)[..., None])
    packed_scales = (scales | leasts << 4).astype(np.uint8)
    return joined(packed_scales, two_bits(numbers), scale, least), weights.astype(np.float32).reshape(rows, columns)


def q3_k(rows: int, columns: int, random: np.random.Generator) -> Table:
    """Sixteen groups of 16, with scales of 6 bits."""
    shape = (rows, columns // 256)
    numbers = random.integers(0, 8, (*shape, 256))
    scales = random.integers(0, 64, (*shape, 16))
    scale = half(np.full((*shape, 1), 5 / np.sqrt(columns) / 8 / 16))
    weights = (scale.astype(np.float32) * (scales - 32))[..., None] * (numbers - 4).reshape(*shape, 16, 16)
    thirds = ((numbers >> 2).reshape(*shape, 8, 32) << np.arange(8)[:, None]).sum(-2).astype(np.uint8)
    lows = (scales[..., :8] & 15 | (scales[..., 8:] & 15) << 4).astype(np.uint8)
    highs = ((scales >> 4).reshape(*shape, 4, 4) << np.array([0, 2, 4, 6])[:, None]).sum(-2).astype(np.uint8)
    return joined(thirds, two_bits(numbers), lows, highs, scale), weights.astype(np.float32).reshape(rows, columns)


IQ4 = np.array([-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113], np.float32)
FP4 = np.array([0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12], np.float32) / 2


def iq4_nl(rows: int, columns: int, random: np.random.Generator) -> Table:
    shape = (rows, columns // 32)
    numbers = random.integers(0, 16, (*shape, 32))
    scales = half(random.uniform(0.5, 1.5, (*shape, 1)) * 5 / np.sqrt(columns) / 256)
    return joined(scales, packed(numbers)), (scales.astype(np.float32) * IQ4[numbers]).reshape(rows, columns)


def iq4_xs(rows: int, columns: int, random: np.random.Generator) -> Table:
    """Eight groups of 32, with scales of 6 bits."""
    shape = (rows, columns // 256)
    numbers = random.integers(0, 16, (*shape, 8, 32))
    scales = random.integers(0, 64, (*shape, 8))
    scale = half(np.full((*shape, 1), 5 / np.sqrt(columns) / 256 / 16))
    weights = (scale.astype(np.float32) * (scales - 32))[..., None] * IQ4[numbers]
    highs = ((scales >> 4) << np.arange(0, 16, 2)).sum(-1, keepdims=True).astype("<u2")
    lows = (scales[..., 0::2] & 15 | (scales[..., 1::2] & 15) << 4).astype(np.uint8)
    parts = [scale, highs, lows, packed(numbers).reshape(*shape, 128)]
    return joined(*parts), weights.astype(np.float32).reshape(rows, columns)


def mxfp4(rows: int, columns: int, random: np.random.Generator) -> Table:
    """Floats of 4 bits, and a power of two as the scale."""
    shape = (rows, columns // 32)
    numbers = random.integers(0, 16, (*shape, 32))
    scales = (random.integers(122, 125, (*shape, 1)) - round(np.log2(columns) / 2 - 3)).astype(np.uint8)
    weights = np.ldexp(FP4[numbers], scales.astype(np.int32) - 127)
    return joined(scales, packed(numbers)), weights.astype(np.float32).reshape(rows, columns)


BLOCKS: dict[str, tuple[int, Callable[[int, int, np.random.Generator], Table]]] = {
    "Q4_0": (2, lambda *of: simple(4, False, *of)), "Q4_1": (3, lambda *of: simple(4, True, *of)),
    "Q5_0": (6, lambda *of: simple(5, False, *of)), "Q5_1": (7, lambda *of: simple(5, True, *of)),
    "Q8_0": (8, lambda *of: simple(8, False, *of)), "Q4_K": (12, lambda *of: k_blocks(4, *of)),
    "Q5_K": (13, lambda *of: k_blocks(5, *of)), "Q6_K": (14, q6_k), "Q2_K": (10, q2_k), "Q3_K": (11, q3_k),
    "IQ4_NL": (20, iq4_nl), "IQ4_XS": (23, iq4_xs), "MXFP4": (39, mxfp4),
}


def with_blocks(tiny: Tiny, kind: str, seed: int = 1) -> dict[str, bytes]:
    """Gives the model's matrices random blocks; their bytes by the weights' names."""
    random = np.random.default_rng(seed)
    content = {}
    stacks = with_stacks(tiny)
    for name in stacks if tiny.experts else ():
        if ".experts." in name:
            fill_stack(tiny, name, kind, random, content)
    for name, weights in tiny.weights.items():
        if weights.ndim == 2 and name in stacks and "gate.weight" not in name:
            content[name], tiny.weights[name] = BLOCKS[kind][1](*weights.shape, random)
    return content


def fill_stack(tiny: Tiny, stack: str, kind: str, random: np.random.Generator, content: dict[str, bytes]) -> None:
    """Random blocks for all experts of a layer."""
    names = expert_names(tiny)
    layer, part = stack.split(".")[2], stack.split(".")[-2].removesuffix("_proj")
    each = [f"model.layers.{layer}.{names['expert'].format(expert)}.{names[part]}.weight" for expert in range(tiny.experts)]
    tables = [BLOCKS[kind][1](*tiny.weights[name].shape, random) for name in each]
    content[stack] = b"".join(data for data, _ in tables)
    for name, (_, weights) in zip(each, tables, strict=True):
        tiny.weights[name] = weights


def gpt2_keys(config: dict[str, Any]) -> dict[str, Any]:
    return {"context_length": config["n_positions"], "embedding_length": config["n_embd"], "block_count": config["n_layer"],
            "feed_forward_length": config.get("n_inner") or 4 * config["n_embd"], "attention.head_count": config["n_head"],
            "attention.layer_norm_epsilon": config["layer_norm_epsilon"]}


def family_keys(tiny: Tiny) -> dict[str, Any]:
    """What an architecture has besides those of Llama."""
    config = tiny.config
    keys: dict[str, Any] = {}
    for name in ("attn_logit_softcapping", "final_logit_softcapping"):
        keys |= {name: config[name]} if config.get(name) else {}
    if config.get("sliding_window"):
        keys["attention.sliding_window"] = config["sliding_window"]
    if tiny.experts:
        keys |= {"expert_count": tiny.experts, "expert_used_count": config["num_experts_per_tok"]}
        for name, theirs in (("moe_intermediate_size", "expert_feed_forward_length"),
                             ("shared_expert_intermediate_size", "expert_shared_feed_forward_length")):
            keys |= {theirs: config[name]} if name in config else {}
    if (config.get("rope_scaling") or {}).get("type") == "longrope":
        keys |= {"rope.scaling.original_context_length": config["original_max_position_embeddings"],
                 "rope.scaling.attn_factor": turn_scale(tiny)}
    return keys


def settings(tiny: Tiny) -> dict[str, Any]:
    config, family = tiny.config, ARCHITECTURES.get(tiny.family, tiny.family)
    keys = gpt2_keys(config) if family == "gpt2" else {
        "context_length": config["max_position_embeddings"], "embedding_length": config["hidden_size"],
        "block_count": config["num_hidden_layers"], "feed_forward_length": config["intermediate_size"],
        "attention.head_count": config["num_attention_heads"], "attention.head_count_kv": config["num_key_value_heads"],
        "attention.layer_norm_rms_epsilon": config["rms_norm_eps"], "rope.freq_base": config["rope_theta"],
        "attention.key_length": tiny.head_size, "attention.value_length": tiny.head_size,
        "rope.dimension_count": int(tiny.head_size * config.get("partial_rotary_factor", 1)), **family_keys(tiny),
    }
    return {"general.architecture": family, "general.name": "tiny", "tokenizer.ggml.eos_token_id": config["eos_token_id"],
            **{f"{family}.{key}": of for key, of in keys.items()}}


def in_pairs(name: str, weights: np.ndarray, tiny: Tiny) -> np.ndarray:
    """The rows of a Llama's queries and keys: the numbers that turn together are neighbours."""
    if tiny.family not in ("llama", "mixtral", "smollm3") or not name.endswith(("q_proj", "k_proj")):
        return weights
    size = tiny.head_size
    return weights.reshape(-1, 2, size // 2, *weights.shape[1:]).swapaxes(1, 2).reshape(weights.shape)


def name_of(name: str, tiny: Tiny) -> tuple[str, str]:
    """The file's name of a weight, and the stem that transformers has for it."""
    names = NAMES | EXPERTS | (NORMS_BEHIND if tiny.has_norms_behind else GPT2 if tiny.family == "gpt2" else {})
    stem, _, end = name.removeprefix("transformer.").rpartition(".")
    parts = stem.replace("model.layers.", "h.").split(".")
    if parts[0] == "h":
        stem = ".".join(parts[2:])
        return f"blk.{parts[1]}.{names[stem]}.{end}", stem
    return f"{names[stem]}.{end}", stem


def converted(stem: str, weights: np.ndarray, tiny: Tiny) -> np.ndarray:
    """Norms of Gemma have the 1 that is added, and products of GPT-2 are [out, in]."""
    if tiny.family.startswith("gemma") and weights.ndim == 1 and "norm" in stem:
        return weights + np.float32(1)
    if tiny.family == "gpt2" and weights.ndim == 2 and ".c_" in stem:
        return np.ascontiguousarray(weights.T)
    return weights


def with_stacks(tiny: Tiny) -> Weights:
    """The weights, those of a layer's experts as one tensor, by the names of Qwen."""
    names, stacks = expert_names(tiny), {}
    weights = dict(tiny.weights)
    for layer in range(tiny.layers if tiny.experts else 0):
        at = f"model.layers.{layer}"
        if f"{at}.{names['router']}.weight" not in weights:
            continue
        weights[f"{at}.mlp.gate.weight"] = weights.pop(f"{at}.{names['router']}.weight")
        for part in ("gate", "up", "down"):
            each = [f"{at}.{names['expert'].format(expert)}.{names[part]}.weight" for expert in range(tiny.experts)]
            stacks[f"{at}.mlp.experts.{part}_proj.weight"] = np.stack([weights.pop(name) for name in each])
    return weights | stacks


def save(tiny: Tiny, path: Path, blocks: tuple[str, dict[str, bytes]] = ("", {}), changes: dict[str, Any] | None = None,
         extra: Weights | None = None, **options: Any) -> Path:
    """`blocks`: their kind, and the bytes that with_blocks gave. `changes`: of metadata; None leaves a key out. Norms and
    biases are in f32, as in published files."""
    tensors = {}
    for name, weights in with_stacks(tiny).items():
        theirs, stem = name_of(name, tiny)
        weights = converted(stem, weights, tiny)
        if name in blocks[1]:
            rows = np.frombuffer(blocks[1][name], np.uint8).reshape(*weights.shape[:-1], -1)
            tensors[theirs] = (BLOCKS[blocks[0]][0], weights.shape, in_pairs(stem, rows, tiny).tobytes())
        else:
            element = tiny.element if weights.ndim > 1 else "F32"
            tensors[theirs] = (PLAIN[element], weights.shape, stored(in_pairs(stem, weights, tiny), element))
    for name, weights in (extra or {}).items():
        tensors[name] = (0, weights.shape, weights.astype(np.float32).tobytes())
    metadata = {key: of for key, of in (settings(tiny) | (changes or {})).items() if of is not None}
    return write(path, metadata, tensors, **options)
