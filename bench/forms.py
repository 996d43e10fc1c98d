#!/usr/bin/env python3
"""Speed and size of files in 16, 8 and 4 bits: beside Sluice's own f32, and beside onnxruntime on the same file.

    .venv/bin/python bench/forms.py f16:gpt2_small,bert_base int4:gpt2_small dynamic:bert_base qoperator:resnet50
    .venv/bin/python bench/forms.py --quick dynamic-conv:mobilenetv2

"dynamic" has the products of the network in 8 bits, "dynamic-conv" the convolutions too. The processes take turns as in
compare.py. `of f32` is Sluice's speed as a share of its speed on the f32 file; `package` is the size of the compiled file
as a share of the ONNX file.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "models"))

import make  # noqa: E402
from harness import agreement, sluice_cli, workers  # noqa: E402
from harness.forms import FORMS  # noqa: E402
from networks import NETWORKS  # noqa: E402

PEERLESS = {"bf16"}  # onnxruntime's CPU kernels take none


def measure(form: str, name: str, threads: int, arguments: argparse.Namespace) -> str:
    folder = arguments.folder
    folder.mkdir(parents=True, exist_ok=True)
    plain = folder / f"{name}.onnx"
    if not plain.exists():
        make.write(name, folder)
    samples = [NETWORKS[name].inputs(np.random.default_rng(seed)) for seed in range(4)]
    model = FORMS[form](plain, samples)
    packages = {"f32": sluice_cli.compile_model(plain, folder / f"{name}.sluice"),
                "narrow": sluice_cli.compile_model(model, folder / f"{name}.{form}.sluice")}
    inputs = sluice_cli.save_inputs(samples[0], folder / name)
    error = agreement.error_against(packages["narrow"], samples[0],
                                    agreement.onnxruntime_outputs(plain, samples[0]))
    crew = {key: workers.sluice_worker([workers.Model(package, inputs)], threads)
            for key, package in packages.items()}
    if form not in PEERLESS:
        crew["onnxruntime"] = workers.peer_worker("onnxruntime", [workers.Model(model, inputs)], threads)
    try:
        for worker in reversed(crew.values()):
            worker.run(arguments.seconds)
        turns = [{key: worker.run(arguments.seconds) for key, worker in crew.items()}
                 for _ in range(arguments.rounds)]
    finally:
        for worker in crew.values():
            worker.close()

    def ratio(key: str) -> str:
        if key not in crew:
            return "     -"
        return f"{statistics.median(turn[key]['median_us'] / turn['narrow']['median_us'] for turn in turns):5.2f}x"

    own = statistics.median(turn["narrow"]["median_us"] for turn in turns) / 1000
    size = packages["narrow"].stat().st_size / model.stat().st_size
    return (f"{form:12} {name:18} {threads:7} {own:10.3f} {ratio('f32'):>8} {ratio('onnxruntime'):>15}"
            f" {size:8.2f} {error:8.0e}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="+", metavar="FORM:A,B", help=f"a form of {', '.join(FORMS)}, and networks")
    parser.add_argument("--threads", default="1,2", metavar="N,N")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=0.1)
    parser.add_argument("--quick", action="store_true", help="3 rounds")
    parser.add_argument("--folder", type=Path, default=sluice_cli.ROOT / "build/bench")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.rounds = 3
    print("form         network            threads  Sluice ms   of f32  vs onnxruntime  package    error", flush=True)
    for word in arguments.what:
        form, names = word.split(":")
        for name in names.split(","):
            for threads in arguments.threads.split(","):
                print(measure(form, name, int(threads), arguments), flush=True)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (sluice_cli.SluiceError, RuntimeError) as error:
        sys.exit(f"forms: {error}")
