#!/usr/bin/env python3
"""Registers, shared memory and spills of the kernels of networks, as ptxas reports them, by architecture.

    .venv/bin/python bench/cuda/kernel_resources.py [--archs sm_80,sm_90] [--networks resnet50,bert_base] [MODEL.onnx ...]

Needs no GPU, but ptxas. Every kernel's PTX is compiled for every architecture; the table has a line for each. Kernels
that spill follow by name. `--write` puts the table into the page of counts.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from network_kernels import NETWORKS, Kernel, emit, kernels_of, replace_table, write_models

ARCHS = tuple(f"sm_{number}" for number in (75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121))
PTXAS = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "bin/ptxas"
SPILLS = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads")
GROUPS = {"products": {"MatMul", "Gemm", "MatMulInteger", "MatMulNBits"}, "convolutions": {"Conv"},
          "attention": {"Attention", "PagedAttention"}}
HEAD = ("| architecture | kernels | most registers: products | convolutions | attention | others | "
        "most shared memory, bytes | kernels that spill | hot ones |")


class Resources(NamedTuple):
    kernel: str
    is_hot: bool
    group: str
    registers: int
    shared_bytes: int
    spilled_bytes: int


def assemble(kernel: Kernel, arch: str) -> Resources:
    """Fails: SystemExit with the words of ptxas, if the kernel does not compile."""
    done = subprocess.run([PTXAS, "-v", f"-arch={arch}", "-o", os.devnull, kernel.ptx(arch)], capture_output=True,
                          text=True, check=False)
    spills, registers = SPILLS.search(done.stderr), re.search(r"Used (\d+) registers", done.stderr)
    if done.returncode != 0 or spills is None or registers is None:
        raise SystemExit(f"{kernel.name} does not compile for {arch}:\n{done.stderr}")
    shared = re.search(r"(\d+) bytes smem", done.stderr)
    group = next((name for name, operators in GROUPS.items() if kernel.operators & operators), "others")
    return Resources(kernel.name, kernel.is_hot, group, int(registers[1]), int(shared[1]) if shared else 0,
                     int(spills[1]) + int(spills[2]))


def assemble_all(kernels: Iterable[Kernel], arch: str) -> list[Resources]:
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(lambda kernel: assemble(kernel, arch), kernels))


def row(arch: str, used: list[Resources]) -> str:
    def most(group: str) -> str:
        return str(max((kernel.registers for kernel in used if kernel.group == group), default="-"))

    spilling = [kernel for kernel in used if kernel.spilled_bytes]
    return (f"| {arch} | {len(used)} | {' | '.join(map(most, (*GROUPS, 'others')))} | "
            f"{max(kernel.shared_bytes for kernel in used)} | {len(spilling)} | "
            f"{sum(kernel.is_hot for kernel in spilling)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=Path, help="ONNX files, instead of the networks")
    parser.add_argument("--networks", default=",".join(NETWORKS))
    parser.add_argument("--archs", default=",".join(ARCHS))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--write", action="store_true", help="put the table into the page")
    arguments = parser.parse_args()
    kernels: dict[str, Kernel] = {}  # equal names are equal texts
    counted = []
    with tempfile.TemporaryDirectory() as scratch:
        for model in arguments.models or write_models(arguments.networks.split(","), Path(scratch)):
            folder = Path(scratch) / f"{model.name}-kernels"
            own = kernels_of(emit(model, folder, "cuda"), folder)
            kernels |= {kernel.name: kernel for kernel in own}
            counted.append(f"{model.stem} {len(own)}")
        print(f"Kernels: {', '.join(counted)}; {len(kernels)} different ones.\n")
        lines = [HEAD, "|" + "---|" * (HEAD.count("|") - 1)]
        every = {}
        for arch in arguments.archs.split(","):
            every[arch] = assemble_all(kernels.values(), arch)
            lines.append(row(arch, every[arch]))
    print("\n".join(lines))
    for arch, used in every.items():
        for kernel in used:
            if kernel.spilled_bytes:
                print(f"{arch}: {kernel.kernel} spills {kernel.spilled_bytes} bytes")
    if arguments.write:
        replace_table("resources", lines)
    if arguments.json:
        arguments.json.write_text(json.dumps({arch: [kernel._asdict() for kernel in used]
                                              for arch, used in every.items()}, indent=1) + "\n")


if __name__ == "__main__":
    main()
