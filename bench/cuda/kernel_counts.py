#!/usr/bin/env python3
"""What the kernels of networks do on the emulated GPU, beside what they need at least: a proxy for speed without a GPU.

    .venv/bin/python bench/cuda/kernel_counts.py [--networks resnet50,bert_base] [--every] [--page FILE]

Runs each network once in 32 and in 16 bits. A line of the table is an operator of a network; `--every` prints each
kernel. Columns:

- loads, stores: bytes of the 32-byte sectors that kernels touch, by the bytes of the tensors that they read or write.
  Tiles of products read a tensor several times; caches serve what repeats.
- matrix units: their share of the multiplications of floats.
- conflicts: extra turns per access of a warp to shared memory, because lanes share a bank.
- scattered: share of the accesses of warps to device memory whose sectors hold far more than the lanes ask for.
- instructions: of threads, for each element that is written.
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
from network_kernels import NETWORKS, emit, package_of, replace_table, write_models

from harness.sluice_cli import Arrays, run_model
from networks import NETWORKS as MODELS

BACKEND = "cuda-emulated"
SECTOR = 32
LANES = 32
HEAD = ("| network | operator | kernels | launches | loads | stores | matrix units | conflicts | scattered | "
        "instructions |")
#: Their first input is a table, of which they read what they write.
LOOKUPS = {"Gather", "GatherND", "GatherElements", "Slice", "Split"}


class Work(NamedTuple):
    """What a kernel did in all launches, and the bytes of the tensors of these launches."""

    operator: str
    kernel: str
    launches: int
    counts: dict[str, int]
    read_bytes: int
    written_bytes: int
    written_elements: int

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


def needs(call: dict[str, Any], tensors: dict[str, Any], reads: list[bool]) -> tuple[int, int, int]:
    """Bytes that a call reads at least, bytes and elements that it writes."""
    arguments = [tensors[name] for name in call["arguments"]]
    outputs = [tensor for tensor, only_read in zip(arguments, reads) if not only_read]
    inputs = {tensor["name"]: tensor["bytes"] for tensor, only_read in zip(arguments, reads) if only_read}
    written = sum(tensor["bytes"] for tensor in outputs)
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
    for kernel in schedule["kernels"]:
        entries = [entry for image in kernel["images"].values() if image.endswith(".ptx")
                   for entry in launched.get(image_name((folder / image).read_bytes()), [])]
        calls = [call for call in schedule["calls"] if call["kernel"] == kernel["name"]]
        if len(entries) != len(calls):
            raise SystemExit(f"{kernel['name']}: {len(entries)} launches of {len(calls)} calls")
        reads = is_read((folder / kernel["source"]).read_text())
        read, written, elements = (sum(part) for part in zip(*(needs(call, tensors, reads) for call in calls)))
        counts = {key: sum(entry[key] for entry in entries) for key, value in entries[0].items()
                  if isinstance(value, int)}
        works.append(Work(calls[0]["operator"], kernel["name"], len(entries), counts, read, written, elements))
    return works


def join(works: list[Work], name: str) -> Work:
    counts = {key: sum(work.counts[key] for work in works) for key in works[0].counts}
    return Work(works[0].operator, name, sum(work.launches for work in works), counts,
                sum(work.read_bytes for work in works), sum(work.written_bytes for work in works),
                sum(work.written_elements for work in works))


def row(network: str, work: Work) -> str:
    def text(value: float | None) -> str:
        return "-" if value is None else f"{value:.2f}"

    return (f"| {network} | {work.operator} | {work.kernel} | {work.launches} | {text(work.loads)} | {text(work.stores)} | "
            f"{text(work.matrix_share)} | {text(work.conflicts)} | {text(work.scattered)} | {work.instructions:.1f} |")


def rows(network: str, works: list[Work]) -> list[str]:
    """A line for each operator."""
    groups: dict[str, list[Work]] = {}
    for work in works:
        groups.setdefault(work.operator, []).append(work)
    return [row(network, join(own, str(len(own)))) for _, own in sorted(groups.items())]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", default=",".join(NETWORKS))
    parser.add_argument("--every", action="store_true", help="print every kernel")
    parser.add_argument("--page", type=Path, help="a page with the marks <!-- counts -->")
    arguments = parser.parse_args()
    lines = [HEAD, "|" + "---|" * (HEAD.count("|") - 1)]
    print("\n".join(lines))
    with tempfile.TemporaryDirectory() as scratch:
        for model in write_models(arguments.networks.split(","), Path(scratch)):
            name = model.name.split(".")[0]
            feeds = MODELS[name].inputs(np.random.default_rng(0))
            works = count(model, {key: value for key, value in feeds.items() if is_input(model, key)}, [],
                          Path(scratch) / f"{model.name}-counts")
            network = f"{name}, {'f16' if '.f16' in model.name else 'f32'}"
            lines += rows(network, works)
            print("\n".join(row(network, work) for work in works) if arguments.every else "\n".join(rows(network, works)),
                  flush=True)
    if arguments.page:
        replace_table(arguments.page, "counts", lines)


def is_input(model: Path, name: str) -> bool:
    """Transformers have fewer layers here than their inputs."""
    import onnx

    return name in {value.name for value in onnx.load(model).graph.input}


if __name__ == "__main__":
    main()
