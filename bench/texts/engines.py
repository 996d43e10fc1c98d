"""The engines that generation.py compares: how each gets its file, and a process of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import sluice_cli
from harness.peak import Peak, run_for_peak

from . import gguf_file
from .at_once import tokens_at_once

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Work:
    """What a process does. `prompts`: lengths; tokens are generated behind the first."""

    prompts: list[int]
    tokens: int
    sequences: int

    def flags(self) -> list[str]:
        return ["--prompts", ",".join(map(str, self.prompts)), "--tokens", str(self.tokens)]


@dataclass(frozen=True)
class Figures:
    """Figures of a process. Rates are tokens per second: `prompts` by their length, one text, several texts at once."""

    load_s: float
    prompts: dict[int, float]
    one: float
    many: float
    peak_mb: float


def pinned(threads: int, command: list[Any]) -> list[str]:
    """The command on the first processors of those that this process may use."""
    processors = sorted(os.sched_getaffinity(0))[:threads]
    return ["taskset", "-c", ",".join(map(str, processors)), *map(str, command)]


def finished(done: Peak, name: str) -> Peak:
    if done.exit_code != 0:
        raise sluice_cli.SluiceError(f"{name}: {done.errors[-2000:]}")
    return done


class Engine:
    """An engine with a file of `weights`, in a Python process of `engine_process.py`."""

    def __init__(self, engine: str, python: Path, weights: str, model: Path) -> None:
        self.engine, self.weights, self.python, self.model = engine, weights, python, model
        self.name = {"sluice": "Sluice", "onnxruntime": "onnxruntime-genai", "openvino": "OpenVINO GenAI"}[engine]

    def measure(self, threads: int, work: Work) -> Figures:
        return self.of_process(threads, work, work.sequences)

    def of_process(self, threads: int, work: Work, sequences: int) -> Figures:
        packages = sluice_cli.binary().parents[1] / "python" if self.engine == "sluice" else ""
        done = finished(run_for_peak(pinned(threads, [
            "env", f"PYTHONPATH={packages}", self.python, HERE / "engine_process.py", self.engine, self.model, *work.flags(),
            "--threads", threads, "--sequences", sequences])), f"{self.name}, {self.weights}")
        said = json.loads(done.output.splitlines()[-1])
        return Figures(said["load_s"], {int(length): rate for length, rate in said["prompts"].items()}, said["one"],
                       said.get("many", float("nan")), done.peak_bytes / 1e6)


class Sluice(Engine):
    """Several texts at once are asked of `sluiced`, since those of a program take turns."""

    def __init__(self, weights: str, model: Path) -> None:
        super().__init__("sluice", Path(sys.executable), weights, model)

    def measure(self, threads: int, work: Work) -> Figures:
        alone = self.of_process(threads, work, 1)
        if work.sequences == 1:
            return alone
        many = tokens_at_once(self.model, pinned(threads, []), work.prompts[0], work.tokens, work.sequences)
        return Figures(alone.load_s, alone.prompts, alone.one, many, alone.peak_mb)


class Llama:
    """llama.cpp's own benchmark, once for the first prompt and once for each other one. Its time to load has the first
    16 tokens."""

    name = "llama.cpp"

    def __init__(self, programs: Path, weights: str, model: Path) -> None:
        self.program, self.weights, self.model = programs / "llama-batched-bench", weights, model

    def measure(self, threads: int, work: Work) -> Figures:
        first, *others = work.prompts
        done, rows = self.run(threads, first, work.tokens, work.sequences)
        prompts = {first: rows[0]["speed_pp"]}
        for length in others:
            prompts[length] = self.run(threads, length, 1, 1)[1][0]["speed_pp"]
        load = next(line for line in (done.output + done.errors).splitlines() if "load time" in line)
        return Figures(float(load.split("=")[1].split()[0]) / 1000, prompts, rows[0]["speed_tg"],
                       rows[-1]["speed_tg"] if work.sequences > 1 else float("nan"), done.peak_bytes / 1e6)

    def run(self, threads: int, prompt: int, tokens: int, sequences: int) -> tuple[Peak, list[dict[str, float]]]:
        done = finished(run_for_peak(pinned(threads, [
            self.program, "-m", self.model, "-t", threads, "-tb", threads, "-c", sequences * (prompt + tokens + 16), "-b", 2048,
            "-ub", 512, "-npp", prompt, "-ntg", tokens, "-npl", f"1,{sequences}" if sequences > 1 else 1, "-lv", 4,
            "--output-format", "jsonl"])), f"llama.cpp, {self.weights}")
        return done, [json.loads(line) for line in done.output.splitlines() if line.startswith("{")]


def written_by_builder(genai: Path, torch: Path, source: Path, precision: str, path: Path) -> Path:
    """A folder of onnxruntime-genai by its builder, which needs torch and transformers: those of scripts/torch-env."""
    if (path / "genai_config.json").exists():
        return path
    packages = next((genai.parents[1] / "lib").glob("python3*/site-packages"))
    command = [torch / "bin/python", packages / "onnxruntime_genai/models/builder.py", "-i", source, "-o", path, "-p", precision,
               "-e", "cpu", "-c", path.with_suffix(".cache")]
    surroundings = {**os.environ, "LD_LIBRARY_PATH": str(torch / "stubs"), "PYTHONPATH": str(packages)}
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, env=surroundings, check=False)
    if done.returncode != 0:
        raise sluice_cli.SluiceError(f"onnxruntime-genai's builder: {done.stderr[-2000:]}")
    return path


def gguf_of(source: Path, kind: str) -> Path:
    return gguf_file.write(source, source.with_name(f"{source.name}-{kind}.gguf"), kind)
