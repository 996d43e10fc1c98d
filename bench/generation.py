#!/usr/bin/env python3
"""Tokens per second, load and memory of language models of random weights, beside the memory's speed and other engines.

    .venv/bin/python bench/generation.py                        # a Llama's shape of 1.1B, 4 and 8 bits, 1 and 2 threads
    .venv/bin/python bench/generation.py --shape 135m --weights f32,int8 --tokens 128
    .venv/bin/python bench/generation.py --shape mixture --weights f32,int8 --kv-cache int8 --prompts 1024

    pip download --no-deps --no-binary :all: llama-cpp-python   # llama.cpp, whole: unpack it as SDIST
    cmake -S SDIST/vendor/llama.cpp -B LLAMA -DCMAKE_BUILD_TYPE=Release -DLLAMA_USE_PREBUILT_UI=OFF
    cmake --build LLAMA --target llama-batched-bench llama-server
    python3 -m venv GENAI && GENAI/bin/pip install openvino-genai==2026.4.1.0 onnxruntime-genai==0.18.0
    scripts/torch-env --make                                    # for onnxruntime-genai's builder; prints TORCH
    .venv/bin/python bench/generation.py --llama LLAMA/bin --genai GENAI/bin/python --torch TORCH --write

`q4_0` and `q8_0` are blocks of 32 numbers with a scale in a GGUF file, which Sluice, llama.cpp and OpenVINO GenAI all read;
other weights are of the folder. Files stay in `--folder` (8 GB for 1.1b). A round runs each
engine with each number of threads once, in a new process on the first processors, one after another, and measures what
numpy reads of large arrays before each.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from harness import document, machine, sluice_cli
from texts import engines, folder, speeds

#: Bits that a weight takes in memory with its share of a scale: f16 for 32 numbers in GGUF, f32 in Sluice's packages and the builder's files.
BITS = {"q4_0": 4.5, "q8_0": 8.5, "int4": 5, "int8": 8, "bf16": 16, "f32": 32, "fp32": 32}
SLUICE_BITS = BITS | {"q4_0": 5, "q8_0": 9}


def sluices(arguments: argparse.Namespace, source: Path) -> list[engines.Sluice]:
    made = []
    for weights in arguments.weights.split(","):
        model = engines.gguf_of(source, weights) if weights in engines.gguf_file.ROUNDED else source
        rounding = weights if model == source else "int8"  # of blocks: rows are rounded, too, as by the other engines
        options = ["--packed-only", "--kv-cache", arguments.kv_cache, "--weights", rounding]
        path = source.with_name(f"{source.name}-{weights}-{arguments.kv_cache}.sluice")
        made.append(engines.Sluice(weights, sluice_cli.compile_model(model, path, options=options)))
    return made


def peers(arguments: argparse.Namespace, source: Path) -> list[engines.Engine | engines.Llama]:
    made: list[engines.Engine | engines.Llama] = []
    if arguments.llama:
        made += [engines.Llama(arguments.llama, kind, engines.gguf_of(source, kind)) for kind in ("q4_0", "q8_0")]
    if arguments.genai:
        made.append(engines.Engine("openvino", arguments.genai, "q4_0", engines.gguf_of(source, "q4_0")))
    if arguments.genai and arguments.torch:
        for precision in arguments.builder.split(","):
            path = source.with_name(f"{source.name}-onnxruntime-{precision}")
            made.append(engines.Engine("onnxruntime", arguments.genai, precision, engines.written_by_builder(
                arguments.genai, arguments.torch, source, precision, path)))
    return made


def bits_of(engine: engines.Engine | engines.Llama) -> float:
    return (SLUICE_BITS if isinstance(engine, engines.Sluice) else BITS)[engine.weights]


def file_mb(model: Path) -> float:
    """Megabytes of a file, or of all in a folder."""
    return sum(path.stat().st_size for path in (model.iterdir() if model.is_dir() else [model])) / 1e6


def measure(arguments: argparse.Namespace, source: Path) -> list[speeds.Row]:
    work = engines.Work(arguments.prompts, arguments.tokens, arguments.sequences)
    weights = folder.token_weights(folder.SHAPES[arguments.shape])
    crew = [*sluices(arguments, source), *peers(arguments, source)]
    rows = [(engine, speeds.Row(engine.name, engine.weights, threads, weights * bits_of(engine) / 8e9, file_mb(engine.model)))
            for threads in arguments.threads for engine in crew]
    for number in range(arguments.rounds):
        for engine, row in rows:
            row.reads.append(speeds.read_speed(row.threads))
            row.rounds.append(engine.measure(row.threads, work))
            print(f"round {number + 1}: {row.engine} {row.weights}, {row.threads} threads, memory {row.reads[-1]:.1f} GB/s: "
                  f"{json.dumps(asdict(row.rounds[-1]))}", file=sys.stderr, flush=True)
    return [row for _, row in rows]


def parse_arguments() -> argparse.Namespace:
    def numbers(text: str) -> list[int]:
        return [int(word) for word in text.split(",")]

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", choices=folder.SHAPES, default="1.1b")
    parser.add_argument("--weights", default="q4_0,q8_0", metavar="W,W", help="Sluice's: q4_0, q8_0, int8, bf16, f32")
    parser.add_argument("--kv-cache", default="f16", metavar="T", help="Sluice's keys and values: f32, f16, int8")
    parser.add_argument("--threads", type=numbers, default=[1, 2], metavar="N,N")
    parser.add_argument("--prompts", type=numbers, default=[128, 512], metavar="N,N", help="tokens are written behind the first")
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--sequences", type=int, default=4, help="texts at once, besides one alone")
    parser.add_argument("--rounds", type=int, default=3, help="0 only makes the files")
    parser.add_argument("--llama", type=Path, metavar="FOLDER", help="has llama-batched-bench")
    parser.add_argument("--genai", type=Path, metavar="PYTHON", help="has openvino-genai and onnxruntime-genai")
    parser.add_argument("--torch", type=Path, metavar="FOLDER", help="of scripts/torch-env, for onnxruntime-genai's builder")
    parser.add_argument("--builder", default="int4", metavar="P,P", help="precisions of onnxruntime-genai's files")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/benchmarks.md")
    parser.add_argument("--folder", type=Path, default=sluice_cli.ROOT / "build/bench")
    return parser.parse_args()


def main() -> int:
    arguments = parse_arguments()
    source = folder.make(arguments.shape, arguments.folder / f"texts-{arguments.shape}")
    rows = measure(arguments, source)
    if arguments.rounds == 0:
        return 0
    found = speeds.markdown(rows, arguments.prompts)
    if len({row.engine for row in rows}) > 1:
        found += "\n" + speeds.ratios(rows, arguments.prompts)
    found += (f"\nMemory, GB/s: {speeds.reads(rows)}. {arguments.rounds} rounds, {arguments.tokens} tokens, "
              f"{arguments.sequences} texts at once. {machine.when_and_where()}.\n")
    print(found)
    if arguments.write:
        document.write_table(document.BENCHMARKS, "generation", found)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (sluice_cli.SluiceError, RuntimeError) as error:
        sys.exit(f"generation: {error}")
