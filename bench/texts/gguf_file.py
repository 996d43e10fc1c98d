"""A GGUF file of a folder's weights in blocks of 32 numbers, which every engine for CPUs reads."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from . import folder

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests/e2e/language"))

import gguf_files  # noqa: E402
from tiny_models import Tiny  # noqa: E402


def rounded_q4_0(blocks: np.ndarray) -> bytes:
    """f32 [.., 32]: of each block the number furthest from 0 becomes -8."""
    furthest = np.take_along_axis(blocks, np.abs(blocks).argmax(-1, keepdims=True), -1)
    scales = furthest / np.float32(-8)
    numbers = np.clip(np.rint(divided(blocks, scales)) + 8, 0, 15).astype(np.uint8)
    return gguf_files.joined(gguf_files.half(scales), gguf_files.packed(numbers))


def rounded_q8_0(blocks: np.ndarray) -> bytes:
    scales = np.abs(blocks).max(-1, keepdims=True) / np.float32(127)
    return gguf_files.joined(gguf_files.half(scales), np.rint(divided(blocks, scales)).astype(np.int8))


def divided(blocks: np.ndarray, scales: np.ndarray) -> np.ndarray:
    return np.divide(blocks, scales, out=np.zeros_like(blocks), where=scales != 0)


ROUNDED = {"q4_0": rounded_q4_0, "q8_0": rounded_q8_0}


def as_f32(numbers: np.ndarray) -> np.ndarray:
    """The f32 of bf16 numbers."""
    return (numbers.astype(np.uint32) << 16).view(np.float32)


def write(source: Path, path: Path, kind: str) -> Path:
    """The file, written unless it is there. `source`: a Llama of `folder.make`. All matrices are rounded, the embedding
    and the output, too; norms are f32."""
    if path.exists():
        return path
    config = json.loads((source / "config.json").read_text())
    tokens, merges = folder.vocabulary(config["vocab_size"])
    texts = {"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "gpt-2", "tokenizer.ggml.tokens": tokens,
             "tokenizer.ggml.token_type": [np.int32(1)] * (len(tokens) - 1) + [np.int32(3)],
             "tokenizer.ggml.merges": [" ".join(pair) for pair in merges], "tokenizer.ggml.bos_token_id": len(tokens) - 1,
             "tokenizer.ggml.add_bos_token": False, "tokenizer.chat_template": folder.TEMPLATE,
             "general.file_type": {"q4_0": 2, "q8_0": 7}[kind], "general.quantization_version": 2,
             "llama.vocab_size": len(tokens)}
    weights = {name: of if of.ndim == 2 else as_f32(of) for name, of in folder.read(source).items()}
    blocks = {name: ROUNDED[kind](as_f32(of).reshape(len(of), -1, 32)) for name, of in weights.items() if of.ndim == 2}
    draft = path.with_suffix(".draft")
    gguf_files.save(Tiny(config, weights), draft, blocks=(kind.upper(), blocks), changes=texts)
    return draft.rename(path)
