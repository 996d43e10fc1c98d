"""Writes a model folder that takes an image file and whose classes have names.

    named_digits.py DIGITS FOLDER      DIGITS is examples/digits; needs the package onnx

The network of DIGITS stands behind ONNX's ImageDecoder: file u8[bytes] to probabilities f32[1,10].
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 20  # has ImageDecoder; the other operators of the network did not change since its own
CONFIG = 'output { name: "probabilities" data_type: TYPE_FP32 dims: [ 1, 10 ] label_filename: "labels.txt" }\n'


def decoding(network: onnx.ModelProto) -> onnx.ModelProto:
    """The network with a file in place of its input `image`."""
    graph = network.graph
    steps = [helper.make_node("ImageDecoder", ["file"], ["samples"], pixel_format="Grayscale"),
             helper.make_node("Cast", ["samples"], ["bytes_as_floats"], to=TensorProto.FLOAT),
             helper.make_node("Div", ["bytes_as_floats", "white"], ["rows"]),
             helper.make_node("Reshape", ["rows", "one_image"], ["image"])]
    graph.initializer.extend([numpy_helper.from_array(np.array(255, np.float32), "white"),
                              numpy_helper.from_array(np.array([1, 1, 8, 8]), "one_image")])
    return helper.make_model(
        helper.make_graph([*steps, *graph.node], "named_digits",
                          [helper.make_tensor_value_info("file", TensorProto.UINT8, ["bytes"])],
                          [helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, [1, 10])],
                          graph.initializer),
        opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)


def main() -> None:
    digits, folder = map(Path, sys.argv[1:])
    (folder / "1").mkdir(parents=True)
    onnx.save(decoding(onnx.load(digits / "digits.onnx")), folder / "1" / "model.onnx")
    shutil.copy(digits / "labels.txt", folder)
    (folder / "config.pbtxt").write_text(CONFIG)


if __name__ == "__main__":
    main()
