"""What a few nodes compute, by onnxruntime, or by ONNX's own reference where that refuses.

Nodes run one by one, without a graph around them, so that onnxruntime's fusions do not blur what is
expected and every value of a graph is known.
"""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import onnx
from onnx import helper

from random_graphs import exceptions
from random_graphs.tolerance import BF16

os.environ["ALLOW_RELEASED_ONNX_OPSET_ONLY"] = "0"  # else onnxruntime refuses the newest opsets

import onnxruntime  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

onnxruntime.set_default_logger_severity(4)

NEWEST = 26  # opset of onnxruntime 1.31
Run = Callable[[Sequence[np.ndarray]], list[np.ndarray]]
opinions: Counter[str] = Counter()  # how many fragments each of the two evaluated


class Refused(Exception):
    """Neither evaluator supports these nodes; the graph continues without them."""


def walk(nodes: Sequence[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
    """The nodes, and those of the bodies in them."""
    for node in nodes:
        yield node
        for attribute in node.attribute:
            yield from walk(attribute.g.node)


def element_type(array: np.ndarray) -> int:
    if array.dtype == object:
        return onnx.TensorProto.STRING
    return helper.np_dtype_to_tensor_dtype(array.dtype)


def model_of(nodes: Sequence[onnx.NodeProto], inputs: dict[str, np.ndarray],
             outputs: Sequence[str], opset: int) -> onnx.ModelProto:
    typed = [helper.make_tensor_value_info(name, element_type(array), None)
             for name, array in inputs.items()]
    untyped = [helper.make_empty_tensor_value_info(name) for name in outputs]
    graph = helper.make_graph(list(nodes), "fragment", typed, untyped)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)],
                             ir_version=min(13, helper.VERSION_TABLE[-1][1]))


def by_onnxruntime(model: onnx.ModelProto, names: list[str]) -> Run:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                           providers=["CPUExecutionProvider"])
    return lambda arrays: session.run(None, dict(zip(names, arrays)))


def by_reference(model: onnx.ModelProto, names: list[str]) -> Run:
    evaluator = ReferenceEvaluator(model)

    def run(arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return [np.asarray(item) for item in evaluator.run(None, dict(zip(names, arrays)))]

    return run


def has_standard_types(model: onnx.ModelProto, results: Sequence[np.ndarray]) -> bool:
    """Whether the element types are those that the standard infers, where it infers any."""
    inferred = onnx.shape_inference.infer_shapes(model).graph.output
    wanted = [value.type.tensor_type.elem_type for value in inferred]
    return all(kind in (onnx.TensorProto.UNDEFINED, element_type(result))
               for kind, result in zip(wanted, results))


def is_plain(array: np.ndarray) -> bool:
    """Whether onnxruntime's Python interface accepts the type without conversion."""
    return array.dtype != BF16 and array.dtype.kind in "fiubO"


def known_to_onnxruntime(nodes: Sequence[onnx.NodeProto], opset: int) -> int:
    """Its newest opset, if that has the same operators; it refuses newer ones as a whole."""
    if opset <= NEWEST:
        return opset
    since = [onnx.defs.get_schema(node.op_type, opset).since_version for node in walk(nodes)]
    return NEWEST if max(since) <= NEWEST else opset


def runner(nodes: Sequence[onnx.NodeProto], inputs: dict[str, np.ndarray],
           outputs: Sequence[str], opset: int, only_onnxruntime: bool = False
           ) -> tuple[Run, list[np.ndarray]]:
    """A way to run the nodes, and what they make of `inputs`. Raises Refused.

    A body is run as a whole by onnxruntime, so that what is in it has to be `only_onnxruntime`'s.
    """
    opset = known_to_onnxruntime(nodes, opset)
    model, names = model_of(nodes, inputs, outputs, opset), list(inputs)
    arrays = list(inputs.values())
    opinion = exceptions.opinion_on(nodes, inputs, opset)
    if opinion is exceptions.Opinion.ONNXRUNTIME and all(map(is_plain, arrays)):
        try:
            run = by_onnxruntime(model, names)
            results = run(arrays)
            opinions["onnxruntime"] += 1
            return run, results
        except Exception:  # any exception: this evaluator has no opinion
            pass
    is_body = only_onnxruntime or len(list(walk(nodes))) > len(nodes)
    if opinion is exceptions.Opinion.NONE or is_body:
        raise Refused
    if opinion is exceptions.Opinion.FORMULA:
        formula = lambda given: [exceptions.by_formula(nodes[0], given, opset)]  # noqa: E731
        return formula, formula(arrays)
    try:
        run = by_reference(model, names)
        results = run(arrays)
    except Exception as problem:
        raise Refused(str(problem)) from problem
    if not has_standard_types(model, results):
        raise Refused  # NumPy's promotion, as in the u64 sum of squares of u32
    opinions["the reference of ONNX"] += 1
    return run, results
