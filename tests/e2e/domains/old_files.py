"""Cases of what early exporters wrote: operators of ONNX's experimental set, the first versions of Resize
and Upsample, and casts of negative floats to types without a sign."""

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


def resizes() -> Iterator[OneNode]:
    """Version 10 of Resize takes the next pixel where it shrinks and the last one where it enlarges."""
    scales = {"shrunk": (0.6, 0.7), "halved": (0.5, 0.4), "slightly": (0.9, 0.95),
              "mixed": (0.6, 1.7), "enlarged": (1.3, 2.6)}
    for (name, (height, width)), mode in ((s, m) for s in scales.items() for m in ("nearest", "linear")):
        factors = np.array([1, 1, height, width], np.float32)
        yield OneNode(f"resize_10_{mode}_{name}", "Resize", "", {"X": image()}, opsets={"": 10},
                      attributes={"mode": mode}, constants={"scales": factors})
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
    yield from experimental()
    yield from resizes()
    yield from casts()
