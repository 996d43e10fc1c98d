#!/usr/bin/env python3
"""`sluice generate` on an emulated GPU, which attends to the pages of a cache, writes what plain numpy computes.

Skipped where no CUDA toolkit is installed to compile the kernels.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "language"))
import cuda_compiler  # noqa: E402
from report import Report, scratch_folder  # noqa: E402
from tiny_models import Tiny, greedy, logits_of, make, save  # noqa: E402

from harness.sluice_cli import binary, run_command  # noqa: E402

PROMPT = [1, 50, 7, 23, 88, 4, 61]
TOKENS = 5
EXPERTS = {"num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": None}
#: What reads and writes tokens and pages, and multiplies with experts.
CACHE = {"Gather", "PagedAttention", "RoundRows", "RoutedMatMul", "ScatterND"}


def check_copies(report: Report, name: str, package: Path) -> None:
    """The pages stay on the device: a token would copy all of them there and back."""
    done = subprocess.run([str(binary()), "generate", str(package), "--ids", ",".join(map(str, PROMPT)), "--max-tokens",
                           str(TOKENS)], capture_output=True, text=True, check=True)
    found = re.search(r"; ([\d.]+) kB copied a token, ([\d.]+) kB of states stay on the device", done.stderr)
    report.add(found is not None and float(found[1]) < float(found[2]), f"{name}: {done.stderr.strip()}")


def are_likely(tiny: Tiny, tokens: list[int], kept: str) -> bool:
    """Those of numpy; with pages of 8 bits, no token is more than a rounding less likely than the best one."""
    if kept != "int8":
        return tokens == greedy(tiny, PROMPT, TOKENS)
    rows = logits_of(tiny, PROMPT + tokens)[len(PROMPT) - 1:-1]
    behind = max(row.max() - row[token] for row, token in zip(rows, tokens, strict=True))
    return len(tokens) == TOKENS and behind <= 0.02 * abs(rows).max()


def main() -> int:
    if reason := cuda_compiler.reason_to_skip():
        print(f"skipped: {reason}")
        return 77
    report = Report()
    with scratch_folder() as name:
        for family, kept, changes in (("llama", "f32", {}), ("llama", "f16", {}), ("llama", "int8", {}),
                                      ("mistral", "f32", {"sliding_window": 5}), ("mixtral", "f32", EXPERTS)):
            tiny = make(family, num_hidden_layers=2, max_position_embeddings=48, **changes)
            package = Path(name) / f"{family}.sluice"
            run_command("compile", save(tiny, Path(name) / family), "-o", package, "--backend", "cuda-emulated,cpu",
                        "--kv-cache", kept)
            nodes = json.loads(run_command("explain", package, "--json"))["nodes"]
            on_host = sorted({node["operator"] for node in nodes if node["backend"] == "cpu"})
            report.add(not any(kind.split("::")[-1] in CACHE for kind in on_host), f"{family}, {kept}: on the host: {on_host}")
            for confine in ("none", "masks"):
                os.environ["SLUICE_CUDA_CONFINE"] = confine
                printed = run_command("generate", package, "--ids", ",".join(map(str, PROMPT)), "--threads", "2",
                                      "--max-tokens", str(TOKENS))
                tokens = [int(word) for word in printed.split()]
                report.add(are_likely(tiny, tokens, kept), f"{family}, {kept}, confined by {confine}: {tokens}")
            check_copies(report, f"{family}, {kept}", package)
            del os.environ["SLUICE_CUDA_CONFINE"]
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
