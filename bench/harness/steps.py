"""Steps of a run as the cpu plug-in times them, and the arithmetic each of them means."""

from __future__ import annotations

import json
import math
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from harness import sluice_cli

Dims = tuple[int, ...]


@dataclass(frozen=True)
class Step:
    """One step of a command list; `bytes` is what its operands hold, each counted once."""

    op: str
    inputs: tuple[Dims, ...]
    outputs: tuple[Dims, ...]
    bytes: int
    median_ns: float
    least_ns: float

    def flops(self) -> float:
        """Multiply-adds count two; 0 for what only moves or maps elements."""
        kind = self.op.split("+")[0]
        count = FLOPS.get(kind)
        return count(self) if count else 0.0

    def shape(self) -> str:
        """Identifies a step among steps of its kind: the shapes of its first inputs and its output."""
        inputs = self.inputs[: 2 if self.flops() else 1]
        return " ".join("x".join(map(str, dims)) for dims in (*inputs, *self.outputs[:1]))


def conv_flops(step: Step) -> float:
    return 2.0 * math.prod(step.outputs[0]) * math.prod(step.inputs[1][1:])


def matmul_flops(step: Step) -> float:
    return 2.0 * math.prod(step.outputs[0]) * step.inputs[0][-1]


def gemm_flops(step: Step) -> float:
    rows = max(1, step.outputs[0][0])
    return 2.0 * math.prod(step.outputs[0]) * (math.prod(step.inputs[0]) / rows)


def attention_flops(step: Step) -> float:
    query, key, value = step.inputs[:3]
    return 2.0 * math.prod(query[:-1]) * key[-2] * (query[-1] + value[-1])


def lstm_flops(step: Step) -> float:
    frames, weights, recurrent = step.inputs[:3]
    return 2.0 * math.prod(frames[:2]) * math.prod(weights[:2]) * (weights[2] + recurrent[2])


FLOPS = {
    "Conv": conv_flops,
    "MatMul": matmul_flops,
    "Gemm": gemm_flops,
    "sluice::Attention": attention_flops,
    "LSTM": lstm_flops,
}


def parse(line: str) -> Step:
    fields = json.loads(line)

    def dims(name: str) -> tuple[Dims, ...]:
        return tuple(tuple(operand) for operand in fields[name])

    return Step(fields["op"], dims("inputs"), dims("outputs"), fields["bytes"],
                fields["median_ns"], fields["least_ns"])


def measure(package: Path, inputs: list[str], threads: int, seconds: float) -> list[Step]:
    """Runs the package for `seconds` on `threads` workers; its steps in order."""
    with tempfile.TemporaryDirectory(prefix="sluice-steps-") as folder:
        path = Path(folder) / "steps.jsonl"
        subprocess.run(
            [str(sluice_cli.binary()), "bench", str(package), *inputs,
             "--threads", str(threads), "--seconds", str(seconds)],
            check=True, stdout=subprocess.DEVNULL,
            env={**os.environ, "SLUICE_CPU_STEP_TIMES": str(path)})
        return [parse(line) for line in path.read_text().splitlines()]
