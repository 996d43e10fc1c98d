#!/usr/bin/env python3
"""Median latency of Sluice and onnxruntime on public architectures of torchvision, timm and transformers.

The architectures keep their published sizes or say otherwise (models/public_export.py), have seeded random
weights, and are exported by PyTorch's current exporter in the environment of `scripts/torch-env --make`. They are
measured as compare.py measures its networks, with its options. `--quick --seconds 0.2` takes at most 15 minutes once
the networks are exported. Nothing in Sluice is tuned to them.
"""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np

import compare
from harness import sluice_cli
from networks import NETWORKS, Network

NAMES = [
    "convnext_tiny", "deeplabv3_mobilenet", "deit_tiny", "densenet121", "distilbert", "efficientformer_l1", "gpt2",
    "levit_128", "llama_small", "mixer_s16", "mobilenet_v3_large", "mobilevit_s", "regnet_y_800mf", "resnet18",
    "shufflenet_v2", "swin_t", "t5_encoder", "whisper_encoder",
]  # fmt: skip

TRANSFORMERS = [
    "deit_tiny", "distilbert", "gpt2", "llama_small", "swin_t", "t5_encoder", "whisper_encoder",
]  # fmt: skip
LANGUAGE_AND_SPEECH = ["distilbert", "gpt2", "llama_small", "t5_encoder", "whisper_encoder"]
GROUPS = {
    "transformers": TRANSFORMERS,
    "vision": [name for name in NAMES if name not in LANGUAGE_AND_SPEECH],
}


def export(names: list[str], folder: Path) -> None:
    """Exports the networks that `folder` does not have, one process each: torch keeps what it traced."""
    missing = [name for name in names if not (folder / f"{name}.onnx").exists()]
    if not missing:
        return
    found = subprocess.run([sluice_cli.ROOT / "scripts/torch-env"], stdout=subprocess.PIPE, text=True, check=False)
    if found.returncode != 0:
        raise RuntimeError("no environment with torch; `scripts/torch-env --make` makes it")
    environment = Path(found.stdout.strip())
    script = sluice_cli.ROOT / "bench/models/public_export.py"
    for name in missing:
        subprocess.run(
            ["env", f"LD_LIBRARY_PATH={environment}/stubs", environment / "bin/python", script, folder, name],
            stdout=subprocess.DEVNULL, check=True)


def inputs_of(path: Path, _rng: np.random.Generator) -> dict[str, np.ndarray]:
    with np.load(path) as file:
        return dict(file)


def main() -> int:
    folder = sluice_cli.ROOT / "build/bench/public"
    if "--folder" in sys.argv:
        folder = Path(sys.argv[sys.argv.index("--folder") + 1])
    else:
        sys.argv += ["--folder", str(folder)]
    folder.mkdir(parents=True, exist_ok=True)
    NETWORKS.clear()
    for name in NAMES:
        NETWORKS[name] = Network(partial(export, [name], folder), partial(inputs_of, folder / f"{name}.npz"),
                                 ("onnxruntime",))
    if "--networks" not in sys.argv:
        sys.argv += ["--networks", ",".join(NAMES)]
    chosen = sys.argv[sys.argv.index("--networks") + 1].split(",")
    export([name for name in chosen if name in NETWORKS], folder)
    return compare.main(GROUPS)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (sluice_cli.SluiceError, RuntimeError, subprocess.CalledProcessError) as error:
        sys.exit(f"public: {error}")
