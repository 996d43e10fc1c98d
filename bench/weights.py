#!/usr/bin/env python3
"""Products of a decoder with weights of a few bits, beside onnxruntime on the same file.

    .venv/bin/python bench/weights.py                         # the forms below; 1 row and 128
    .venv/bin/python bench/weights.py 8 4@4 --rows 1 --threads 2

A form is the bits of MatMulNBits, `@4` for accuracy_level 4 (the other factor may be rounded to 8 bits), `z` for zero
points: `4@4z`. `qdq8` is DequantizeLinear in blocks of ONNX's own operators. The model is a chain of the two large
products of a decoder of 1.1B parameters (2048 and 5632 wide), `--layers` times: more than the third cache holds.
The processes take turns as in compare.py. `GB/s` are the bytes of weights and scales over Sluice's time, `read` is what
one thread of numpy reads of a large array meanwhile.
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
import time
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from harness import agreement, sluice_cli, workers

WIDTHS = (2048, 5632)
DEFAULT_FORMS = ("8", "8@4", "8z", "4", "4@4", "4@4z", "qdq8")


class Chain:
    """The model of one form."""

    def __init__(self, form: str, rows: int, layers: int, block: int) -> None:
        told = re.fullmatch(r"(qdq)?(4|8)(@4)?(z)?", form)
        if told is None:
            raise SystemExit(f"weights: {form!r} is no form; see --help")
        self.is_standard, self.bits = told[1] is not None, int(told[2])
        self.level, self.has_zeros = 4 if told[3] else 0, told[4] is not None
        self.rows, self.block, self.bytes = rows, block, 0
        self.random = np.random.default_rng(1)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        for layer in range(layers):
            self.add_product(f"l{layer}a", "x" if layer == 0 else f"l{layer - 1}b", *WIDTHS)
            self.add_product(f"l{layer}b", f"l{layer}a", *reversed(WIDTHS))
        self.result = f"l{layers - 1}b"

    def constant(self, name: str, values: np.ndarray) -> str:
        self.constants.append(numpy_helper.from_array(values, name))
        self.bytes += values.nbytes
        return name

    def add_product(self, name: str, source: str, k: int, n: int) -> None:
        blocks = k // self.block
        numbers = self.random.integers(0, 256, (n, blocks, self.block * self.bits // 8), dtype=np.uint8)
        size = 1 / (np.sqrt(k) * (1 << self.bits) / np.sqrt(12))
        scales = (self.random.uniform(0.9, 1.1, (n, blocks)) * size).astype(np.float32)
        names = [self.constant(f"{name}_s", scales)]
        if self.is_standard:
            numbers = numbers.reshape(n, k)
            zeros = np.full((n, blocks), 128, np.uint8)
            inputs = [self.constant(f"{name}_w", numbers), *names, self.constant(f"{name}_z", zeros)]
            self.nodes += [
                helper.make_node("DequantizeLinear", inputs, [f"{name}_d"], axis=1, block_size=self.block),
                helper.make_node("Transpose", [f"{name}_d"], [f"{name}_t"], perm=[1, 0]),
                helper.make_node("MatMul", [source, f"{name}_t"], [name])]
            return
        if self.has_zeros:
            zeros = self.random.integers(6, 10, (n, blocks)) * (16 if self.bits == 8 else 1)
            packed = zeros if self.bits == 8 else zeros[:, ::2] | zeros[:, 1::2] << 4
            names.append(self.constant(f"{name}_z", packed.astype(np.uint8)))
        self.nodes.append(helper.make_node(
            "MatMulNBits", [source, self.constant(f"{name}_w", numbers), *names], [name], domain="com.microsoft", K=k, N=n,
            bits=self.bits, block_size=self.block, accuracy_level=self.level))

    def model(self) -> onnx.ModelProto:
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [self.rows, WIDTHS[0]])
        y = helper.make_tensor_value_info(self.result, TensorProto.FLOAT, [self.rows, WIDTHS[0]])
        opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
        graph = helper.make_graph(self.nodes, "weights", [x], [y], self.constants)
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def read_speed(megabytes: int = 256) -> float:
    """Bytes that a sum of a large array reads in a nanosecond: GB/s."""
    array = np.ones(megabytes << 17, np.float64)
    began = time.perf_counter()
    array.sum()
    return array.nbytes / (time.perf_counter() - began) / 1e9


def measure(form: str, rows: int, threads: int, arguments: argparse.Namespace) -> str:
    chain = Chain(form, rows, arguments.layers, arguments.block)
    path = arguments.folder / f"weights_{form.replace('@', '_')}_{rows}.onnx"
    onnx.save_model(chain.model(), path)
    package = sluice_cli.compile_model(path, path.with_suffix(".sluice"))
    feeds = {"x": np.random.default_rng(2).standard_normal((rows, WIDTHS[0]), dtype=np.float32)}
    error = agreement.error_against(package, feeds, agreement.onnxruntime_outputs(path, feeds))
    inputs = sluice_cli.save_inputs(feeds, arguments.folder / path.stem)
    crew = {"onnxruntime": workers.peer_worker("onnxruntime", [workers.Model(path, inputs)], threads),
            "sluice": workers.sluice_worker([workers.Model(package, inputs)], threads)}
    try:
        for worker in crew.values():
            worker.run(arguments.seconds)
        turns, reads = [], []
        for _ in range(arguments.rounds):
            turns.append({key: worker.run(arguments.seconds)["median_us"] for key, worker in crew.items()})
            reads.append(read_speed())
    finally:
        for worker in crew.values():
            worker.close()
    own = statistics.median(turn["sluice"] for turn in turns)
    ratio = statistics.median(turn["onnxruntime"] / turn["sluice"] for turn in turns)
    size = package.stat().st_size / path.stat().st_size
    for file in (path, package):
        file.unlink()
    return (f"{form:8} {rows:5} {threads:7} {own / 1000:10.2f} {chain.bytes / own / 1000:6.1f} "
            f"{statistics.median(reads):6.1f} {ratio:14.2f}x {size:8.2f} {error:8.0e}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("forms", nargs="*", default=DEFAULT_FORMS, metavar="FORM")
    parser.add_argument("--rows", default="1,128", metavar="N,N")
    parser.add_argument("--threads", default="1,2", metavar="N,N")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--block", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.2)
    parser.add_argument("--folder", type=Path, default=sluice_cli.ROOT / "build/bench")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    print("form      rows threads  Sluice ms   GB/s   read  vs onnxruntime  package    error", flush=True)
    for form in arguments.forms:
        for rows in arguments.rows.split(","):
            for threads in arguments.threads.split(","):
                print(measure(form, int(rows), int(threads), arguments), flush=True)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (sluice_cli.SluiceError, RuntimeError) as error:
        sys.exit(f"weights: {error}")
