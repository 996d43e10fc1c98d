"""Cases of what early exporters wrote: operators of ONNX's experimental set, the first versions of Resize
and Upsample, and casts of negative floats to types without a sign.

ONNX 1.0 to 1.4 call these experimental: Affine, ATen, ConstantFill, Crop, DynamicSlice, FC, GivenTensorFill,
GRUUnit, Identity, If, ImageScaler, Loop, LoopIndexTensor, MeanVarianceNormalization, ParametricSoftplus,
Scale, ScaledTanh, ThresholdedRelu and Upsample. Sluice reads all but ATen."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from onnx import helper

from domains.case import OneNode

RNG = np.random.default_rng(9)


def image(dtype: type = np.float32) -> np.ndarray:
    return RNG.standard_normal((2, 3, 7, 5)).astype(dtype)


def experimental() -> Iterator[OneNode]:
    """onnxruntime registers them up to operator set 9."""
    halves = {"alpha": 1.5, "beta": -0.5}
    for name, kind, attributes in (
        ("affine", "Affine", halves),
        ("affine_defaults", "Affine", {}),
        ("crop", "Crop", {"border": [1, 2, 0, 3]}),
        ("crop_scale", "Crop", {"border": [1, 2, 0, 0], "scale": [4, 3]}),
        ("identity", "Identity", {}),
        ("image_scaler", "ImageScaler", {"scale": 0.5, "bias": [0.25, -1.0, 2.0]}),
        ("parametric_softplus", "ParametricSoftplus", halves),
        ("scaled_tanh", "ScaledTanh", halves),
        ("thresholded_relu", "ThresholdedRelu", {"alpha": 0.5}),
        ("thresholded_relu_defaults", "ThresholdedRelu", {}),
        ("mean_variance", "MeanVarianceNormalization", {"across_channels": 0}),
        ("mean_variance_across", "MeanVarianceNormalization", {"across_channels": 1}),
        ("mean_only", "MeanVarianceNormalization", {"normalize_variance": 0}),
    ):
        opset = 8 if kind == "MeanVarianceNormalization" else 9
        yield OneNode(f"experimental_{name}", kind, "", {"X": image()}, attributes=attributes,
                      opsets={"": opset})


def early(name: str, kind: str, inputs: dict[str, np.ndarray], constants: dict[str, np.ndarray] | None = None,
          **attributes: object) -> OneNode:
    return OneNode(f"experimental_{name}", kind, "", inputs, attributes=attributes, opsets={"": 8},
                   constants=constants or {})


def by_definition(name: str, kind: str, inputs: dict[str, np.ndarray], expected: np.ndarray,
                  constants: dict[str, np.ndarray] | None = None, **attributes: object) -> OneNode:
    """onnxruntime has no kernel for it: the expected output is numpy's, from the operator's text."""
    case = early(name, kind, inputs, constants, **attributes)
    case.expected = [expected]
    return case


def scales() -> Iterator[OneNode]:
    x, double = image(), image(np.float64)
    yield early("scale", "Scale", {"X": x}, scale=0.5)
    yield early("scale_float16", "Scale", {"X": image(np.float16)}, scale=0.5)
    yield by_definition("scale_float64", "Scale", {"X": double}, double * 0.5, scale=0.5)
    yield by_definition("scale_default", "Scale", {"X": double}, double)
    yield by_definition("image_scaler_without_bias", "ImageScaler", {"X": x}, x * np.float32(3), scale=3.0)


def fills() -> Iterator[OneNode]:
    """The shape is an attribute, an input's shape, or listed by an input; `extra_shape` follows an input's."""
    x, dims = image(), np.array([2, 3], np.int64)
    tail = {"extra_shape": [2]}
    listed = {"input_as_shape": 1}
    for name, inputs, constants, attributes, shape in (
        ("attribute", {}, {}, {"shape": [2, 3]}, (2, 3)),
        ("like", {"X": x}, {}, {}, x.shape),
        ("like_extra", {"X": x}, {}, tail, (*x.shape, 2)),
        ("listed", {}, {"D": dims}, listed, (2, 3)),
        ("listed_extra", {}, {"D": dims}, listed | tail, (2, 3, 2)),
        ("listed_at_run", {"D": dims}, {}, listed, (2, 3)),
        ("listed_at_run_extra", {"D": dims.astype(np.int32)}, {}, listed | tail, (2, 3, 2)),
        ("listed_none", {"D": np.zeros(0, np.int64)}, {}, listed, ()),
    ):
        yield by_definition(f"constant_fill_{name}", "ConstantFill", inputs, np.full(shape, 2.5, np.float32),
                            constants, value=2.5, **attributes)
        values = RNG.standard_normal(shape).astype(np.float32)
        yield by_definition(f"given_tensor_fill_{name}", "GivenTensorFill", inputs, values, constants,
                            values=[float(value) for value in values.ravel()], **attributes)
    for dtype in (np.int32, np.int64, np.bool_, np.float16, np.float64):
        number = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        yield by_definition(f"constant_fill_{dtype.__name__}", "ConstantFill", {}, np.full((3,), 7, dtype),
                            value=7.0, dtype=number, shape=[3])
        yield by_definition(f"constant_like_{dtype.__name__}", "ConstantLike", {"X": x.astype(dtype)},
                            np.full(x.shape, 7, dtype), value=7.0)
    yield by_definition("constant_fill_defaults", "ConstantFill", {"X": x}, np.zeros_like(x))
    yield by_definition("constant_like_dtype", "ConstantLike", {"X": x}, np.full(x.shape, 7, np.int64),
                        value=7.0, dtype=7)
    yield by_definition("constant_like_shape", "ConstantLike", {}, np.full((2,), 7, np.float32), value=7.0,
                        shape=[2])
    for dtype in (np.float16, np.float64):
        like = np.zeros((1, 2), dtype)
        yield by_definition(f"given_tensor_fill_{dtype.__name__}", "GivenTensorFill", {"X": like},
                            np.array([[0.5, -2]], dtype), values=[0.5, -2.0])


def slices() -> Iterator[OneNode]:
    """The first two are the examples of DynamicSlice's text. The bounds are constants, or come with the run."""
    table = np.array([[1, 2, 3, 4], [5, 6, 7, 8]], np.float32)
    for name, data, starts, ends, axes in (
        ("axes", table, [1, 0], [2, 3], [0, 1]),
        ("past_the_end", table, [0, 1], [-1, 1000], None),
        ("some_axes", image(), [1, -3], [2**31 - 1, -1], [3, 2]),
        ("empty", table, [2], [1], [0]),
    ):
        for dtype in (np.int32, np.int64):
            bounds = {"S": np.array(starts, dtype), "E": np.array(ends, dtype)}
            if axes is not None:
                bounds["A"] = np.array(axes, dtype)
            label = f"dynamic_slice_{name}_{dtype.__name__}"
            yield early(label, "DynamicSlice", {"X": data}, bounds)
            yield early(f"{label}_at_run", "DynamicSlice", {"X": data, **bounds})


def products() -> Iterator[OneNode]:
    """Dimensions before the axis are rows, the others columns."""
    bias = image()[0, 0, 0]
    for name, x, w, attributes in (
        ("matrices", (4, 6), (5, 6), {}),
        ("images", (4, 2, 3), (5, 3, 2), {}),
        ("rows", (4, 2, 3), (5, 3), {"axis": 2}),
        ("weights_axis", (4, 3), (5, 1, 3), {"axis_w": 2}),
    ):
        a, b = (RNG.standard_normal(shape).astype(np.float32) for shape in (x, w))
        rows = int(np.prod(x[:attributes.get("axis", 1)]))
        yield by_definition(f"fc_{name}", "FC", {"X": a}, a.reshape(rows, -1) @ b.reshape(5, -1).T + bias,
                            {"W": b, "b": bias}, **attributes)


def recurrent() -> Iterator[OneNode]:
    """GRUUnit: the hidden state moves to tanh(output) as far as sigmoid(update) lets it, until a sequence's end."""
    entries, width, step = 3, 4, 2
    hidden = RNG.standard_normal((1, entries, width)).astype(np.float32)
    gates = RNG.standard_normal((1, entries, 3 * width)).astype(np.float32)
    lengths = np.array([2, 3, 9])
    _, update, output = np.split(gates, 3, axis=-1)
    keep = 1 / (1 + np.exp(-update))
    moved = hidden * keep + np.tanh(output) * (1 - keep)
    runs = (step < lengths)[:, None]
    for name, attributes, ended in (("default", {}, hidden), ("keeps", {"drop_states": 0}, hidden),
                                    ("drops", {"drop_states": 1}, 0)):
        expected = np.where(runs, moved, ended).astype(np.float32)
        for dtype in (np.int32, np.float32):
            yield by_definition(f"gru_unit_{name}_{dtype.__name__}", "GRUUnit",
                                {"H": hidden, "G": gates, "L": lengths.astype(dtype),
                                 "t": np.array(step, dtype)}, expected, **attributes)
    x = image()
    for name, axis in (("first", {}), ("third", {"axis": 2}), ("last", {"axis": -1})):
        yield by_definition(f"loop_index_tensor_{name}", "LoopIndexTensor",
                            {"T": x, "i": np.array(1, np.int32)}, np.take(x, 1, axis.get("axis", 0)), **axis)
    yield by_definition("loop_index_tensor_vector", "LoopIndexTensor", {"T": x, "i": np.array([1], np.int64)}, x[1])


def resizes() -> Iterator[OneNode]:
    """Version 10 of Resize takes the next pixel where it shrinks and the last one where it enlarges."""
    scales = {"shrunk": (0.6, 0.7), "halved": (0.5, 0.4), "slightly": (0.9, 0.95),
              "mixed": (0.6, 1.7), "enlarged": (1.3, 2.6)}
    for (name, (height, width)), mode in ((s, m) for s in scales.items() for m in ("nearest", "linear")):
        factors = np.array([1, 1, height, width], np.float32)
        yield OneNode(f"resize_10_{mode}_{name}", "Resize", "", {"X": image()}, opsets={"": 10},
                      attributes={"mode": mode}, constants={"scales": factors})
    x = image()
    yield OneNode("upsample_1", "Upsample", "", {"X": x}, opsets={"": 1}, expected=[x.repeat(2, 2).repeat(3, 3)],
                  attributes={"mode": "nearest", "height_scale": 2.0, "width_scale": 3.0})
    for version, factors in ((7, [1.0, 1.0, 1.3, 2.6]), (7, [1.0, 1.0, 2.0, 3.0])):
        yield OneNode(f"upsample_{version}_{factors[2]:.0f}", "Upsample", "", {"X": image()},
                      opsets={"": version}, attributes={"mode": "nearest", "scales": factors})


def casts() -> Iterator[OneNode]:
    """Negative numbers wrap; a fraction is cut off."""
    numbers = np.array([-0.5, -1, -1.5, -200.7, -255, -256.25, -40000, -70000, 0, 3.9, 200])
    for source in (np.float32, np.float64):
        for target in (np.uint8, np.uint16, np.uint32, np.uint64, np.int8, np.int16):
            to = helper.np_dtype_to_tensor_dtype(np.dtype(target))
            yield OneNode(f"cast_{source.__name__}_{target.__name__}", "Cast", "",
                          {"X": numbers.astype(source)}, attributes={"to": to})


def build() -> Iterator[OneNode]:
    for family in (experimental, scales, fills, slices, products, recurrent):
        yield from family()
    yield from resizes()
    yield from casts()
