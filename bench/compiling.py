#!/usr/bin/env python3
"""Memory and time of `sluice compile`, and sizes of packages, beside the creation of an onnxruntime session.

    .venv/bin/python bench/compiling.py resnet50 gpt2_small

`peak` is the largest resident memory of the process, mapped pages of files included, less that of `sluice --version`, as
a share of the ONNX file; `packed only` the same with --packed-only. Compilations and sessions take turns, each in a
process of its own; times are medians, and `vs session` is the median of the ratios within a turn.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "models"))

import make  # noqa: E402
from harness import sluice_cli  # noqa: E402
from harness.peak import Peak, run_for_peak  # noqa: E402
from networks import NETWORKS  # noqa: E402

# Prints the seconds that the session alone takes, without the start of Python and the import.
SESSION = """
import sys, time
import onnxruntime
start = time.perf_counter()
onnxruntime.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
print(time.perf_counter() - start, file=sys.stderr)
"""


def compilation(model: Path, package: Path, *options: str) -> Peak:
    """Into a new file: one that is replaced costs the time to free its pages."""
    package.unlink(missing_ok=True)
    done = run_for_peak([sluice_cli.binary(), "compile", model, "-o", package, *options])
    if done.exit_code != 0:
        raise sluice_cli.SluiceError(done.errors)
    return done


def session_seconds(model: Path) -> float:
    return float(run_for_peak([sys.executable, "-c", SESSION, model]).errors.splitlines()[-1])


def measure(model: Path, rounds: int, folder: Path) -> str:
    size = model.stat().st_size
    empty = run_for_peak([sluice_cli.binary(), "--version"]).peak_bytes
    package, small = folder / f"{model.stem}.sluice", folder / f"{model.stem}.packed.sluice"
    turns = [(compilation(model, package), compilation(model, small, "--packed-only"), session_seconds(model))
             for _ in range(rounds)]
    peaks = [(max(turn[which].peak_bytes for turn in turns) - empty) / size for which in (0, 1)]
    seconds = [statistics.median(turn[which].seconds for turn in turns) for which in (0, 1)]
    session = statistics.median(turn[2] for turn in turns)
    ratio = statistics.median(turn[0].seconds / turn[2] for turn in turns)
    sizes = [path.stat().st_size / size for path in (package, small)]
    return (f"| {model.stem} | {size / 1e6:.0f} | {peaks[0]:.2f} | {peaks[1]:.2f} | {sizes[0]:.2f} | {sizes[1]:.2f}"
            f" | {seconds[0]:.2f} | {seconds[1]:.2f} | {session:.2f} | {ratio:.2f}x |")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="model", help=f"an ONNX file, or one of {', '.join(NETWORKS)}")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--folder", type=Path, default=sluice_cli.ROOT / "build/bench")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    print("| network | MB | peak | packed only | package | packed only | s | packed only | session s | vs session |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|", flush=True)
    for name in arguments.models:
        model = Path(name) if name.endswith(".onnx") else arguments.folder / f"{name}.onnx"
        if not model.exists():
            make.write(name, arguments.folder)
        print(measure(model, arguments.rounds, arguments.folder), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
