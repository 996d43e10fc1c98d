"""Encoders of a few thousand random weights, as folders of Hugging Face's and sentence-transformers' form, and what
they compute: plain numpy in f64, written from BERT's paper and the families' configurations, a text at a time."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from tiny_models import Tiny, rounded, save

WIDTH, INNER, LAYERS, HEADS = 32, 48, 2, 4
CONTEXT = 80
ERF = np.vectorize(math.erf)

NAMES = {
    "bert": {"prefix": "bert.", "layer": "encoder.layer.{}.", "q": "attention.self.query", "k": "attention.self.key",
             "v": "attention.self.value", "o": "attention.output.dense", "on": "attention.output.LayerNorm",
             "i": "intermediate.dense", "u": "output.dense", "un": "output.LayerNorm"},
    "distilbert": {"prefix": "distilbert.", "layer": "transformer.layer.{}.", "q": "attention.q_lin",
                   "k": "attention.k_lin", "v": "attention.v_lin", "o": "attention.out_lin", "on": "sa_layer_norm",
                   "i": "ffn.lin1", "u": "ffn.lin2", "un": "output_layer_norm"},
}
NAMES["roberta"] = {**NAMES["bert"], "prefix": "roberta."}
HEAD = {"bert": ("bert.pooler.dense", "classifier"), "roberta": ("classifier.dense", "classifier.out_proj"),
        "distilbert": ("pre_classifier", "classifier")}


def make_encoder(family: str, vocabulary: int, *, scores: bool = False, bare: bool = False, element: str = "F32",
                 seed: int = 1, **changes: Any) -> Tiny:
    """`scores`: a classifier with one label. `bare`: weights without the family's prefix."""
    first = 2 if family == "roberta" else 0
    if family == "distilbert":
        config: dict[str, Any] = {"dim": WIDTH, "hidden_dim": INNER, "n_layers": LAYERS, "n_heads": HEADS,
                                  "activation": "gelu", "sinusoidal_pos_embds": False, "tie_weights_": True}
    else:
        config = {"hidden_size": WIDTH, "intermediate_size": INNER, "num_hidden_layers": LAYERS,
                  "num_attention_heads": HEADS, "hidden_act": "gelu", "type_vocab_size": 1 if first else 2,
                  "layer_norm_eps": 1e-5, "hidden_dropout_prob": 0.1, "position_embedding_type": "absolute"}
    kind = "ForSequenceClassification" if scores else "Model"
    config |= {"model_type": family, "architectures": ["X" + kind], "vocab_size": vocabulary,
               "max_position_embeddings": CONTEXT + first, "pad_token_id": first // 2}
    if scores:
        config["id2label"] = {"0": "LABEL_0"}
    tiny = Tiny({**config, **changes}, {}, element)
    random = np.random.default_rng(seed)
    names = NAMES[family]
    prefix = "" if bare else names["prefix"]

    def add(name: str, *dims: int, shift: float = 0) -> None:
        values = random.standard_normal(dims) * (0.3 if len(dims) == 1 else 1.5 / np.sqrt(dims[-1])) + shift
        tiny.weights[name] = rounded(values.astype(np.float32), element)

    def linear(name: str, out: int, inner: int) -> None:
        add(f"{name}.weight", out, inner)
        add(f"{name}.bias", out)

    def norm(name: str) -> None:
        add(f"{name}.weight", WIDTH, shift=1)
        add(f"{name}.bias", WIDTH)

    add(f"{prefix}embeddings.word_embeddings.weight", vocabulary, WIDTH)
    add(f"{prefix}embeddings.position_embeddings.weight", CONTEXT + first, WIDTH)
    if "type_vocab_size" in config:
        add(f"{prefix}embeddings.token_type_embeddings.weight", config["type_vocab_size"], WIDTH)
    norm(f"{prefix}embeddings.LayerNorm")
    for layer in range(LAYERS):
        at = prefix + names["layer"].format(layer)
        for part in "qkvo":
            linear(at + names[part], WIDTH, WIDTH)
        linear(at + names["i"], INNER, WIDTH)
        linear(at + names["u"], WIDTH, INNER)
        norm(at + names["on"])
        norm(at + names["un"])
    if scores:
        dense, last = HEAD[family]
        linear(dense, WIDTH, WIDTH)
        linear(last, 1, WIDTH)
    return tiny


def save_encoder(tiny: Tiny, folder: Path, tokenizer: Any, *, pooling: str | None = "pooling_mode_mean_tokens",
                 normalizes: bool = True, max_tokens: int | None = None) -> Path:
    """`pooling` None: no files of sentence-transformers."""
    save(tiny, folder)
    tokenizer.save(str(folder / "tokenizer.json"))
    if pooling is not None:
        modules = ["Transformer", "Pooling"] + ["Normalize"] * normalizes
        (folder / "modules.json").write_text(json.dumps([
            {"idx": i, "name": str(i), "path": f"{i}_{name}" if i else "",
             "type": f"sentence_transformers.models.{name}"} for i, name in enumerate(modules)]))
        (folder / "1_Pooling").mkdir()
        (folder / "1_Pooling" / "config.json").write_text(json.dumps(
            {"word_embedding_dimension": WIDTH, "pooling_mode_cls_token": False, pooling: True}))
    if max_tokens is not None:
        (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": max_tokens, "do_lower_case": False}))
    return folder


def states_of(tiny: Tiny, ids: list[int], types: list[int]) -> np.ndarray:
    """The states of each token behind the last block: [tokens, width]."""
    family = tiny.config["model_type"]
    names = NAMES[family]
    weights = {name: values.astype(np.float64) for name, values in tiny.weights.items()}
    prefix = names["prefix"] if f"{names['prefix']}embeddings.word_embeddings.weight" in weights else ""
    epsilon = tiny.config.get("layer_norm_eps", 1e-12)
    first = 2 if family == "roberta" else 0
    count = len(ids)

    def linear(x: np.ndarray, name: str) -> np.ndarray:
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def norm(x: np.ndarray, name: str) -> np.ndarray:
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred * centred).mean(-1, keepdims=True) + epsilon)
        return scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    x = weights[f"{prefix}embeddings.word_embeddings.weight"][ids]
    x = x + weights[f"{prefix}embeddings.position_embeddings.weight"][first:first + count]
    if "type_vocab_size" in tiny.config:
        x = x + weights[f"{prefix}embeddings.token_type_embeddings.weight"][types]
    x = norm(x, f"{prefix}embeddings.LayerNorm")
    for layer in range(LAYERS):
        at = prefix + names["layer"].format(layer)
        q, k, v = (linear(x, at + names[part]).reshape(count, HEADS, -1) for part in "qkv")
        scores = np.einsum("qhd,khd->hqk", q, k) / np.sqrt(WIDTH // HEADS)
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        scores /= scores.sum(-1, keepdims=True)
        seen = np.einsum("hqk,khd->qhd", scores, v).reshape(count, WIDTH)
        x = norm(x + linear(seen, at + names["o"]), at + names["on"])
        inner = linear(x, at + names["i"])
        inner = np.maximum(inner, 0) if "relu" in tiny.config.values() else inner * (1 + ERF(inner / np.sqrt(2))) / 2
        x = norm(x + linear(inner, at + names["u"]), at + names["un"])
    return x


def vector_of(tiny: Tiny, encoding: Any, pooling: str = "pooling_mode_mean_tokens", normalizes: bool = True) -> np.ndarray:
    """`encoding`: of a text, by the package `tokenizers`."""
    x = states_of(tiny, encoding.ids, encoding.type_ids)
    y = {"pooling_mode_mean_tokens": x.mean(0), "pooling_mode_cls_token": x[0], "pooling_mode_lasttoken": x[-1],
         "pooling_mode_max_tokens": x.max(0)}[pooling]
    return y / np.sqrt((y * y).sum()) if normalizes else y


def score_of(tiny: Tiny, encoding: Any, *, sigmoid: bool = True) -> float:
    """The score of a pair of texts."""
    family = tiny.config["model_type"]
    dense, last = HEAD[family]
    weights = {name: values.astype(np.float64) for name, values in tiny.weights.items()}
    x = states_of(tiny, encoding.ids, encoding.type_ids)[0]
    y = x @ weights[f"{dense}.weight"].T + weights[f"{dense}.bias"]
    y = np.maximum(y, 0) if family == "distilbert" else np.tanh(y)
    score = float(y @ weights[f"{last}.weight"][0] + weights[f"{last}.bias"][0])
    return 1 / (1 + math.exp(-score)) if sigmoid else score


def make_tokenizer(is_roberta: bool = False) -> Any:
    """A tokenizer of some hundred pieces, with special tokens around a text; it pads and cuts as published models do."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["<s>", "[PAD]", "[UNK]", "[CLS]", "[SEP]"] if is_roberta else ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    trainer = trainers.WordPieceTrainer(vocab_size=200, special_tokens=special, show_progress=False)
    tokenizer.train_from_iterator(["the cat sat on the mat, the dog saw the cat and ran: who ran?"] * 4, trainer)
    ends = [(token, tokenizer.token_to_id(token)) for token in ("[CLS]", "[SEP]")]
    second = "$B:0 [SEP]:0" if is_roberta else "$B:1 [SEP]:1"
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair=f"[CLS] $A [SEP] {second}", special_tokens=ends)
    tokenizer.enable_truncation(max_length=16)
    return tokenizer


def plain(tokenizer: Any) -> Any:
    """The same without its truncation, which Sluice does not apply."""
    from tokenizers import Tokenizer

    copy = Tokenizer.from_str(tokenizer.to_str())
    copy.no_truncation()
    copy.no_padding()
    return copy
