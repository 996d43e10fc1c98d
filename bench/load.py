#!/usr/bin/env python3
"""How long until ResNet-50 is ready: a .sluice package, and an onnxruntime session.

Each round starts a fresh process per engine, in turn, with the files in the page cache. Counted is
the time inside the process from the call that opens the file to a model that can run: for Sluice
`sluice bench FILE --open` (load the plug-in, map and check the package, make kernels and an
execution context), for onnxruntime the construction of an InferenceSession with all optimisations.
Starting the process, the Python interpreter and `import onnxruntime` are not counted.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "models"))

import make  # noqa: E402
from harness import sluice_cli  # noqa: E402
from networks import NETWORKS  # noqa: E402

SESSION = """
import sys, time, onnxruntime
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = int(sys.argv[2])
start = time.perf_counter()
onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
print((time.perf_counter() - start) * 1e6)
"""


def sluice_us(package: Path, threads: int) -> float:
    output = sluice_cli.run_command("bench", package, "--open", "--threads", threads, "--json")
    return json.loads(output)["open_us"]


def onnxruntime_us(model: Path, threads: int) -> float:
    command = [sys.executable, "-c", SESSION, str(model), str(threads)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--network", default="resnet50", choices=NETWORKS)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--folder", type=Path, default=sluice_cli.ROOT / "build/bench",
                        help="where models and packages are kept (default: %(default)s)")
    return parser.parse_args()


def main() -> None:
    arguments = parse_arguments()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    model = arguments.folder / f"{arguments.network}.onnx"
    if not model.exists():
        make.write(arguments.network, arguments.folder)
    package = sluice_cli.compile_model(model, arguments.folder / f"{arguments.network}.sluice")
    sluice_us(package, arguments.threads)  # fills the page cache
    onnxruntime_us(model, arguments.threads)
    rounds = [
        (sluice_us(package, arguments.threads), onnxruntime_us(model, arguments.threads))
        for _ in range(arguments.rounds)
    ]
    sluice, ort = (statistics.median(times) for times in zip(*rounds))
    ratio = statistics.median(theirs / ours for ours, theirs in rounds)
    if arguments.json:
        print(json.dumps({"sluice_us": sluice, "onnxruntime_us": ort, "ratio": ratio}))
        return
    print(f"{arguments.network}: Sluice {sluice / 1e3:.2f} ms, onnxruntime {ort / 1e3:.2f} ms;"
          f" {ratio:.1f} times faster (medians of {arguments.rounds} interleaved rounds)")


if __name__ == "__main__":
    try:
        main()
    except sluice_cli.SluiceError as error:
        sys.exit(f"load: {error}")
