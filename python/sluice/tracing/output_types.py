"""Element types of the outputs of an ONNX graph, which the traced function decides."""

from __future__ import annotations

from collections.abc import Sequence

import onnx
from onnx import TensorProto, helper

from ..errors import Unimplemented
from . import graph_names

_COMPLEX = (TensorProto.COMPLEX64, TensorProto.COMPLEX128)


def match_types(graph: onnx.GraphProto, wanted: Sequence[int]) -> None:
    """Casts outputs that the exporter gave another type than `wanted`, in their order.

    Torch's exporter sums f16 and bf16 in f32 and leaves the sum so. It writes complex numbers as pairs, along an
    axis of their own: Unimplemented.
    """
    for output, number in zip(graph.output, wanted):
        declared = output.type.tensor_type.elem_type
        if declared == number:
            continue
        if number in _COMPLEX:
            raise Unimplemented(f'the result "{output.name}" is complex, and torch.onnx makes pairs of floats of it; '
                                "return torch.view_as_real of it")
        name = output.name
        graph_names.name_values(graph, [name], [f"{name}.exported"])
        output.name = name
        output.type.tensor_type.elem_type = number
        graph.node.append(helper.make_node("Cast", [f"{name}.exported"], [name], to=number))
