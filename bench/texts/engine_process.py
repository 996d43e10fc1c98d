"""A process that generates texts by one engine's Python package, and prints its figures as JSON.

    PYTHON engine_process.py ENGINE MODEL --threads 1 --prompts 128,512 --tokens 32 --sequences 4

Every prompt is new, so that no engine finds it in a cache, and a short text before the first one takes what engines do
once. `seconds` to load are those of the package's call, imports excepted. Tokens per second: `prompts` up to the first
token of the answer, `one` behind it, `many` of several texts of the first length at once, where the package can.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Ids = list[list[int]]
#: Texts of so many tokens behind prompts of one length: the seconds to the first token, and those of the others.
Texts = Callable[[Ids, int], tuple[float, float]]


def sluice_texts(model: Path, threads: int, fresh: Callable[[int, int], Ids]) -> tuple[float, Texts]:
    del fresh
    import sluice

    began = time.perf_counter()
    loaded = sluice.load(model, threads=threads)
    load_s = time.perf_counter() - began

    def texts(prompts: Ids, tokens: int) -> tuple[float, float]:
        (ids,) = prompts
        began = time.perf_counter()
        with loaded.generate(ids, max_tokens=tokens, temperature=0) as text:
            next(text)
            first, begun_with = time.perf_counter(), len(text.tokens)
            for _ in text:
                pass
            rest = time.perf_counter() - first
            return first - began, rest * (tokens - 1) / max(len(text.tokens) - begun_with, 1)

    return load_s, texts


def onnxruntime_texts(model: Path, threads: int, fresh: Callable[[int, int], Ids]) -> tuple[float, Texts]:
    del fresh
    import onnxruntime_genai as genai

    began = time.perf_counter()
    config = genai.Config(str(model))
    config.overlay(json.dumps({"model": {"decoder": {"session_options": {"intra_op_num_threads": threads}}}}))
    loaded = genai.Model(config)
    load_s = time.perf_counter() - began

    def texts(prompts: Ids, tokens: int) -> tuple[float, float]:
        params = genai.GeneratorParams(loaded)
        length = len(prompts[0]) + tokens
        params.set_search_options(batch_size=len(prompts), max_length=length, min_length=length, do_sample=False)
        generator = genai.Generator(loaded, params)
        began = time.perf_counter()
        generator.append_tokens(np.array(prompts, np.int32).squeeze())
        generator.generate_next_token()
        first = time.perf_counter()
        for _ in range(tokens - 1):
            generator.generate_next_token()
        return first - began, time.perf_counter() - first

    return load_s, texts


def openvino_texts(model: Path, threads: int, fresh: Callable[[int, int], Ids]) -> tuple[float, Texts]:
    import openvino
    import openvino_genai as genai

    began = time.perf_counter()
    pipeline = genai.LLMPipeline(str(model), "CPU", INFERENCE_NUM_THREADS=threads)
    load_s = time.perf_counter() - began

    def seconds(prompts: Ids, tokens: int) -> float:
        inputs = genai.TokenizedInputs(openvino.Tensor(np.array(prompts, np.int64)),
                                       openvino.Tensor(np.ones((len(prompts), len(prompts[0])), np.int64)))
        config = genai.GenerationConfig(max_new_tokens=tokens, ignore_eos=True, do_sample=False, apply_chat_template=False)
        began = time.perf_counter()
        pipeline.generate(inputs, config)
        return time.perf_counter() - began

    def texts(prompts: Ids, tokens: int) -> tuple[float, float]:
        """Two runs: the package says of several texts only when they are whole."""
        first = seconds(prompts, 1)
        whole = seconds(fresh(len(prompts), len(prompts[0])), tokens) if tokens > 1 else first
        return first, whole - first

    return load_s, texts


ENGINES = {"sluice": sluice_texts, "onnxruntime": onnxruntime_texts, "openvino": openvino_texts}


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    seeds = itertools.count()

    def fresh(count: int, length: int) -> Ids:
        return [np.random.default_rng(next(seeds)).integers(3, 1000, length).tolist() for _ in range(count)]

    load_s, texts = ENGINES[arguments.engine](arguments.model, arguments.threads, fresh)
    texts(fresh(1, 16), 2)
    figures: dict[str, Any] = {"load_s": load_s, "prompts": {}}
    for length in arguments.prompts:
        is_first = length == arguments.prompts[0]
        first, rest = texts(fresh(1, length), arguments.tokens + 1 if is_first else 1)
        figures["prompts"][length] = length / first
        if is_first:
            figures["one"] = arguments.tokens / rest
    if arguments.sequences > 1:
        _, rest = texts(fresh(arguments.sequences, arguments.prompts[0]), arguments.tokens + 1)
        figures["many"] = arguments.sequences * arguments.tokens / rest
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engine", choices=ENGINES)
    parser.add_argument("model", type=Path)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--prompts", type=lambda text: [int(word) for word in text.split(",")], default=[128])
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--sequences", type=int, default=1, help="1: only one text at a time")
    print(json.dumps(measure(parser.parse_args())))


if __name__ == "__main__":
    main()
