#!/usr/bin/env python3
"""Damaged image files: ImageDecoder answers or refuses, the same on both backends, and never crashes.

The files are those of the onnx package's own cases, one per format: cut off at many places, and
with bytes changed.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import newest_cases
import numpy as np
import onnx
from onnx import helper, numpy_helper
from report import Report, scratch_folder

from random_graphs.verdicts import judge

FORMATS = ("bmp", "jpeg", "jpeg2k", "png", "pnm", "tiff", "webp")
CUTS = 40
CHANGES = 110


def files() -> dict[str, np.ndarray]:
    """A file of each format, from the cases in RGB."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = {case.name: case for case in newest_cases.collect()}
    return {name: np.asarray(cases[f"test_image_decoder_decode_{name}_rgb"].data_sets[0][0][0])
            for name in FORMATS if f"test_image_decoder_decode_{name}_rgb" in cases}


def damaged(file: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
    """Truncated copies, and copies with a few changed bytes, half of these in their first 64 bytes."""
    results = [file[: int(length)] for length in np.linspace(0, file.size - 1, CUTS)]
    for number in range(CHANGES):
        changed = file.copy()
        reach = min(64, file.size) if number % 2 else file.size
        places = rng.integers(0, reach, int(rng.integers(1, 4)))
        changed[places] = rng.choice(np.array([0, 1, 0x7F, 0x80, 0xFF, 0xC4, 0xDA], np.uint8),
                                     places.size)
        results.append(changed)
    return results


def write_case(folder: Path, name: str, inputs: list[np.ndarray]) -> None:
    stream = helper.make_tensor_value_info("stream", onnx.TensorProto.UINT8, ["n"])
    image = helper.make_tensor_value_info("image", onnx.TensorProto.UINT8, ["h", "w", "c"])
    node = helper.make_node("ImageDecoder", ["stream"], ["image"], name, pixel_format="RGB")
    model = helper.make_model(helper.make_graph([node], name, [stream], [image]), ir_version=10,
                              opset_imports=[helper.make_opsetid("", 20)])
    for index, data in enumerate(inputs):
        data_set = folder / f"test_data_set_{index}"
        data_set.mkdir(parents=True)
        (data_set / "input_0.pb").write_bytes(
            numpy_helper.from_array(data, "stream").SerializeToString())
    (folder / "model.onnx").write_bytes(model.SerializeToString())


def main() -> int:
    report = Report()
    rng = np.random.default_rng(1)
    with scratch_folder() as scratch:
        folders = []
        for name, file in files().items():
            folders.append(Path(scratch) / name)
            write_case(folders[-1], name, damaged(file, rng))
        report.add(len(folders) >= 2, f"{len(folders)} formats, {CUTS + CHANGES} files of each")
        for name, verdict in judge(folders, "cpu", "--against", "reference").items():
            report.add(verdict.word == "pass", f"{name}: {verdict.word} {verdict.text}")
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
