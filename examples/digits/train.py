#!/usr/bin/env python3
"""Trains a small convolutional network on scikit-learn's handwritten digits.

Writes digits.onnx, the first twelve images of the held-out fifth as PNG files, and what they
show; all from one fixed seed.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import cnn
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from PIL import Image
from sklearn.datasets import load_digits

SEED = 8
SHOWN = 12
LABELS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]


def load_split() -> tuple[np.ndarray, np.ndarray, int]:
    """Shuffled 8-bit images [1797, 8, 8], their digits, and how many are held out (the first)."""
    digits = load_digits()
    order = np.random.default_rng(SEED).permutation(len(digits.images))
    pixels = np.round(digits.images[order] * (255 / 16)).astype(np.uint8)
    return pixels, digits.target[order], len(order) // 5


def as_input(pixels: np.ndarray) -> np.ndarray:
    """[n, 8, 8] of 0..255 to the network's [n, 1, 8, 8] of 0..1."""
    return pixels[:, None].astype(np.float32) / 255


def train(pixels: np.ndarray, labels: np.ndarray, epochs: int) -> cnn.Parameters:
    rng = np.random.default_rng(SEED)
    parameters = cnn.initial_parameters(rng)
    adam = cnn.Adam(parameters)
    batch = 32
    for epoch in range(epochs):
        rate = 0.005 * 0.9**epoch
        order = rng.permutation(len(pixels))
        for start in range(0, len(order), batch):
            chosen = order[start : start + batch]
            adam.update(cnn.gradients(parameters, as_input(pixels[chosen]), labels[chosen]), rate)
    return parameters


def to_onnx(parameters: cnn.Parameters) -> onnx.ModelProto:
    conv = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    halve = {"kernel_shape": [2, 2], "strides": [2, 2]}
    node = helper.make_node
    nodes = [
        node("Conv", ["image", "conv1.weight", "conv1.bias"], ["conv1"], "conv1", **conv),
        node("Relu", ["conv1"], ["relu1"], "relu1"),
        node("MaxPool", ["relu1"], ["pool1"], "pool1", **halve),
        node("Conv", ["pool1", "conv2.weight", "conv2.bias"], ["conv2"], "conv2", **conv),
        node("Relu", ["conv2"], ["relu2"], "relu2"),
        node("MaxPool", ["relu2"], ["pool2"], "pool2", **halve),
        node("Flatten", ["pool2"], ["flat"], "flat"),
        node("Gemm", ["flat", "fc.weight", "fc.bias"], ["logits"], "fc", transB=1),
        node("Softmax", ["logits"], ["probabilities"], "softmax", axis=1),
    ]
    graph = helper.make_graph(
        nodes,
        "digits",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["N", 1, 8, 8])],
        [helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["N", 10])],
        [numpy_helper.from_array(value, name) for name, value in parameters.items()],
    )
    opset = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opset, ir_version=8, producer_name="sluice")


def write_images(folder: Path, pixels: np.ndarray, labels: np.ndarray) -> None:
    images = folder / "images"
    images.mkdir(parents=True, exist_ok=True)
    for index, image in enumerate(pixels):
        Image.fromarray(image).save(images / f"{index:02}.png")
    lines = [f"{index:02}.png {LABELS[label]}\n" for index, label in enumerate(labels)]
    (folder / "expected.txt").write_text("".join(lines))
    (folder / "labels.txt").write_text("".join(f"{label}\n" for label in LABELS))


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent,
                        help="folder for the model and the images (default: beside this script)")
    parser.add_argument("--epochs", type=int, default=30, help="passes over the training images")
    return parser.parse_args()


def main() -> None:
    arguments = parse_arguments()
    pixels, labels, held_out = load_split()
    parameters = train(pixels[held_out:], labels[held_out:], arguments.epochs)
    guesses = cnn.predict(parameters, as_input(pixels[:held_out])).argmax(axis=1)
    right = int((guesses == labels[:held_out]).sum())
    print(f"{right} of {held_out} held-out images right ({100 * right / held_out:.1f} %)")
    write_images(arguments.output, pixels[:SHOWN], labels[:SHOWN])
    model = to_onnx(parameters)
    onnx.checker.check_model(model)
    onnx.save_model(model, arguments.output / "digits.onnx")


if __name__ == "__main__":
    main()
