"""Where onnxruntime is not asked, and why: the table.

What onnxruntime refuses by itself (a type without a kernel, a newer opset) needs no line here: the
reference evaluator of the onnx package is asked instead.
"""

from __future__ import annotations

import enum
import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import onnx

from random_graphs.tolerance import BF16


class Opinion(enum.Enum):
    ONNXRUNTIME = "onnxruntime"
    REFERENCE = "the reference of ONNX"
    FORMULA = "a formula of FORMULAS"
    NONE = "nobody"


@dataclass(frozen=True)
class Query:
    """A node and its inputs."""

    node: onnx.NodeProto
    inputs: list[np.ndarray]
    opset: int

    def attribute(self, name: str, default: object = None) -> object:
        for attribute in self.node.attribute:
            if attribute.name == name:
                return onnx.helper.get_attribute_value(attribute)
        return default


@dataclass(frozen=True)
class Row:
    """For these operators, where `applies` holds, `ask` is asked."""

    kinds: tuple[str, ...]
    applies: Callable[[Query], bool]
    ask: Opinion
    reason: str


def always(_: Query) -> bool:
    return True


def is_empty(query: Query) -> bool:
    return query.inputs[0].size == 0


def is_f64(query: Query) -> bool:
    return query.inputs[0].dtype == np.float64


def is_not_f32(query: Query) -> bool:
    return query.inputs[0].dtype != np.float32


def is_short(query: Query) -> bool:
    return query.inputs[0].dtype.itemsize < 4


def is_bf16(query: Query) -> bool:
    return query.inputs[0].dtype == BF16


def has_tiny(query: Query) -> bool:
    x = np.abs(query.inputs[0].astype(np.float64))
    return bool(((x > 0) & (x < 1e-18)).any())


def is_skipping_pool(query: Query) -> bool:
    kernel, strides = query.attribute("kernel_shape", []), query.attribute("strides", [])
    is_same = query.attribute("auto_pad", b"NOTSET").startswith(b"SAME")
    return is_same and any(k < s for k, s in zip(kernel, strides))


def is_symmetric(query: Query) -> bool:
    return query.attribute("coordinate_transformation_mode") == b"half_pixel_symmetric"


def is_odd_resize(query: Query) -> bool:
    mode = query.attribute("coordinate_transformation_mode", b"half_pixel")
    return mode not in (b"half_pixel", b"asymmetric") or query.attribute("exclude_outside", 0) == 1


def meets_elements(query: Query) -> bool:
    """Whether samples of an odd Resize fall on elements, but for a rounding."""
    sizes = np.asarray(query.inputs[-1], np.float64)
    length = np.array(query.inputs[0].shape, np.float64)
    if not is_odd_resize(query) or sizes.shape != length.shape:
        return False
    scales = sizes if query.inputs[-1].dtype.kind == "f" else sizes / length
    for size, scale in zip(length, scales):
        places = (np.arange(np.floor(size * scale)) + 0.5) / scale - 0.5
        if scale != 1 and (np.abs(places - np.rint(places)) < 1e-4).any():
            return True
    return False


def is_text(query: Query) -> bool:
    return query.inputs[0].dtype == object


def has_empty_text(query: Query) -> bool:
    return bool(query.attribute("delimiter")) and "" in query.inputs[0]


def norm_p(x: np.ndarray, query: Query) -> np.ndarray:
    axis = query.attribute("axis", -1)
    if query.attribute("p", 2) == 1:
        norm = np.abs(x).sum(axis, keepdims=True)
    else:
        norm = np.sqrt((x * x).sum(axis, keepdims=True))
    return np.divide(x, norm, out=np.zeros_like(x), where=norm != 0)


def of_mean_and_deviation(x: np.ndarray, query: Query) -> np.ndarray:
    axes = tuple(query.attribute("axes", [0, 2, 3]))
    return (x - x.mean(axes, keepdims=True)) / (x.std(axes, keepdims=True) + 1e-9)


def of_groups(x: np.ndarray, query: Query) -> np.ndarray:
    groups, (scale, bias) = query.attribute("num_groups"), (np.asarray(given, np.float64) for given in query.inputs[1:3])
    parts = x.reshape(len(x), groups, -1)
    variance = parts.var(-1, keepdims=True)
    y = (parts - parts.mean(-1, keepdims=True)) / np.sqrt(variance + query.attribute("epsilon", float(np.float32(1e-5))))
    per_channel = 1 if query.opset >= 21 else x.shape[1] // groups  # an older one scales groups
    shape = (1, -1, *[1] * (x.ndim - 2))
    return y.reshape(x.shape) * np.repeat(scale, per_channel).reshape(shape) + np.repeat(bias, per_channel).reshape(shape)


def gelu(x: np.ndarray, query: Query) -> np.ndarray:
    if query.attribute("approximate", b"none") == b"tanh":
        return x * 0.5 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return x * 0.5 * (1 + erf(x / math.sqrt(2)))


erf = np.vectorize(math.erf, otypes=[np.float64])
# In f64, of input 0; the result is rounded to that input's type.
FORMULAS: dict[str, Callable[[np.ndarray, Query], np.ndarray]] = {
    "Erf": lambda x, _: erf(x),
    "Gelu": gelu,
    "GroupNormalization": of_groups,
    "HardSwish": lambda x, _: x * np.clip(x / 6 + 0.5, 0, 1),
    "LpNormalization": norm_p,
    "MeanVarianceNormalization": of_mean_and_deviation,
}


def by_formula(node: onnx.NodeProto, inputs: Sequence[np.ndarray], opset: int) -> np.ndarray:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # the mean of no elements
        wide = np.asarray(inputs[0], np.float64)
        result = FORMULAS[node.op_type](wide, Query(node, list(inputs), opset))
        return np.asarray(result).astype(inputs[0].dtype)


REDUCTIONS = tuple(f"Reduce{name}" for name in (
    "Sum", "Mean", "Max", "Min", "L1", "L2", "SumSquare", "Prod", "LogSum", "LogSumExp"))

TABLE = [
    Row(("Erf",), lambda q: is_f64(q) or q.inputs[0].dtype.kind in "iu", Opinion.FORMULA,
        "onnxruntime has neither f64 nor integers, and the reference evaluator rounds to f32: where "
        "an integer is cut from that, erf(4) is 1"),
    Row(("Gelu",), is_f64, Opinion.FORMULA,
        "onnxruntime has no f64, and the reference evaluator rounds Erf and the root of 2 / pi to f32"),
    Row(("HardSwish",), is_f64, Opinion.FORMULA,
        "its 1/6 is rounded to f32 in the definition that the reference evaluator expands"),
    Row(REDUCTIONS, is_empty, Opinion.REFERENCE,
        "onnxruntime leaves 0 in place of a reduced dimension that was empty"),
    Row(("Shrink",), is_f64, Opinion.REFERENCE, "onnxruntime calculates it in f32"),
    Row(("MeanVarianceNormalization",), always, Opinion.FORMULA,
        "onnxruntime leaves out the 1e-9 beside the deviation: 0 / 0 for equal elements; the reference "
        "evaluator subtracts squares of nearly equal elements in f32, and loses their difference"),
    Row(("ReduceLogSumExp",), lambda q: q.inputs[0].dtype.kind in "iu", Opinion.NONE,
        "cut to an integer: a rounding before that decides between two of them"),
    Row(("GroupNormalization",), always, Opinion.FORMULA,
        "onnxruntime and the reference evaluator subtract squares of nearly equal elements in f32, and lose their difference"),
    Row(("DFT", "STFT"), is_f64, Opinion.NONE,
        "onnxruntime calculates in f32 within, and so does the reference evaluator"),
    Row(("LpNormalization",), has_tiny, Opinion.FORMULA,
        "both square in f32, where 1e-25 becomes 0"),
    Row(("LpNormalization",), is_short, Opinion.FORMULA,
        "onnxruntime refuses some; the reference evaluator squares in the type itself, where 300 "
        "overflows, and sums without the absolute value for p = 1"),
    Row(("ConvTranspose",), lambda q: is_not_f32(q) and q.attribute("group", 1) > 1
        and len(q.inputs) > 2, Opinion.NONE,
        "onnxruntime has f32 only, and the reference evaluator gives all groups the first's bias"),
    Row(("Attention",), is_f64, Opinion.NONE,
        "both round the root of the scale to f32, and multiply each factor by it"),
    Row(("Resize", "Upsample", "GridSample", "AffineGrid", "RoiAlign", "MaxRoiPool",
         "DeformConv"), is_not_f32, Opinion.NONE,
        "onnxruntime interpolates in f32 or not at all, and the reference evaluator takes "
        "seconds for an image"),
    Row(("LSTM", "GRU", "RNN"), is_not_f32, Opinion.NONE,
        "onnxruntime has f32 only, and the reference evaluator knows neither clip, lengths "
        "nor the other activations"),
    Row(("LSTM",), lambda q: q.attribute("clip") is not None, Opinion.NONE,
        "onnxruntime clips what goes into the gates but not the cell, which goes into an "
        "activation too; the reference evaluator does not clip"),
    Row(("LRN",), is_not_f32, Opinion.NONE,
        "onnxruntime has f32 only, and the reference evaluator takes batches for channels"),
    Row(("Resize",), lambda q: is_symmetric(q) or meets_elements(q), Opinion.NONE,
        "onnxruntime places samples by the scale there too, and the reference evaluator errs "
        "where a sample meets an element"),
    Row(("Resize",), is_odd_resize, Opinion.REFERENCE,
        "onnxruntime places samples by the scale, not by the sizes that come of it"),
    Row(("MaxPool", "AveragePool", "LpPool"), is_skipping_pool, Opinion.NONE,
        "both shift the windows, or lose one, where SAME padding would be below zero"),
    Row(("BatchNormalization", "InstanceNormalization", "LayerNormalization",
         "RMSNormalization"), is_bf16,
        Opinion.NONE, "onnxruntime refuses, and the reference evaluator rounds each step"),
    Row((*REDUCTIONS, "CumSum"), is_bf16, Opinion.NONE,
        "onnxruntime refuses, and the reference evaluator adds in bf16: a sum of many stops growing"),
    Row(("MaxPool", "AveragePool", "LpPool"), is_short, Opinion.NONE,
        "onnxruntime refuses most of it, and the reference evaluator pads one side less "
        "under SAME_LOWER"),
    Row(("AveragePool",), lambda q: is_not_f32(q) and q.attribute("ceil_mode", 0) == 1, Opinion.NONE,
        "onnxruntime has f32 only, and the reference evaluator counts what lies behind the last "
        "window's padding"),
    Row(("Slice",), lambda q: is_bf16(q) and len(q.inputs) > 4 and bool((q.inputs[4] < 0).any()),
        Opinion.NONE, "onnxruntime refuses, and the reference evaluator starts before the first "
        "element where the standard starts at it"),
    Row(("Unsqueeze",), lambda q: is_bf16(q) and list(q.attribute("axes", [])) != sorted(q.attribute("axes", [])),
        Opinion.NONE, "onnxruntime refuses bf16, and the reference evaluator inserts axes in the order in which they are given"),
    Row(("GlobalMaxPool",), lambda q: is_not_f32(q) and q.inputs[0].ndim != 4, Opinion.NONE,
        "onnxruntime has f32 only, and the reference evaluator pools two dimensions, of an image"),
    Row(("Gather",), is_text, Opinion.REFERENCE,
        "onnxruntime 1.31 copies the first text of each slice only"),
    Row(("StringSplit",), has_empty_text, Opinion.REFERENCE,
        "onnxruntime finds no piece in an empty text; split at a delimiter it is one, empty"),
    Row(("Hardmax",), lambda q: q.opset < 13 and q.inputs[0].dtype != np.float32,
        Opinion.NONE, "onnxruntime has f32 only, and the reference evaluator reduces one "
        "axis where the standard then joined all from there on"),
    Row(("Unique",), lambda q: q.attribute("sorted", 1) == 0
        and (q.opset > 26 or q.inputs[0].dtype not in (np.float32, np.float64, np.int64, np.int8)),
        Opinion.NONE, "onnxruntime has few types and not the newest opset; the reference evaluator "
        "sorts, and loses the axis, where it is asked not to"),
]


def opinion_on(nodes: Sequence[onnx.NodeProto], inputs: dict[str, np.ndarray],
        opset: int) -> Opinion:
    for node in nodes:
        known = [inputs[name] for name in node.input if name in inputs]
        query = Query(node, known, opset)
        for line in TABLE:
            if node.op_type in line.kinds and line.applies(query):
                return line.ask
    return Opinion.ONNXRUNTIME


# What Sluice refuses, and says so: part of its message, and the reason.
REFUSALS = {
    "is not a tensor of known rank": "the number of dimensions is known in the run only",
    "earlier iterations": "onnxruntime joins scan outputs of one size and several shapes; the "
                          "standard wants one shape",
    "do not fit into memory once more": "both ran it, and comparing takes more memory than is allowed",
}


def refusal(message: str) -> str:
    """The reason why nothing was compared; "" if the message is no such refusal."""
    return next((reason for part, reason in REFUSALS.items() if part in message), "")
