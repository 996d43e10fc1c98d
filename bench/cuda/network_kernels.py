"""The CUDA kernels of the benchmark networks in 32 and 16 bits, as files."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

BENCH = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(BENCH), str(BENCH / "models")]
import bert_base  # noqa: E402
import gpt2_small  # noqa: E402
import make  # noqa: E402
import operator_cases  # noqa: E402
from onnx import TensorProto  # noqa: E402

from harness.halves import halves  # noqa: E402
from harness.sluice_cli import run_command  # noqa: E402

PAGE = BENCH.parent / "docs/decisions/0152-kernels-are-counted-without-a-gpu.md"
NETWORKS = ("resnet50", "mobilenetv2", "bert_base", "gpt2_prompt", "gpt2_small")
#: Operators whose kernels take most of a network's time on a GPU.
HOT = {"Attention", "Conv", "Gemm", "MatMul", "MatMulInteger", "MatMulNBits", "PagedAttention"}


class Kernel(NamedTuple):
    name: str
    operators: frozenset[str]
    folder: Path
    images: dict[str, str]  #: files by target

    @property
    def is_hot(self) -> bool:
        return bool(self.operators & HOT)

    def ptx(self, arch: str) -> Path:
        """The text that code for `arch`, as sm_90, is made from: that of the latest target not behind it."""
        targets = {int(target.removeprefix("compute_")): file for target, file in self.images.items()
                   if target.startswith("compute_")}
        return self.folder / targets[max(number for number in targets if number <= int(arch.removeprefix("sm_")))]


def write_models(names: Sequence[str], folder: Path) -> Iterator[Path]:
    """The networks, or the operator cases, in 32 and in 16 bits. Transformers have one layer: the kernels of all layers
    are the same."""
    bert_base.LAYERS = gpt2_small.LAYERS = 1
    for name in names:
        if name == operator_cases.NAME:
            yield operator_cases.write(folder, TensorProto.FLOAT, "")
            yield operator_cases.write(folder, TensorProto.FLOAT16, ".f16")
            continue
        whole = make.write(name, folder)
        yield from (whole, halves(whole, TensorProto.FLOAT16, "f16"))


def emit(model: Path, folder: Path, backend: str) -> dict[str, Any]:
    """Compiles a model, with a package beside `folder`; returns the schedule."""
    run_command("compile", model, "--backend", backend, "--emit", f"{backend}={folder}", "-o", package_of(folder),
                timeout_s=3600)
    return json.loads((folder / "schedule.json").read_text())


def package_of(folder: Path) -> Path:
    return folder.with_name(folder.name + ".sluice")


def kernels_of(schedule: dict[str, Any], folder: Path) -> list[Kernel]:
    operators: dict[str, set[str]] = {}
    for call in schedule["calls"]:
        operators.setdefault(call["kernel"], set()).add(call["operator"])
    return [Kernel(kernel["name"], frozenset(operators[kernel["name"]]), folder, kernel["images"])
            for kernel in schedule["kernels"]]


def table_of(name: str) -> tuple[str, list[str], str]:
    """The page before the mark `<!-- NAME -->`, the lines up to `<!-- end of NAME -->`, and the page behind."""
    head, rest = PAGE.read_text().split(f"<!-- {name} -->\n")
    table, tail = rest.split(f"<!-- end of {name} -->")
    return head, table.strip().splitlines(), tail


def replace_table(name: str, lines: Sequence[str]) -> None:
    head, _, tail = table_of(name)
    table = "\n".join(lines)
    PAGE.write_text(f"{head}<!-- {name} -->\n\n{table}\n\n<!-- end of {name} -->{tail}")
