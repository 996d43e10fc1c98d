#!/usr/bin/env python3
"""Registers, shared memory and spills of the kernels of networks, as the CUDA compiler reports them, by architecture.

    .venv/bin/python bench/cuda/kernel_resources.py [--archs sm_80,sm_90] [--networks resnet50,bert_base] [MODEL.onnx ...]

Needs no GPU, but nvcc. Each kernel of a network is compiled for each architecture; the table has one line per network and
architecture, and the kernels that spill, or take the most registers, by name.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

BENCH = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(BENCH), str(BENCH / "models")]
import make  # noqa: E402

from harness.sluice_cli import run_command  # noqa: E402

NETWORKS = ("resnet50", "mobilenetv2", "bert_base", "gpt2_small")
ARCHS = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")
USED = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads.*?Used (\d+) registers(.*?)$",
                  re.DOTALL | re.MULTILINE)


class Resources(NamedTuple):
    kernel: str
    registers: int
    shared_bytes: int
    spilled_bytes: int


def compile_kernel(nvcc: str, source: Path, arch: str) -> Resources:
    output = subprocess.run([nvcc, "-std=c++17", f"-arch={arch}", "-cubin", "-Xptxas", "-v", "-o", os.devnull, source],
                            capture_output=True, text=True, check=False).stderr
    found = USED.search(output)
    if found is None:
        raise SystemExit(f"{source.name} does not compile for {arch}:\n{output}")
    shared = re.search(r"(\d+) bytes smem", found[5])
    return Resources(source.stem, int(found[4]), int(shared[1]) if shared else 0, int(found[2]) + int(found[3]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=Path, help="ONNX files, instead of the networks")
    parser.add_argument("--networks", default=",".join(NETWORKS))
    parser.add_argument("--archs", default=",".join(ARCHS))
    parser.add_argument("--nvcc", default="/usr/local/cuda/bin/nvcc")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    every = {}
    print("| network | architecture | kernels | most registers | most shared memory, bytes | kernels that spill |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for model in arguments.models or [make.write(name, Path(scratch)) for name in arguments.networks.split(",")]:
            folder = Path(scratch) / f"{model.stem}-kernels"
            run_command("compile", model, "--backend", "cuda", "--emit", f"cuda={folder}", "-o", folder.with_suffix(".sluice"))
            sources = sorted(folder.glob("*.cu"))
            for arch in arguments.archs.split(","):
                used = list(pool.map(lambda source, arch=arch: compile_kernel(arguments.nvcc, source, arch), sources))
                spills = [f"{kernel.kernel} ({kernel.spilled_bytes} bytes)" for kernel in used if kernel.spilled_bytes]
                print(f"| {model.stem} | {arch} | {len(used)} | {max(kernel.registers for kernel in used)} | "
                      f"{max(kernel.shared_bytes for kernel in used)} | {', '.join(spills) or 'none'} |", flush=True)
                every[f"{model.stem} {arch}"] = [kernel._asdict() for kernel in used]
    if arguments.json:
        arguments.json.write_text(json.dumps(every, indent=1) + "\n")


if __name__ == "__main__":
    main()
