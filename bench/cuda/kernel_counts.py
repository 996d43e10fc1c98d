#!/usr/bin/env python3
"""What the kernels of networks do on the emulated GPU, beside what they need at least: a proxy for speed without a GPU.

    .venv/bin/python bench/cuda/kernel_counts.py [--networks resnet50,bert_base] [--write]

Runs each network, and the operator cases, once in 32 and in 16 bits. A line of the table is a kernel. Columns:

- writes: the tensor of a launch.
- loads, stores: bytes of the 32-byte sectors that the kernel touches, by those of the tensors that it reads or writes.
  Tiles of products read a tensor several times; caches serve what repeats.
- matrix units: their share of the multiplications of floats.
- conflicts: extra turns per access of a warp to shared memory, because lanes share a bank.
- scattered: share of the accesses of warps to device memory whose sectors hold far more than the lanes ask for.
- instructions: of threads, for each element that is written.
- why: the reason of what is beyond the limits; "?" where none is known.

`--write` puts the lines into the page of counts, and leaves those of other networks.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
import operator_cases
from network_kernels import HOT, NETWORKS, emit, package_of, replace_table, table_of, write_models

from harness.sluice_cli import Arrays, run_model
from networks import NETWORKS as MODELS

BACKEND = "cuda-emulated"
SECTOR = 32
LANES = 32
HEAD = ("| network | kernel | writes | launches | loads | stores | matrix units | conflicts | scattered | "
        "instructions | why |")
#: The columns that do not depend on the compiler.
MEASURES = ("loads", "stores", "matrix units", "conflicts", "scattered")
#: Their first input is a table, of which they read what they write.
LOOKUPS = {"Gather", "GatherND", "GatherElements", "Slice", "Split"}
#: Loads and stores by the minimum, conflicts by access, scattered accesses: what is above has a reason.
MOST = {"loads": 1.3, "stores": 1.3, "conflicts": 0.05, "scattered": 0.05}
#: The least share of matrix units in kernels of HOT operators in 16 bits.
LEAST_MATRIX_SHARE = 0.9
REASONS: dict[tuple[str, str], str] = {
    ("Attention", "loads"): "every block of queries reads the keys",
    ("Attention", "matrix"): "one query",
    ("Attention", "scattered"): "fragments of queries",
    ("Conv", "loads"): "windows and tiles overlap",
    ("Conv", "matrix"): "groups of one channel",
    ("Conv", "scattered"): "short or odd rows of an image",
    ("Conv", "stores"): "short or odd rows of an image",
    ("Gather", "loads"): "every run reads its index",
    ("Gemm", "loads"): "tiles and warps read lines again",
    ("Gemm", "matrix"): "few rows: memory is the limit",
    ("Gemm", "stores"): "a block has half a sector",
    ("GlobalAveragePool", "loads"): "odd rows",
    ("GlobalAveragePool", "scattered"): "odd rows",
    ("GlobalAveragePool", "stores"): "one number by a warp",
    ("LayerNormalization", "loads"): "every row reads scale and bias",
    ("MatMul", "conflicts"): "odd rows",
    ("MatMul", "loads"): "tiles and warps read lines again",
    ("MatMul", "matrix"): "few rows: memory is the limit",
    ("MatMul", "scattered"): "odd rows",
    ("MatMul", "stores"): "odd rows",
    ("MaxPool", "loads"): "windows overlap",
    ("MaxPool", "scattered"): "windows overlap",
    ("ReduceMax", "conflicts"): "a few accesses at the end",
    ("ReduceMean", "stores"): "one number by a warp",
}


class Work(NamedTuple):
    """What a kernel did in all launches, and the bytes of the tensors of these launches."""

    operator: str
    kernel: str
    launches: int
    counts: dict[str, int]
    read_bytes: int
    written_bytes: int
    written_elements: int
    writes: str  #: the type of the first tensor that a launch writes

    @property
    def loads(self) -> float:
        return self.counts["global_load_sectors"] * SECTOR / max(self.read_bytes, 1)

    @property
    def stores(self) -> float:
        return self.counts["global_store_sectors"] * SECTOR / max(self.written_bytes, 1)

    @property
    def traffic(self) -> float:
        sectors = self.counts["global_load_sectors"] + self.counts["global_store_sectors"]
        return sectors * SECTOR / max(self.read_bytes + self.written_bytes, 1)

    @property
    def matrix_share(self) -> float | None:
        """None for a kernel that multiplies nothing."""
        whole = self.counts["matrix_multiplications"] + self.counts["lane_multiplications"]
        return self.counts["matrix_multiplications"] / whole if whole else None

    @property
    def conflicts(self) -> float | None:
        accesses = self.counts["shared_accesses"]
        return self.counts["shared_bank_conflicts"] / accesses if accesses else None

    @property
    def scattered(self) -> float:
        return self.counts["scattered_accesses"] / max(self.counts["global_accesses"], 1)

    @property
    def instructions(self) -> float:
        return self.counts["warp_instructions"] * LANES / max(self.written_elements, 1)


@contextmanager
def machine(text: str) -> Iterator[None]:
    """Describes the emulated machine of commands that run meanwhile."""
    before = os.environ.get("SLUICE_CUDA_EMULATED")
    os.environ["SLUICE_CUDA_EMULATED"] = text
    try:
        yield
    finally:
        del os.environ["SLUICE_CUDA_EMULATED"]
        if before is not None:
            os.environ["SLUICE_CUDA_EMULATED"] = before


def image_name(text: bytes) -> str:
    """As the emulator names an image: FNV-1a."""
    value = 0xcbf29ce484222325
    for byte in text:
        value = (value ^ byte) * 0x100000001b3 & 0xffffffffffffffff
    return f"{value:016x}"


def is_read(source: str) -> list[bool]:
    """By tensor of a kernel, from its text: whether the kernel only reads it."""
    parameters = re.search(r"sluice_kernel\(([^)]*)\)", source)
    assert parameters is not None, "a text without its kernel"
    return [parameter.strip().startswith("const ") for parameter in parameters[1].split(",")]


def elements_of(tensor: dict[str, Any]) -> int:
    sizes = re.search(r"\[(.*)\]", tensor["type"])
    return math.prod(int(size) for size in sizes[1].split(",") if size) if sizes else 1


def whole_sectors(size: int) -> int:
    return -(-size // SECTOR) * SECTOR


def needs(call: dict[str, Any], tensors: dict[str, Any], reads: list[bool]) -> tuple[int, int, int]:
    """Bytes that a call reads at least, in whole sectors, bytes and elements that it writes."""
    arguments = [tensors[name] for name in call["arguments"]]
    outputs = [tensor for tensor, only_read in zip(arguments, reads) if not only_read]
    inputs = {tensor["name"]: whole_sectors(tensor["bytes"]) for tensor, only_read in zip(arguments, reads) if only_read}
    written = sum(whole_sectors(tensor["bytes"]) for tensor in outputs)
    if call["operator"] in LOOKUPS:
        table = arguments[0]["name"]
        inputs[table] = min(inputs[table], written)
    return sum(inputs.values()), written, sum(map(elements_of, outputs))


def count(model: Path, feeds: Arrays, outputs: list[str], folder: Path) -> list[Work]:
    """Runs a model on the emulated GPU; what each kernel did."""
    with machine("capability=9.0"):
        schedule = emit(model, folder, BACKEND)
    file = folder / "counts.jsonl"
    with machine(f"capability=9.0,count={file}"):
        run_model(package_of(folder), feeds, outputs)
    launched: dict[str, list[dict[str, Any]]] = {}
    for line in file.read_text().splitlines():
        entry = json.loads(line)
        launched.setdefault(entry["image"], []).append(entry)
    tensors = {tensor["name"]: tensor for tensor in schedule["storage"]}
    works = []
    # Different texts may compile to the same code, whose launches are then counted together.
    groups: dict[frozenset[str], list[dict[str, Any]]] = {}
    for kernel in schedule["kernels"]:
        images = frozenset(image_name((folder / image).read_bytes()) for image in kernel["images"].values()
                           if image.endswith(".ptx"))
        groups.setdefault(images, []).append(kernel)
    for images, (kernel, *others) in groups.items():
        entries = [entry for image in images for entry in launched.get(image, [])]
        names = {kernel["name"], *(other["name"] for other in others)}
        calls = [call for call in schedule["calls"] if call["kernel"] in names]
        if len(entries) != len(calls):
            raise SystemExit(f"{kernel['name']}: {len(entries)} launches of {len(calls)} calls")
        reads = is_read((folder / kernel["source"]).read_text())
        read, written, elements = (sum(part) for part in zip(*(needs(call, tensors, reads) for call in calls)))
        counts = {key: sum(entry[key] for entry in entries) for key, value in entries[0].items()
                  if isinstance(value, int)}
        first = next(tensors[name] for name, only_read in zip(calls[0]["arguments"], reads) if not only_read)
        works.append(Work(calls[0]["operator"], kernel["name"], len(entries), counts, read, written, elements,
                          first["type"]))
    return works


def beyond(work: Work) -> list[str]:
    """The properties that need a reason."""
    found = [name for name, most in MOST.items() if (getattr(work, name) or 0) > most]
    share = work.matrix_share
    is_narrow = not work.writes.startswith("f32") and work.operator in HOT
    return found + ["matrix"] * (is_narrow and share is not None and share < LEAST_MATRIX_SHARE)


def row(network: str, work: Work) -> str:
    def text(value: float | None) -> str:
        return "-" if value is None else f"{value:.2f}"

    why = dict.fromkeys(REASONS.get((work.operator, name), f"{name}?") for name in beyond(work))
    return (f"| {network} | {work.kernel} | {work.writes} | {work.launches} | {text(work.loads)} | {text(work.stores)} | "
            f"{text(work.matrix_share)} | {text(work.conflicts)} | {text(work.scattered)} | {work.instructions:.1f} | "
            f"{'; '.join(why)} |")


def rows_of_page() -> dict[str, list[str]]:
    """The rows of the page by network."""
    rows: dict[str, list[str]] = {}
    for line in table_of("counts")[1][2:]:
        rows.setdefault(line.split("|")[1].strip(), []).append(line)
    return rows


def write_page(counted: dict[str, list[str]]) -> None:
    rows = rows_of_page() | counted
    order = [f"{name}, {bits}" for name in (*NETWORKS, operator_cases.NAME) for bits in ("f32", "f16")]
    lines = [line for network in order for line in rows.get(network, [])]
    replace_table("counts", [HEAD, "|" + "---|" * (HEAD.count("|") - 1), *lines])


def count_network(model: Path, folder: Path) -> tuple[str, list[Work]]:
    """The name of a network and its bits; what its kernels did."""
    name = model.name.split(".")[0]
    declared = {value.name: value.type.tensor_type.elem_type for value in onnx.load(model).graph.input}
    generator = np.random.default_rng(0)
    given = (operator_cases.inputs(generator, next(iter(declared.values()))) if name == operator_cases.NAME
             else MODELS[name].inputs(generator))
    # Transformers have fewer layers here than their inputs.
    feeds = {key: value for key, value in given.items() if key in declared}
    works = count(model, feeds, [], folder / f"{model.name}-counts")
    return f"{name}, {'f16' if '.f16' in model.name else 'f32'}", sorted(works, key=lambda work: work.kernel)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", default=",".join((*NETWORKS, operator_cases.NAME)))
    parser.add_argument("--write", action="store_true", help="put the lines into the page")
    arguments = parser.parse_args()
    print(HEAD + "\n|" + "---|" * (HEAD.count("|") - 1))
    with tempfile.TemporaryDirectory() as scratch:
        for model in write_models(arguments.networks.split(","), Path(scratch)):
            network, works = count_network(model, Path(scratch))
            lines = [row(network, work) for work in works]
            print("\n".join(lines), flush=True)
            if arguments.write:
                write_page({network: lines})


if __name__ == "__main__":
    main()
