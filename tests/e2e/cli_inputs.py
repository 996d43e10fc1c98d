#!/usr/bin/env python3
"""What `sluice run` takes and writes: images that it resizes and normalises, and JSON for the values that
.npy files cannot hold."""

from __future__ import annotations

import json
import struct
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper
from report import ROOT, run_cases

from harness.sluice_cli import SluiceError, run_command

JPEG = ROOT / "tests/fuzz/corpus/photo/jpeg"  # 32 x 32, coloured
PNG = ROOT / "tests/fuzz/corpus/photo/png"


def write_model(folder: Path, nodes: list[onnx.NodeProto], inputs: list[onnx.ValueInfoProto],
                outputs: list[onnx.ValueInfoProto]) -> Path:
    graph = helper.make_graph(nodes, "values", inputs, outputs)
    path = folder / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)
    return path


def identity(folder: Path, element: int, shape: list[int]) -> Path:
    return write_model(folder, [helper.make_node("Identity", ["x"], ["y"])],
                       [helper.make_tensor_value_info("x", element, shape)],
                       [helper.make_tensor_value_info("y", element, shape)])


def image_output(folder: Path, image: Path, suffix: str, height: int, *options: str) -> np.ndarray:
    """What the model saw of the image, as [1, 3, height, height]."""
    model = identity(folder, TensorProto.FLOAT, [1, 3, height, height])
    copy = folder / f"image{suffix}"
    copy.write_bytes(image.read_bytes())
    run_command("run", model, "--input", copy, "--output-dir", folder, *options)
    return np.load(folder / "y.npy")


def jpeg_is_decoded_like_png(folder: Path) -> str:
    jpeg, png = image_output(folder, JPEG, ".jpg", 32), image_output(folder, PNG, ".png", 32)
    correlation = np.corrcoef(jpeg.ravel(), png.ravel())[0, 1]
    return "" if correlation > 0.9 else f"correlation {correlation:.2f}"


def grey_weighs_colours_as_jpeg_does(folder: Path) -> str:
    colours = image_output(folder, PNG, ".png", 32)[0]
    model = identity(folder, TensorProto.FLOAT, [1, 1, 32, 32])
    run_command("run", model, "--input", folder / "image.png", "--output-dir", folder)
    expected = np.tensordot([0.299, 0.587, 0.114], colours, 1)
    error = np.abs(np.load(folder / "y.npy")[0, 0] - expected).max() * 255
    return "" if error < 1 else f"error {error:.2f} of 255"


def png_of_16_bits(samples: np.ndarray) -> bytes:
    """Grey, without a chunk about its gamma. `samples`: [height, width] of u16."""
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + row.tobytes() for row in samples.astype(">u2"))
    head = struct.pack(">IIBBBBB", samples.shape[1], samples.shape[0], 16, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def samples_of_16_bits_are_as_bright_as_of_8(folder: Path) -> str:
    expected = np.arange(64, dtype=np.uint8).reshape(8, 8) * 4
    file = folder / "image.png"
    file.write_bytes(png_of_16_bits(expected.astype(np.uint16) * 257))
    model = identity(folder, TensorProto.UINT8, [1, 1, 8, 8])
    run_command("run", model, "--input", file, "--output-dir", folder)
    if (np.load(folder / "y.npy")[0, 0] != expected).any():
        return "input of 16 bits differs"
    np.save(folder / "stream.npy", np.frombuffer(file.read_bytes(), np.uint8))
    model = write_model(folder, [helper.make_node("ImageDecoder", ["x"], ["y"], pixel_format="Grayscale")],
                        [helper.make_tensor_value_info("x", TensorProto.UINT8, ["n"])],
                        [helper.make_tensor_value_info("y", TensorProto.UINT8, ["h", "w", "c"])])
    run_command("run", model, "--input", folder / "stream.npy", "--output-dir", folder)
    return "" if (np.load(folder / "y.npy")[:, :, 0] == expected).all() else "ImageDecoder's differ"


def jpeg_that_ends_early_is_refused(folder: Path) -> str:
    model = identity(folder, TensorProto.FLOAT, [1, 3, 32, 32])
    file = folder / "image.jpg"
    file.write_bytes(JPEG.read_bytes()[:-100])
    try:
        run_command("run", model, "--input", file)
    except SluiceError as error:
        return "" if "remature end" in str(error) else str(error)
    return "it is decoded"


def image_is_resized_and_cropped(folder: Path) -> str:
    whole = image_output(folder, PNG, ".png", 32)
    halves = whole.reshape(1, 3, 16, 2, 16, 2).mean((3, 5))
    seen = image_output(folder, PNG, ".png", 12, "--resize", "16")
    error = np.abs(seen - halves[:, :, 2:14, 2:14]).mean()
    return "" if error < 0.05 else f"mean error {error:.3f}"


def image_is_normalised_per_channel(folder: Path) -> str:
    plain = image_output(folder, PNG, ".png", 32)
    seen = image_output(folder, PNG, ".png", 32, "--mean", "0.5,0.4,0.3", "--std", "0.2,0.25,0.5")
    means = np.array([0.5, 0.4, 0.3], np.float32).reshape(1, 3, 1, 1)
    deviations = np.array([0.2, 0.25, 0.5], np.float32).reshape(1, 3, 1, 1)
    error = np.abs(seen - (plain - means) / deviations).max()
    return "" if error < 1e-5 else f"error {error:.1e}"


def echoes(element: int, value: dict) -> Callable[[Path], str]:
    def run(folder: Path) -> str:
        model = identity(folder, element, value["shape"])
        (folder / "x.json").write_text(json.dumps(value))
        run_command("run", model, "--input", f"x={folder}/x.json", "--output-dir", folder, "--backend", "reference")
        written = json.loads((folder / "y.json").read_text())
        return "" if written == value else f"got {written}, gave {value}"
    return run


def f16_json_becomes_npy(folder: Path) -> str:
    model = identity(folder, TensorProto.FLOAT16, [2])
    (folder / "x.json").write_text('{"type": "f16", "shape": [2], "data": [0.5, -3]}')
    run_command("run", model, "--input", folder / "x.json", "--output-dir", folder, "--backend", "reference")
    written = np.load(folder / "y.npy")
    return "" if written.dtype == np.float16 and written.tolist() == [0.5, -3] else f"got {written!r}"


def sequence_is_read(folder: Path) -> str:
    x = helper.make_tensor_sequence_value_info("x", TensorProto.FLOAT, None)
    at = helper.make_tensor_value_info("at", TensorProto.INT64, [])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    model = write_model(folder, [helper.make_node("SequenceAt", ["x", "at"], ["y"])], [x, at], [y])
    items = [{"type": "f32", "shape": [1], "data": [number]} for number in (1.5, 2.5, 3.5)]
    (folder / "x.json").write_text(json.dumps({"sequence": items}))
    (folder / "at.json").write_text('{"type": "i64", "shape": [], "data": [1]}')
    run_command("run", model, "--input", f"x={folder}/x.json", "--input", f"at={folder}/at.json",
                "--output-dir", folder)
    written = np.load(folder / "y.npy")
    return "" if written.tolist() == [2.5] else f"got {written!r}"


def npz_has_the_inputs(save: Callable[..., None]) -> Callable[[Path], str]:
    def run(folder: Path) -> str:
        def info(name: str) -> onnx.ValueInfoProto:
            return helper.make_tensor_value_info(name, TensorProto.FLOAT, [3])
        model = write_model(folder, [helper.make_node("Sub", ["a", "b"], ["y"])], [info("a"), info("b")], [info("y")])
        a, b, other = (np.arange(3, dtype=np.float32) * factor for factor in (5, 2, 3))
        save(folder / "all.npz", b=b, a=a, unused=np.zeros(1000))
        np.save(folder / "b.npy", other)
        found = []
        for more in ([], ["--input", f"b={folder}/b.npy"]):
            run_command("run", model, "--input", folder / "all.npz", *more, "--output-dir", folder)
            found.append(np.load(folder / "y.npy").tolist())
        return "" if found == [(a - b).tolist(), (a - other).tolist()] else f"got {found}"
    return run


def random_values_differ_and_are_written_for_each_type(folder: Path) -> str:
    """Floats of few bits were all zeros, and those without a name in NumPy were not written."""
    for kind in ["FLOAT", "DOUBLE", "FLOAT16", "BFLOAT16", "INT32", "UINT8", "BOOL"]:
        for old in folder.glob("y.*"):
            old.unlink()
        model = identity(folder, getattr(TensorProto, kind), [64])
        run_command("run", model, "--input", "x=random", "--output-dir", folder)
        (written,) = folder.glob("y.*")
        values = np.load(written).ravel() if written.suffix == ".npy" else json.loads(written.read_text())["data"]
        numbers = {str(value) for value in values}
        if len(numbers) < 2 or "nan" in numbers:
            return f"{kind}: {sorted(numbers)[:4]}"
    return ""


def summary_shows_numbers_of_each_type(folder: Path) -> str:
    values = {"f32": ([0.5, -3], "min -3, max 0.5, mean -1.25, starts 0.5 -3"),
              "f16": ([0.5, -3], "min -3, max 0.5, mean -1.25, starts 0.5 -3"),
              "bf16": ([0.5, -3], "min -3, max 0.5, mean -1.25, starts 0.5 -3"),
              "i64": ([2**62, 1], f"min 1, max {2**62}, mean 2.306e+18, starts {2**62} 1"),
              "u8": ([200, 0], "min 0, max 200, mean 100, starts 200 0"),
              "string": (["a", "b"], "")}
    elements = {"f32": "FLOAT", "f16": "FLOAT16", "bf16": "BFLOAT16", "i64": "INT64", "u8": "UINT8", "string": "STRING"}
    for kind, (data, text) in values.items():
        model = identity(folder, getattr(TensorProto, elements[kind]), [2])
        (folder / "x.json").write_text(json.dumps({"type": kind, "shape": [2], "data": data}))
        shown = run_command("run", model, "--input", folder / "x.json", "--backend", "reference").strip()
        wanted = f"y: {kind}[2]" + (f", {text}" if text else "")
        if shown != wanted:
            return f"got {shown!r}, wanted {wanted!r}"
    return ""


CASES = {
    "random values differ, and each type is written": random_values_differ_and_are_written_for_each_type,
    "a JPEG gives nearly the pixels of the same PNG": jpeg_is_decoded_like_png,
    "grey weighs colours as JPEG does": grey_weighs_colours_as_jpeg_does,
    "samples of 16 bits are as bright as of 8": samples_of_16_bits_are_as_bright_as_of_8,
    "a JPEG that ends early is refused": jpeg_that_ends_early_is_refused,
    "an image is resized, and its centre cropped": image_is_resized_and_cropped,
    "an image is normalised channel by channel": image_is_normalised_per_channel,
    "a summary shows the numbers of each type": summary_shows_numbers_of_each_type,
    "strings come in and out as JSON": echoes(
        TensorProto.STRING, {"type": "string", "shape": [2], "data": ["a b", "ü"]}),
    "bf16 comes in and out as JSON": echoes(
        TensorProto.BFLOAT16, {"type": "bf16", "shape": [2, 1], "data": [0.5, -2.0]}),
    "4-bit integers come in and out as JSON": echoes(
        TensorProto.INT4, {"type": "i4", "shape": [3], "data": [-8, 7, 1]}),
    "f16 comes in as JSON and out as .npy": f16_json_becomes_npy,
    "a sequence comes in as JSON": sequence_is_read,
    "an .npz file has all inputs": npz_has_the_inputs(np.savez),
    "a compressed .npz file has all inputs": npz_has_the_inputs(np.savez_compressed),
}

if __name__ == "__main__":
    sys.exit(run_cases(CASES))
