#!/usr/bin/env python3
"""Networks on a GPU: Sluice against eager PyTorch, torch.compile and onnxruntime's CUDA provider, in one run, from host
memory to host memory.

    PYTHONPATH=build/release/python python3 bench/cuda/networks.py [--rounds 15] [--models resnet50,1 bert,32] [--json FILE]

PyTorch makes each network with random weights in 16 bits and exports it to ONNX, so that all run the same one. The
calls take turns, so that a load of the machine meets all of them; the table has medians in milliseconds, and the error
against PyTorch in single precision. Needs torch with CUDA, torchvision, transformers and onnx; onnxruntime has a column
where onnxruntime-gpu is installed. Rows are printed, and written to --json, as they come.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import sluice
import torch
from torch import nn

CALLS_OF_A_TURN = 5
BACKENDS = ("cuda", "cpu")
TOKENS = 128


class Logits(nn.Module):
    """The first result of a model of transformers, which takes token numbers."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.model(tokens, return_dict=False)[0]


def resnet50() -> nn.Module:
    import torchvision
    return torchvision.models.resnet50()


def bert() -> nn.Module:
    import transformers
    config = transformers.BertConfig(attn_implementation="eager")
    return Logits(transformers.BertModel(config, add_pooling_layer=False))


def gpt2() -> nn.Module:
    """The whole sequence at once, without a cache."""
    import transformers
    return Logits(transformers.GPT2LMHeadModel(transformers.GPT2Config(use_cache=False, attn_implementation="eager")))


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))


def image(batch: int) -> torch.Tensor:
    return torch.rand(batch, 3, 224, 224)


def tokens(batch: int) -> torch.Tensor:
    return torch.randint(0, 1000, (batch, TOKENS))


MODELS: dict[str, tuple[Callable[[], nn.Module], Callable[[int], torch.Tensor]]] = {
    "resnet50": (resnet50, image), "bert": (bert, tokens), "gpt2": (gpt2, tokens),
    "mlp": (mlp, lambda batch: torch.rand(batch, 64)),
}
USUAL = ("resnet50,32", "bert,32", "resnet50,1", "bert,1", "gpt2,1")
COLUMNS = ("sluice", "eager", "default", "reduce-overhead", "onnxruntime")
HEAD = ("| network in f16 | batch | Sluice, ms | eager, ms | torch.compile, ms | with CUDA graphs, ms | onnxruntime, ms | "
        "best / Sluice | error |")


def halved(value: torch.Tensor) -> torch.Tensor:
    return value.half() if value.is_floating_point() else value


def export(module: nn.Module, example: torch.Tensor, path: Path) -> None:
    """Exports a module for any batch. `example` has two, because an exporter takes one for a constant."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(sys.stderr):
        warnings.simplefilter("ignore")
        torch.onnx.export(module, (example,), path, input_names=["x"], output_names=["y"], dynamo=True,
                          external_data=False, verbose=False, dynamic_shapes=({0: torch.export.Dim("N")},))


def of_torch(call: Callable[[torch.Tensor], torch.Tensor], feed: np.ndarray, device: str) -> Callable[[], np.ndarray]:
    def run() -> np.ndarray:
        with torch.no_grad():
            return call(torch.from_numpy(feed).to(device)).cpu().numpy()
    return run


def of_onnxruntime(path: Path, feed: np.ndarray, device: str) -> Callable[[], np.ndarray]:
    """Fails: RuntimeError  onnxruntime has no provider for the device, or falls back to the CPU"""
    import onnxruntime
    if hasattr(onnxruntime, "preload_dlls"):
        onnxruntime.preload_dlls()  # of the packages that torch has brought
    provider = {"cuda": "CUDAExecutionProvider", "cpu": "CPUExecutionProvider"}[device]
    if provider not in onnxruntime.get_available_providers():
        raise RuntimeError(f"this package has no {provider}")
    session = onnxruntime.InferenceSession(path, providers=[provider])
    if session.get_providers()[0] != provider:
        raise RuntimeError(f"{provider} did not start")
    return lambda: session.run(["y"], {"x": feed})[0]


def compiled(module: nn.Module, mode: str) -> Callable[..., Any]:
    torch._dynamo.reset()
    return torch.compile(module, mode=mode)


def median_times(calls: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Milliseconds; the first call of a turn does not count, since another's work came before."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            for turn in range(CALLS_OF_A_TURN):
                start = time.perf_counter()
                call()
                if turn > 0:
                    times[name].append((time.perf_counter() - start) * 1e3)
    return {name: statistics.median(own) for name, own in times.items()}


def measure(name: str, batch: int, arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    make, give = MODELS[name]
    device = arguments.device
    torch.manual_seed(0)
    module = make().eval().to(device)
    whole = give(batch)
    with torch.no_grad():
        expected = module(whole.to(device)).cpu().numpy()
    module = module.half()
    path = folder / f"{name}.onnx"
    if not path.exists():
        export(module, halved(give(2)).to(device), path)
    start = time.perf_counter()
    package = folder / f"{name}-{batch}.sluice"
    model = sluice.compile(path, package, backends=BACKENDS, shapes={"N": batch}, threads=1)
    compile_s = time.perf_counter() - start
    feed = halved(whole).numpy()
    calls = {"sluice": lambda: model.run({"x": feed})["y"], "eager": of_torch(module, feed, device)}
    start = time.perf_counter()
    actual = calls["sluice"]()
    first_s = time.perf_counter() - start
    peers = {mode: lambda mode=mode: of_torch(compiled(module, mode), feed, device) for mode in arguments.modes}
    peers["onnxruntime"] = lambda: of_onnxruntime(path, feed, device)
    for peer, make_call in peers.items():
        try:
            calls[peer] = make_call()
            for _ in range(3):
                calls[peer]()
        except Exception as error:  # of any of inductor's tools, or of a missing package
            print(f"{name}, {batch}: {peer}: {(str(error) or repr(error)).splitlines()[0][:200]}", file=sys.stderr)
            calls.pop(peer, None)
    error = float(np.abs(actual - expected).max() / np.abs(expected).max())
    return {"model": name, "batch": batch, "error": error, "compile_s": compile_s, "first_s": first_s,
            "feed": feed, "ms": median_times(calls, arguments.rounds)}


def row(result: dict[str, Any]) -> str:
    ms = result["ms"]
    peers = [value for key, value in ms.items() if key != "sluice"]
    cells = [f"{ms[key]:.3f}" if key in ms else "–" for key in COLUMNS]
    return (f"| {result['model']} | {result['batch']} | {' | '.join(cells)} | {min(peers) / ms['sluice']:.2f} | "
            f"{result['error']:.1e} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--models", nargs="+", default=USUAL, help="NAME,BATCH")
    parser.add_argument("--modes", nargs="*", default=("default", "reduce-overhead"), help="of torch.compile")
    parser.add_argument("--profile", action="store_true", help="print where Sluice's time goes")
    parser.add_argument("--device", default="cuda", help="of PyTorch")
    parser.add_argument("--folder", type=Path, help="keeps the exported networks, for a later call")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    print(HEAD)
    print("|" + "---|" * (HEAD.count("|") - 1))
    results = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.folder or Path(scratch)
        folder.mkdir(exist_ok=True)
        for text in arguments.models:
            name, batch = text.split(",")
            try:
                results.append(measure(name, int(batch), arguments, folder))
            except Exception as error:  # the others still say something
                print(f"{text}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
                continue
            print(row(results[-1]), flush=True)
            feed = results[-1].pop("feed")
            if arguments.profile:
                print(sluice.load(folder / f"{name}-{batch}.sluice").profile(feed, runs=5), file=sys.stderr)
            if arguments.json:
                arguments.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
