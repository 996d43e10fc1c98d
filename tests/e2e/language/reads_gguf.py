#!/usr/bin/env python3
"""GGUF files say what plain numpy computes, and what a folder with the same weights, tokenizer and template says."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gguf_files
import numpy as np
from chats import TEMPLATE, Conversation, chat, make_tokenizer
from generates import EXPERTS, GEMMA2, GEMMA3, LLAMA3, PHI3, PROMPT, generate
from gguf_files import BLOCKS, with_blocks
from report import first_wrong_refusal, run_cases
from tiny_models import Tiny, frequencies, greedy, logits_of, make, make_gpt2, save

from harness.sluice_cli import binary, run_command, run_model

WIDE = {"hidden_size": 256, "intermediate_size": 256, "num_hidden_layers": 2}
MODELS: dict[str, Callable[[], Tiny]] = {
    "llama": lambda: make("llama"),
    "llama in bf16, tied": lambda: make("llama", "BF16", tie_word_embeddings=True),
    "llama with biases, in f16": lambda: make("llama", "F16", attention_bias=True),
    "qwen2": lambda: make("qwen2", "BF16"),
    "qwen3 with wide heads": lambda: make("qwen3", head_dim=32, tie_word_embeddings=True),
    "mixtral": lambda: make("mixtral", num_local_experts=4, num_experts_per_tok=2),
    "qwen2 with experts": lambda: make(
        "qwen2_moe", "BF16", **(EXPERTS | {"norm_topk_prob": False}), shared_expert_intermediate_size=48),
    "qwen3 with experts": lambda: make("qwen3_moe", "F16", head_dim=32, **EXPERTS),
    "gemma": lambda: make("gemma", head_dim=32, tie_word_embeddings=True, hidden_act="gelu_pytorch_tanh"),
    "gemma 2 in bf16": lambda: make("gemma2", "BF16", head_dim=20, **GEMMA2),
    "gpt2": make_gpt2,
    "gpt2 in f16": lambda: make_gpt2("F16"),
    "phi3": lambda: make("phi3", **(PHI3 | {"rope_scaling": None, "original_max_position_embeddings": None})),
    "smollm3": lambda: make("smollm3", num_hidden_layers=4, no_rope_layers=[1, 1, 1, 0]),
}
TEXTS = ["the cat sat", "  two  spaces", "\u00e9\u4e2d\u6587 \U0001f600", "a\n\nb 12345", "<s>the</s> dog", "", "don't WE'LL"]


def agrees(tiny: Tiny, file: Path, folder: Path) -> str:
    """The logits of a prompt, and the tokens of the file and of a folder with the same weights."""
    package = folder / "tiny.sluice"
    run_command("compile", file, "-o", package)
    state = np.zeros((3, tiny.key_heads, 32, tiny.head_size), np.float32)
    count = len(PROMPT)
    feeds = {"ids": np.array(PROMPT), "positions": np.arange(count), "sequences": np.zeros(count, np.int64),
             "tables": np.array([[2, 0]]), "last": np.array([count - 1])}
    for layer in range(tiny.layers):
        feeds |= {f"state.keys.{layer}": state, f"state.values.{layer}": state}
    logits, expected = run_model(package, feeds, ["logits"])["logits"][0], logits_of(tiny, PROMPT)[-1]
    off = np.abs(logits - expected).max() / np.abs(expected).max()
    if not off <= 1e-4:
        return f"logits are off by {off:.1e} of the largest"
    wanted = greedy(tiny, PROMPT, 20)
    for model in (file, package, save(tiny, folder / "tiny")):
        if (tokens := generate(model, PROMPT, "--max-tokens", "20")) != wanted:
            return f"{model.name}: the tokens are {tokens}, not {wanted}"
    return ""


def plain(made: Callable[[], Tiny], folder: Path) -> str:
    tiny = made()
    return agrees(tiny, gguf_files.save(tiny, folder / "tiny.gguf"), folder)


def blocks(kind: str, folder: Path) -> str:
    """Blocks of all matrices, the table of the tokens too; once of Llama, whose rows lie in pairs, and once tied."""
    for family in ("llama", "qwen3"):
        tiny = make(family, tie_word_embeddings=family == "qwen3", **WIDE)
        file = gguf_files.save(tiny, folder / f"{family}.gguf", (kind, with_blocks(tiny, kind)))
        if problem := agrees(tiny, file, folder):
            return f"{family}: {problem}"
    return ""


def blocks_of_experts(folder: Path) -> str:
    for kind in ("Q4_0", "Q4_K", "Q6_K"):
        tiny = make("qwen3_moe", **WIDE, **(EXPERTS | {"moe_intermediate_size": 256}))
        file = gguf_files.save(tiny, folder / f"{kind}.gguf", (kind, with_blocks(tiny, kind)))
        if problem := agrees(tiny, file, folder):
            return f"{kind}: {problem}"
    return ""


def eight_bits(folder: Path) -> str:
    """--weights int8 rounds the rows that meet blocks, and says mostly the same."""
    for kind in ("Q4_0", "Q4_K", "Q8_0"):
        tiny = make("llama", **WIDE)
        file = gguf_files.save(tiny, folder / f"{kind}.gguf", (kind, with_blocks(tiny, kind)))
        if generate(file, PROMPT, "--max-tokens", "1", "--weights", "int8") != greedy(tiny, PROMPT, 1):
            return f"{kind}: another first token"
    return ""


def turns_slower(folder: Path) -> str:
    """Llama 3's rotation is a tensor of factors; the linear one is a key."""
    tiny = make("llama", rope_scaling=LLAMA3)
    bare = make("llama")
    extra = {"rope_freqs.weight": (frequencies(bare) / frequencies(tiny)).astype(np.float32)}
    if problem := agrees(tiny, gguf_files.save(tiny, folder / "tiny.gguf", extra=extra), folder):
        return problem
    linear = {"llama.rope.scaling.type": "linear", "llama.rope.scaling.factor": 4.0}
    tiny = make("llama", rope_scaling={"rope_type": "linear", "factor": 4.0})
    tokens = generate(gguf_files.save(tiny, folder / "linear.gguf", changes=linear), PROMPT, "--max-tokens", "20")
    wanted = generate(save(tiny, folder / "linear"), PROMPT, "--max-tokens", "20")
    return "" if tokens == wanted else f"linear: {tokens}, not {wanted}"


def turns_by_layers(folder: Path) -> str:
    """Gemma 3's layers with windows turn by a theta of their own, Phi's by short factors, which are tensors."""
    gemma = make("gemma3_text", head_dim=20, num_hidden_layers=6, tie_word_embeddings=True,
                 **{name: of for name, of in GEMMA3.items() if name != "layer_types"})
    for name in ("gemma", "phi"):
        (folder / name).mkdir()
    if problem := agrees(gemma, gguf_files.save(gemma, folder / "gemma.gguf"), folder / "gemma"):
        return problem
    phi = make("phi3", **PHI3)
    extra = {f"rope_factors_{name}.weight": np.array(PHI3["rope_scaling"][f"{name}_factor"]) for name in ("short", "long")}
    return agrees(phi, gguf_files.save(phi, folder / "phi.gguf", extra=extra), folder / "phi")


def versions(folder: Path) -> str:
    """Version 2, and another alignment."""
    tiny = make("llama", "F16")
    for options in ({"version": 2}, {"alignment": 256}, {"alignment": 8}):
        file = gguf_files.save(tiny, folder / "tiny.gguf", **options)
        if (tokens := generate(file, PROMPT, "--max-tokens", "8")) != greedy(tiny, PROMPT, 8):
            return f"{options}: {tokens}"
    return ""


def vocabulary_keys(tokenizer: Any) -> dict[str, Any]:
    """The keys of a tokenizer of bytes, as llama.cpp's converter writes them."""
    written = json.loads(tokenizer.to_str())
    special = {token["id"] for token in written["added_tokens"] if token["special"]}
    pieces = [tokenizer.id_to_token(i) for i in range(tokenizer.get_vocab_size())]
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in written["model"]["merges"]]
    return {"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "gpt-2", "tokenizer.ggml.tokens": pieces,
            "tokenizer.ggml.token_type": [3 if i in special else 1 for i in range(len(pieces))],
            "tokenizer.ggml.merges": merges, "tokenizer.ggml.bos_token_id": tokenizer.token_to_id("<s>"),
            "tokenizer.ggml.eos_token_id": tokenizer.token_to_id("</s>"), "tokenizer.chat_template": TEMPLATE}


def converses(folder: Path) -> str:
    """`sluice chat` and a prompt of text."""
    tokenizer = make_tokenizer()
    tiny = make("llama", seed=8, vocab_size=tokenizer.get_vocab_size(), eos_token_id=tokenizer.token_to_id("</s>"))
    model = gguf_files.save(tiny, folder / "tiny.gguf", changes=vocabulary_keys(tokenizer))
    wanted = Conversation(tiny, tokenizer)
    said = [wanted.answer("the cat"), wanted.answer(" saw? ")]
    run = chat(model, ["the cat", " saw? "])
    if run.returncode != 0 or run.stdout != "".join(text + "\n" for text in said):
        return f"{run.stdout!r} {run.stderr!r}, not {said}"
    printed = run_command("generate", model, "the dog", "--max-tokens", "9", "--threads", "1")
    wanted_text = tokenizer.decode(greedy(tiny, tokenizer.encode("the dog").ids, 9))
    return "" if printed == wanted_text + "\n" else f"{printed!r}, not {wanted_text!r}"


def packed_tokenizer(file: Path, folder: Path) -> Path:
    """The tokenizer.json that the compiler made of a file."""
    package, path = folder / "tokens.sluice", folder / "tokenizer.json"
    run_command("compile", file, "-o", package)
    sections = {section["name"]: section for section in json.loads(run_command("inspect", package, "--json"))["sections"]}
    section = sections["file/tokenizer.json"]
    path.write_bytes(package.read_bytes()[section["offset_bytes"]:][:section["size_bytes"]])
    return path


def tokenized(path: Path, given: list[Any], *flags: str) -> list[Any]:
    """Ids of texts, or with --decode texts of ids."""
    lines = "".join(json.dumps(item) + "\n" for item in given)
    run = subprocess.run([binary(), "tokenize", path, "--json-lines", *flags], input=lines, capture_output=True, text=True,
                         check=True)
    return [json.loads(line) for line in run.stdout.split("\n")[:-1]]


def tokenizes(folder: Path) -> str:
    """`sluice tokenize` reads the file, a package of it, and the folder it stands for, alike."""
    tokenizer = make_tokenizer()
    tiny = make("llama", seed=8, vocab_size=tokenizer.get_vocab_size())
    file, package = folder / "tiny.gguf", folder / "tiny.sluice"
    gguf_files.save(tiny, file, changes=vocabulary_keys(tokenizer))
    run_command("compile", file, "-o", package)
    messages = [{"role": "user", "content": " the cat "}]
    for path in (file, package):
        if (ids := tokenized(path, TEXTS)) != [tokenizer.encode(text).ids for text in TEXTS]:
            return f"{path.name}: {ids}"
        if (said := tokenized(path, [tokenizer.encode("the dog").ids], "--decode")) != ["the dog"]:
            return f"{path.name}: {said}"
        if (shown := tokenized(path, [messages], "--chat")) != ["<s><user>the cat</s><assistant>"]:
            return f"{path.name}: {shown}"
    cut = folder / "cut.gguf"
    cut.write_bytes(file.read_bytes()[:200])
    bare = gguf_files.save(tiny, folder / "bare.gguf")
    return first_wrong_refusal("tokenize", [((cut, "a"), "the file ends within its header"),
                                            ((bare, "a"), "the model has no tokenizer.json"),
                                            ((folder, "a"), "the model has no tokenizer.json")])


def cuts_words(folder: Path) -> str:
    """Each way to cut words gives the ids of the package `tokenizers`, and says whether a begin stands before them."""
    from tokenizers import Regex, normalizers, pre_tokenizers

    parts = pre_tokenizers
    common = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}%s| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    plain_bytes = parts.ByteLevel(add_prefix_space=False, use_regex=False)
    split = {name: parts.Sequence([parts.Split(Regex(common % most), "isolated"), plain_bytes])
             for name, most in (("llama-bpe", "{1,3}"), ("qwen2", ""))}
    words = parts.ByteLevel(add_prefix_space=False)
    ways = {"gpt-2": (words, False), "smollm": (parts.Sequence([parts.Digits(individual_digits=True), words]), False),
            "llama-bpe": (split["llama-bpe"], True), "qwen2": (split["qwen2"], False)}
    tokenizer = make_tokenizer()
    begin = tokenizer.token_to_id("<s>")
    tiny = make("llama", vocab_size=tokenizer.get_vocab_size(), num_hidden_layers=1)
    for name, (way, has_begin) in ways.items():
        tokenizer.pre_tokenizer = way
        tokenizer.normalizer = normalizers.NFC() if name == "qwen2" else normalizers.Sequence([])
        tokenizer.model.ignore_merges = name == "llama-bpe"
        keys = vocabulary_keys(make_tokenizer()) | {"tokenizer.ggml.pre": name}
        path = packed_tokenizer(gguf_files.save(tiny, folder / "tiny.gguf", changes=keys), folder)
        for text, ids in zip(TEXTS, tokenized(path, TEXTS), strict=True):
            wanted = [begin] * has_begin + tokenizer.encode(text).ids
            if ids != wanted:
                return f"{name}: {text!r} is {ids}, not {wanted}"
    return ""


def pieces_of(text: str, scores: dict[str, float]) -> list[str]:
    """SentencePiece's merges: the neighbours whose whole has the highest score become one, the first of equals."""
    pieces = list(text)
    while True:
        wholes = [(scores.get(a + b, -np.inf), -i) for i, (a, b) in enumerate(zip(pieces, pieces[1:], strict=False))]
        if not wholes or max(wholes)[0] == -np.inf:
            return pieces
        at = -max(wholes)[1]
        pieces[at:at + 2] = [pieces[at] + pieces[at + 1]]


def scored_pieces(folder: Path) -> str:
    """A vocabulary with scores, a space before a text, and bytes for what it lacks."""
    merged = ["\u2581t", "he", "\u2581the", "at", "\u2581c", "\u2581cat", "\u2581s", "\u2581sat", "\u2581\u2581", "do", "og", "dog"]
    letters = sorted(set("the cat sat dog".replace(" ", "\u2581")))
    pieces = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *merged, *letters]
    kinds = [2, 3, 3, *[6] * 256, *[1] * (len(merged) + len(letters))]
    scores = [0.0] * 259 + [-float(i) for i in range(len(merged) + len(letters))]
    keys = {"tokenizer.ggml.model": "llama", "tokenizer.ggml.tokens": pieces, "tokenizer.ggml.token_type": kinds,
            "tokenizer.ggml.scores": scores, "tokenizer.ggml.bos_token_id": 1, "tokenizer.ggml.eos_token_id": 2,
            "tokenizer.ggml.unknown_token_id": 0}
    tiny = make("llama", vocab_size=len(pieces), num_hidden_layers=1)
    known = {piece: scores[id] for id, piece in enumerate(pieces) if kinds[id] == 1}
    for prefix in (True, False):
        file = gguf_files.save(tiny, folder / "tiny.gguf", changes=keys | {"tokenizer.ggml.add_space_prefix": prefix})
        path = packed_tokenizer(file, folder)
        texts = ["the cat sat", "  the  dog", "tho\u00e9 cat\n", "dogcat"]
        for text, ids in zip(texts, tokenized(path, texts), strict=True):
            spelled = ("\u2581" if prefix else "") + text.replace(" ", "\u2581")
            wanted = [1]
            for piece in pieces_of(spelled, known):
                wanted += [pieces.index(piece)] if piece in known else [3 + byte for byte in piece.encode()]
            said = tokenized(path, [ids], "--decode")
            if ids != wanted or said != [text]:
                return f"prefix {prefix}: {text!r} is {ids}, not {wanted}, and says {said}"
    return ""


def refuses(folder: Path) -> str:
    tiny = make("llama", num_hidden_layers=1)
    whole = gguf_files.save(tiny, folder / "whole.gguf").read_bytes()
    cut = folder / "cut.gguf"
    cut.write_bytes(whole[:-40])
    head = folder / "head.gguf"
    head.write_bytes(whole[:300])

    def changed(name: str, **changes: Any) -> Path:
        keys = {key.replace("__", "."): of for key, of in changes.items()}
        return gguf_files.save(tiny, folder / f"{name}.gguf", changes=keys)

    old = gguf_files.save(tiny, folder / "old.gguf", version=1)
    tokens = {"tokenizer__ggml__eos_token_id": None, "tokenizer__ggml__model": "gpt2", "tokenizer__ggml__tokens": ["a", "b"], "tokenizer__ggml__merges": ["a b"]}
    return first_wrong_refusal("generate", [
        ((cut, "--ids", "1"), "the file has"), ((head, "--ids", "1"), "the file ends within its header"),
        ((old, "--ids", "1"), "version 1 is not supported"),
        ((changed("family", general__architecture="gemma9"), "--ids", "1"), 'there is no recipe for "gemma9"'),
        ((changed("key", llama__logit_scale=2.0), "--ids", "1"), "llama.logit_scale: this setting is not known"),
        ((changed("parts", split__count=2), "--ids", "1"), "the model lies in 2 files"),
        ((changed("yarn", llama__rope__scaling__type="yarn"), "--ids", "1"), '"yarn" is not supported'),
        ((changed("experts", llama__expert_count=8), "--ids", "1"), "llama.expert_used_count: missing"),
        ((changed("width", llama__embedding_length=32), "--ids", "1"), "weight \"model.embed_tokens.weight\" is"),
        ((changed("way", **tokens, tokenizer__ggml__pre="mine"), "--ids", "1"), 'the way "mine" to cut words is not known'),
        ((changed("twice", **tokens | {"tokenizer__ggml__tokens": ["a", "a"]}, tokenizer__ggml__pre="gpt-2"), "--ids", "1"),
         'tokens 0 and 1 are both "a"'),
        ((changed("kind", tokenizer__ggml__model="rwkv"), "--ids", "1"), '"rwkv" is not supported'),
        ((changed("bare"), "a text"), "the model has no tokenizer.json"),
    ])


def main() -> int:
    cases: dict[str, Callable[[Path], str]] = {}
    cases |= {name: (lambda folder, made=made: plain(made, folder)) for name, made in MODELS.items()}
    cases |= {kind: (lambda folder, kind=kind: blocks(kind, folder)) for kind in BLOCKS}
    return run_cases({**cases, "blocks of experts": blocks_of_experts, "eight bits": eight_bits, "turns slower": turns_slower, "turns by layers": turns_by_layers, "versions": versions,
                      "converses": converses, "tokenizes": tokenizes, "cuts words": cuts_words, "scored pieces": scored_pieces, "refuses": refuses})


if __name__ == "__main__":
    sys.exit(main())
