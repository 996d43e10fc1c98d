"""One ONNX model as several, for a Pipeline. Needs the package `onnx`."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Sequence

import onnx

from ..errors import InvalidArgument


def cut(model: onnx.ModelProto | str | os.PathLike[str], tensors: Sequence[str]) -> list[onnx.ModelProto]:
    """Parts of `model`, one more than `tensors`: the first gives tensors[0], which the second takes, and so on.

    The last part gives the model's outputs. What leads to a later part around a tensor is computed there again; the
    tensor of a cut should be one that everything goes through.

    Raises: InvalidArgument for a name that no node's output has.
    """
    if not isinstance(model, onnx.ModelProto):
        model = onnx.load(pathlib.Path(model))
    known = {name for node in model.graph.node for name in node.output}
    for name in tensors:
        if name not in known:
            raise InvalidArgument(f'no node of the model gives "{name}"; a cut is the name of a node\'s output')
    extractor = onnx.utils.Extractor(onnx.shape_inference.infer_shapes(model))
    given = [value.name for value in model.graph.input]
    ends = [*([name] for name in tensors), [value.name for value in model.graph.output]]
    parts = []
    for number, outputs in enumerate(ends):
        part = extractor.extract_model([*given, *tensors[:number]], outputs)
        used = {name for node in part.graph.node for name in node.input}
        kept = [value for value in part.graph.input if value.name in used]
        del part.graph.input[:]
        part.graph.input.extend(kept)
        parts.append(part)
    return parts
