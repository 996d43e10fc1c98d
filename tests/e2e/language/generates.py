#!/usr/bin/env python3
"""Folders of language models become packages, and `sluice generate` writes what plain numpy computes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
from eventually import HANG_S, eventually  # noqa: E402
from report import first_wrong_refusal, run_cases  # noqa: E402
from tiny_models import Tiny, greedy, logits_of, make, make_gpt2, save  # noqa: E402

from harness.sluice_cli import binary, run_command, run_model  # noqa: E402

PROMPT = [1, 50, 7, 23, 88, 4, 61]
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 16}
GEMMA3 = {"hidden_act": None, "hidden_activation": "gelu_pytorch_tanh", "query_pre_attn_scalar": 20, "sliding_window": 4,
          "rope_theta": 1e6, "rope_local_base_freq": 10000.0,
          "layer_types": ["sliding_attention", "full_attention", "sliding_attention"], "attn_logit_softcapping": None}
GEMMA2 = {"hidden_act": None, "hidden_activation": "gelu_pytorch_tanh", "query_pre_attn_scalar": 20, "sliding_window": 4,
          "tie_word_embeddings": True, "attn_logit_softcapping": 2.0, "final_logit_softcapping": 3.0}
PHI3 = {"sliding_window": 6, "partial_rotary_factor": 0.75, "original_max_position_embeddings": 300,
        "rope_scaling": {"type": "longrope", "short_factor": [1.0, 1.1, 1.3, 1.5, 2.0, 3.0], "long_factor": [4.0] * 6}}
EXPERTS = {"num_experts": 6, "num_experts_per_tok": 2, "moe_intermediate_size": 40, "norm_topk_prob": True}
MODELS: dict[str, Callable[[], Tiny]] = {
    "llama": lambda: make("llama"),
    "llama in bf16, tied, llama3's rotation": lambda: make("llama", "BF16", tie_word_embeddings=True, rope_scaling=LLAMA3),
    "llama with biases, in f16": lambda: make("llama", "F16", attention_bias=True),
    "mistral with a window": lambda: make("mistral", sliding_window=5),
    "qwen2": lambda: make("qwen2", "BF16"),
    "qwen3 with wide heads": lambda: make("qwen3", head_dim=32, tie_word_embeddings=True),
    "gemma": lambda: make("gemma", head_dim=32, tie_word_embeddings=True, hidden_act="gelu_pytorch_tanh"),
    "mixtral": lambda: make("mixtral", num_local_experts=4, num_experts_per_tok=2, sliding_window=None),
    "qwen2 with experts, in bf16": lambda: make(
        "qwen2_moe", "BF16", **(EXPERTS | {"norm_topk_prob": False}), shared_expert_intermediate_size=48),
    "qwen3 with experts in some layers, in f16": lambda: make(
        "qwen3_moe", "F16", head_dim=32, **EXPERTS, decoder_sparse_step=1, mlp_only_layers=[1]),
    "gemma 2": lambda: make("gemma2", head_dim=32, **GEMMA2),
    "gpt2": make_gpt2,
    "gpt2 in bf16, with another inner width": lambda: make_gpt2("BF16", n_inner=96),
    "phi3": lambda: make("phi3", **PHI3),
    "smollm3 in f16": lambda: make("smollm3", "F16", no_rope_layers=[1, 0, 1], use_sliding_window=False),
    "gemma 3": lambda: make("gemma3_text", head_dim=32, tie_word_embeddings=True, **GEMMA3),
}


def generate(model: Path, ids: list[int], *options: str) -> list[int]:
    printed = run_command("generate", model, "--ids", ",".join(map(str, ids)), "--threads", "1", *options)
    return [int(word) for word in printed.split()]


def agrees(tiny: Tiny, folder: Path) -> str:
    """Logits of a prompt in one run, and the tokens that follow, one by one."""
    package = folder / "tiny.sluice"
    run_command("compile", save(tiny, folder / "tiny"), "-o", package)
    state = np.zeros((3, tiny.key_heads, 32, tiny.head_size), np.float32)
    count = len(PROMPT)
    feeds = {"ids": np.array(PROMPT), "positions": np.arange(count), "sequences": np.zeros(count, np.int64),
             "tables": np.array([[2, 0]]), "last": np.array([count - 1])}
    for layer in range(tiny.layers):
        feeds |= {f"state.keys.{layer}": state, f"state.values.{layer}": state}
    logits = run_model(package, feeds, ["logits"])["logits"][0]
    expected = logits_of(tiny, PROMPT)[-1]
    off = np.abs(logits - expected).max() / np.abs(expected).max()
    if not off <= 1e-4:
        return f"logits are off by {off:.1e} of the largest"
    tokens, wanted = generate(package, PROMPT, "--max-tokens", "40"), greedy(tiny, PROMPT, 40)
    return "" if tokens == wanted else f"the tokens are {tokens}, not {wanted}"


def long_prompts(folder: Path) -> str:
    """More than one run of a prompt, and a cache that grows while tokens follow."""
    tiny = make("llama", seed=3, num_hidden_layers=2)
    model = save(tiny, folder / "tiny", shards=3)
    for length in (254, 530):
        prompt = np.random.default_rng(length).integers(0, 96, length).tolist()
        tokens, wanted = generate(model, prompt, "--max-tokens", "6"), greedy(tiny, prompt, 6)
        if tokens != wanted:
            return f"after {length} tokens follow {tokens}, not {wanted}"
    return ""


def ends(folder: Path) -> str:
    """At a token that ends texts, at --max-tokens, and at the context."""
    tiny = make("llama", seed=2)
    plain = greedy(tiny, PROMPT, 12)
    tiny.config["eos_token_id"] = [5, plain[6]]
    model = save(tiny, folder / "stops")
    stops = plain[: plain.index(plain[6])]
    if (tokens := generate(model, PROMPT)) != stops:
        return f"a text that ends at {plain[6]} is {tokens}, not {stops}"
    (model / "generation_config.json").write_text(json.dumps({"eos_token_id": 5}))
    if (tokens := generate(model, PROMPT, "--max-tokens", "12")) != plain:
        return f"generation_config.json comes first: {tokens}, not {plain}"
    tiny.config |= {"eos_token_id": 96, "max_position_embeddings": len(PROMPT) + 4}
    if (tokens := generate(save(tiny, folder / "context"), PROMPT)) != plain[:4]:
        return f"a context of 4 more gives {tokens}, not {plain[:4]}"
    return ""


def samples(folder: Path) -> str:
    """Draws repeat with their seed; a model's advice is followed unless an option says otherwise."""
    tiny = make("llama", seed=4)
    model = save(tiny, folder / "tiny")
    draw = ("--max-tokens", "30", "--temperature", "1.5", "--seed")
    first = generate(model, PROMPT, *draw, "1")
    if generate(model, PROMPT, *draw, "1") != first or generate(model, PROMPT, *draw, "2") == first:
        return "tokens do not follow from the seed"
    wanted = greedy(tiny, PROMPT, 30)
    if generate(model, PROMPT, *draw, "1", "--top-k", "1") != wanted:
        return "the likeliest token alone is not drawn"
    (model / "generation_config.json").write_text(json.dumps({"do_sample": True, "temperature": 1.5, "top_k": 0}))
    if generate(model, PROMPT, "--max-tokens", "30", "--seed", "1") != first:
        return "the advice of generation_config.json is not followed"
    if generate(model, PROMPT, "--max-tokens", "30", "--temperature", "0") != wanted:
        return "an option does not replace the advice"
    return ""


def foretells(folder: Path) -> str:
    """The perplexity of a text is that of numpy's probabilities, in windows that begin anew."""
    tokenizer = small_tokenizer()
    tiny = make("llama", seed=6, vocab_size=tokenizer.get_vocab_size(), max_position_embeddings=40)
    model, text = save(tiny, folder / "tiny"), folder / "text"
    tokenizer.save(str(model / "tokenizer.json"))
    text.write_text("the dog sat on the mat \u4e2d and saw the cat: " * 8)
    ids = tokenizer.encode(text.read_text()).ids
    windows = [ids[at : at + 40] for at in range(0, len(ids) - 1, 40)]
    logs = []
    for window in windows:
        logits = logits_of(tiny, window)[:-1]
        logits -= logits.max(-1, keepdims=True)
        logs.extend((logits - np.log(np.exp(logits).sum(-1, keepdims=True)))[np.arange(len(window) - 1), window[1:]])
    wanted = np.exp(-np.mean(logs))
    for kept, off in (("f32", 1e-4), ("int8", 0.02)):
        words = run_command("generate", model, "--perplexity", text, "--kv-cache", kept).split(" ", 2)
        if words[2] != f"of {len(logs)} tokens in {len(windows)} windows of 40\n":
            return f"{kept}: it says {words}"
        if abs(float(words[1]) / wanted - 1) > off:
            return f"{kept}: {words[1]}, expected {wanted:.4f}"
    (folder / "short").write_text("t")
    return first_wrong_refusal("generate", [
        ((model, "--perplexity", folder / "short"), "short: the text has 1 token: none is foretold"),
        ((model, "--perplexity", folder / "none"), "none"),
        ((model, "text", "--perplexity", text), "--perplexity takes the text of its file, and no prompt"),
    ])


def keeps_files(folder: Path) -> str:
    """The tokenizer's files lie in the package as they are, and it runs as one without them does."""
    tiny = make("qwen2", seed=5)
    model, package = save(tiny, folder / "tiny"), folder / "tiny.sluice"
    files = {"tokenizer.json": b'{"model":{"type":"BPE"}}', "chat_template.jinja": b"{{ messages }}"}
    for name, data in files.items():
        (model / name).write_bytes(data)
    run_command("compile", model, "-o", package)
    sections = {section["name"]: section for section in json.loads(run_command("inspect", package, "--json"))["sections"]}
    for name, data in files.items():
        section = sections[f"file/{name}"]
        start = section["offset_bytes"]
        if package.read_bytes()[start : start + section["size_bytes"]] != data:
            return f"{name} is another in the package"
    return "" if generate(package, PROMPT, "--max-tokens", "5") == greedy(tiny, PROMPT, 5) else "the tokens changed"


def small_tokenizer() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=300, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    tokenizer.train_from_iterator(["the cat sat on the mat, the dog saw the cat: \u00e9\u4e2d\u6587"] * 4, trainer)
    return tokenizer


def speaks(folder: Path) -> str:
    """A prompt of text is answered by what the same tokens say, from the folder and from a package."""
    tokenizer = small_tokenizer()
    tiny = make("llama", seed=6, vocab_size=tokenizer.get_vocab_size())
    model, package = save(tiny, folder / "tiny"), folder / "tiny.sluice"
    tokenizer.save(str(model / "tokenizer.json"))
    run_command("compile", model, "-o", package)
    prompt = "the cat \u4e2d\u6587 sat"
    tokens = greedy(tiny, tokenizer.encode(prompt).ids, 40)
    said = tokenizer.decode(tokens)
    stop = said[len(said) // 2:][:3]
    settings = {"presence": 1.5, "frequency": -0.5, "bias": {tokens[3]: -100.0, tokens[0]: 1.25}}
    steered = tokenizer.decode(greedy(tiny, tokenizer.encode(prompt).ids, 40, **settings))
    steer = ("--presence-penalty", "1.5", "--frequency-penalty", "-0.5", "--logit-bias", f"{tokens[3]}=-100",
             "--logit-bias", f"{tokens[0]}=1.25")
    word = tokenizer.decode(tokens[14:15])  # of a whole character
    bad = [tokenizer.encode(text).ids for text in (word, " " + word)]
    without = tokenizer.decode(greedy(tiny, tokenizer.encode(prompt).ids, 40, bad=bad))
    if said in (steered, without):
        return "the settings change nothing: choose others"
    for given, options, expected in [(model, (), said), (package, (), said),
                                     (package, ("--stop", "no such text", "--stop", stop), said.partition(stop)[0]),
                                     (package, steer, steered), (package, ("--bad-word", word), without)]:
        text = run_command("generate", given, prompt, "--max-tokens", "40", "--threads", "1", *options)
        if text != expected + "\n":
            return f"{given.name} {options}: {text!r}, not {expected!r}"
    return ""


def eight_bits(folder: Path) -> str:
    """Weights in 8 bits: a smaller package, and mostly the same tokens."""
    tiny = make("llama", "BF16", hidden_size=256, intermediate_size=512, num_attention_heads=4)
    model = save(tiny, folder / "tiny")
    sizes = {}
    for weights in ("f32", "int8"):
        package = folder / f"{weights}.sluice"
        run_command("compile", model, "-o", package, "--weights", weights, "--packed-only")
        sizes[weights] = package.stat().st_size
        expected = greedy(tiny, PROMPT, 1)
        if generate(package, PROMPT, "--max-tokens", "1") != expected:
            return f"the first token in {weights} is not {expected}"
    return "" if sizes["int8"] < 0.7 * sizes["f32"] else f"packages of {sizes}"


def keeps_keys_in_fewer_bits(folder: Path) -> str:
    """No token is more than a rounding less likely than the best one; ONNX files have no such option."""
    tiny = make("llama", seed=9)
    prompt = np.random.default_rng(8).integers(0, 96, 70).tolist()
    model = save(tiny, folder / "tiny")
    for kept, state in (("f16", "f16[P,2,32,16]"), ("int8", "i8[P,2,32,20]")):
        package = folder / f"{kept}.sluice"
        run_command("compile", model, "-o", package, "--kv-cache", kept)
        if f'"{state}"' not in (inspected := run_command("inspect", package, "--json")):
            return inspected
        for given, options in ((package, ()), (model, ("--kv-cache", kept))):
            tokens = generate(given, prompt, "--max-tokens", "20", *options)
            rows = logits_of(tiny, prompt + tokens)[len(prompt) - 1:-1]
            behind = max(row.max() - row[token] for row, token in zip(rows, tokens, strict=True))
            if len(tokens) != 20 or behind > 0.02 * np.abs(rows).max():
                return f"{given.name}: a token is {behind:.1e} behind the likeliest"
    return first_wrong_refusal("compile", [
        (("examples/digits/digits.onnx", "--kv-cache", "f16"), "--kv-cache is for folders and GGUF files"),
        ((model, "--kv-cache", "int2"), "--kv-cache"),
    ])


def families_are_rounded(folder: Path) -> str:
    """Weights in 8 bits and keys in 16 or 8 cost no family more than a little of the likeliest token's lead."""
    prompt = np.random.default_rng(8).integers(0, 96, 40).tolist()
    for name in ("gemma 2", "gemma 3", "gpt2", "phi3", "smollm3 in f16", "mixtral", "qwen2 with experts, in bf16"):
        tiny = MODELS[name]()
        model = save(tiny, folder / name)
        for kept in ("f16", "int8"):
            tokens = generate(model, prompt, "--max-tokens", "8", "--weights", "int8", "--kv-cache", kept)
            rows = logits_of(tiny, prompt + tokens)[len(prompt) - 1:-1]
            behind = max(row.max() - row[token] for row, token in zip(rows, tokens, strict=True))
            if len(tokens) != 8 or behind > 0.25 * np.abs(rows).max():
                return f"{name}, {kept}: a token is {behind:.1e} behind the likeliest of {np.abs(rows).max():.1e}"
    return ""


def an_interrupt_ends_a_long_prompt(folder: Path) -> str:
    """The prompt takes minutes; Ctrl-C ends it within the run of the model that it meets."""
    tiny = make("llama", seed=7, max_position_embeddings=200000)
    package = folder / "tiny.sluice"
    run_command("compile", save(tiny, folder / "tiny"), "-o", package)
    prompt = ",".join(map(str, np.random.default_rng(1).integers(0, 10, 60000)))  # fits into one argument
    ids = ["--ids", prompt, "--threads", "1"]
    with subprocess.Popen([binary(), "generate", package, *ids], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as run:
        eventually(lambda: catches_interrupts(run.pid))
        run.send_signal(signal.SIGINT)
        printed, errors = run.communicate(timeout=HANG_S)
    if run.returncode != 0 or printed != "\n" or "interrupted" not in errors:
        return f"{run.returncode}: {printed!r} {errors!r}"
    return ""


def catches_interrupts(process: int) -> bool:
    status = Path(f"/proc/{process}/status").read_text()
    caught = int(status.partition("SigCgt:")[2].split()[0], 16)
    return bool(caught >> (signal.SIGINT - 1) & 1)


def refuses(folder: Path) -> str:
    tiny = make("llama", max_position_embeddings=10)
    model = save(tiny, folder / "tiny")
    (folder / "empty").mkdir()
    scaled = save(make("gemma2", head_dim=32, **GEMMA2, logit_scale=2.0), folder / "scaled")
    both = save(make("gemma2", head_dim=32, **GEMMA2, use_bidirectional_attention=True), folder / "both")
    greedy_router = save(make("qwen3_moe", **(EXPERTS | {"num_experts_per_tok": 7})), folder / "greedy router")
    uneven = make("mixtral", num_local_experts=4, num_experts_per_tok=2)
    del uneven.weights["model.layers.1.block_sparse_moe.experts.3.w2.weight"]
    lacking = save(uneven, folder / "lacking")
    longer = save(make("phi3", **PHI3), folder / "longer")
    short = (model, "--ids", "1,2,3")
    return first_wrong_refusal("generate", [
        ((model,), "the prompt is empty: give the prompt as a text or by --ids"),
        ((model, "text", "--ids", "1"), "and not both"),
        ((*short, "--stop", "."), "--stop is for a prompt of text"),
        ((*short, "--bad-word", "a"), "--bad-word is for a prompt of text"),
        ((*short, "--logit-bias", "5"), "--logit-bias: \"5\" is not ID=BIAS"),
        ((*short, "--logit-bias", "5=a"), "--logit-bias: \"5=a\" is not ID=BIAS"),
        ((*short, "--logit-bias", "97=1"), "logit_bias has the id 97; the model has tokens 0 to 96"),
        ((*short, "--presence-penalty", "3"), "presence_penalty is 3; it takes -2 to 2"),
        ((model, "text"), "the model has no tokenizer.json"),
        ((*short, "--max-tokens", "8"), "the prompt has 3 tokens and 8 may follow; the model's context has 10"),
        ((model, "--ids", ",".join("1" * 11)), "the prompt has 11 tokens"),
        ((model, "--ids", "1,97"), "the prompt has the id 97; the model has tokens 0 to 96"),
        ((model, "--ids", "1,x"), '"x" is not the id of a token'),
        ((*short, "--top-p", "2"), "top_p is 2"),
        ((*short, "--temperature", "-1"), "temperature is -1"),
        ((folder / "empty", "--ids", "1"), "config.json"),
        ((greedy_router, "--ids", "1"), "num_experts_per_tok: 7 of 6 experts"),
        ((lacking, "--ids", "1"), 'weight "model.layers.1.block_sparse_moe.experts.3.w2.weight" is missing'),
        ((scaled, "--ids", "1"), "logit_scale: this setting is not known"),
        ((both, "--ids", "1"), "use_bidirectional_attention: true is not supported"),
        ((longer, "--ids", ",".join("1" * 301)), "the model's context has 300"),
        (("examples/digits/digits.onnx", "text"), "the model generates no text"),
    ])


def main() -> int:
    cases = {name: (lambda folder, made=made: agrees(made(), folder)) for name, made in MODELS.items()}
    return run_cases({**cases, "long prompts": long_prompts, "ends": ends, "samples": samples, "foretells": foretells,
                      "keeps files": keeps_files, "speaks": speaks, "eight bits": eight_bits,
                      "keys in fewer bits": keeps_keys_in_fewer_bits, "families are rounded": families_are_rounded,
                      "Ctrl-C": an_interrupt_ends_a_long_prompt, "refuses": refuses})


if __name__ == "__main__":
    sys.exit(main())
