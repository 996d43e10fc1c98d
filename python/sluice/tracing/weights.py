"""Weights apart: a package that carries its ONNX graph without weights, which others fill."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import onnx

from .. import dtypes
from ..errors import FailedPrecondition, InvalidArgument
from . import metadata

KEY = "sluice.torch.weights"


class Weight(NamedTuple):
    """A weight that a caller gives: "float32" and its dimensions."""

    dtype: str
    dims: list[int]


def keep(model: onnx.ModelProto, names: Mapping[str, str], tied: Mapping[str, str], unused: Iterable[str],
         options: Sequence[str]) -> None:
    """Gives the model a record to replace weights by. `names`: the initializer of each weight."""
    by_name = {tensor.name: tensor for tensor in model.graph.initializer}
    weights = {name: [by_name[inner].data_type, list(by_name[inner].dims), inner] for name, inner in names.items()}
    graph = _without_data(model, set(names.values()))
    metadata.write(model, KEY, json.dumps({
        "weights": weights, "tied": dict(tied), "unused": sorted(unused), "options": list(options),
        "graph": base64.b64encode(zlib.compress(graph.SerializeToString())).decode()}))


def _without_data(model: onnx.ModelProto, names: set[str]) -> onnx.ModelProto:
    copy = onnx.ModelProto()
    for field, value in model.ListFields():
        if field.name != "graph":
            part = onnx.ModelProto(**{field.name: value})
            copy.MergeFrom(part)
    for field, value in model.graph.ListFields():
        if field.name != "initializer":
            copy.graph.MergeFrom(onnx.GraphProto(**{field.name: value}))
    for node in copy.graph.node:
        del node.metadata_props[:]
    for tensor in model.graph.initializer:
        kept = copy.graph.initializer.add()
        if tensor.name in names:
            kept.name, kept.data_type = tensor.name, tensor.data_type
            kept.dims.extend(tensor.dims)
        else:
            kept.CopyFrom(tensor)
    return copy


class Apart:
    """The record of a package whose weights can be replaced.

    Raises FailedPrecondition if the weights are inlined.
    """

    def __init__(self, package: Mapping[str, str]) -> None:
        text = package.get("metadata." + KEY)
        if text is None:
            raise FailedPrecondition("the package has its weights inlined; trace with inline_weights=False to replace "
                                     "them")
        self._text = text
        self._kept: dict[str, Any] = json.loads(text)

    @property
    def options(self) -> list[str]:
        """The options of the compiler."""
        return list(self._kept["options"])

    def filled(self, given: Mapping[str, Weight], raw: Callable[[str], bytes],
               are_equal: Callable[[str, str], bool]) -> onnx.ModelProto:
        """The graph with other weights. `raw`: the elements of one; `are_equal`: compares two.

        Raises InvalidArgument that names every weight that is missing, unknown or of another shape or type.
        """
        problems = self._problems(given, are_equal)
        if problems:
            raise InvalidArgument("the weights do not fit: " + "; ".join(problems))
        model: onnx.ModelProto = onnx.ModelProto.FromString(zlib.decompress(base64.b64decode(self._kept["graph"])))
        by_name = {tensor.name: tensor for tensor in model.graph.initializer}
        for name, (_, _, initializer) in self._kept["weights"].items():
            by_name[initializer].raw_data = raw(name)
        metadata.write(model, KEY, self._text)
        return model

    def _problems(self, given: Mapping[str, Weight], are_equal: Callable[[str, str], bool]) -> list[str]:
        expected: dict[str, list[Any]] = self._kept["weights"]
        problems = [f'"{name}" is missing' for name in expected if name not in given]
        allowed = {*expected, *self._kept["tied"], *self._kept["unused"]}
        problems += [f'"{name}" is no weight of the model' for name in given if name not in allowed]
        for name, (number, dims, _) in expected.items():
            want = Weight(dtypes.BY_NUMBER[number].numpy.lstrip("."), dims)
            if name in given and given[name] != want:
                problems.append(f'"{name}" is {_describe(given[name])}, the model takes {_describe(want)}')
        for name, main in self._kept["tied"].items():
            if name in given and main in given and not are_equal(name, main):
                problems.append(f'"{name}" and "{main}" are one weight of the model, but differ')
        return problems


def _describe(weight: Weight) -> str:
    return f"{weight.dtype}{weight.dims}"
