"""Edge values as tensors: a flat list for element-wise operators, rows for those along an axis."""

from __future__ import annotations

import itertools

import ml_dtypes
import numpy as np
import onnx

NAN, INF = float("nan"), float("inf")
TYPES = {
    "f32": (onnx.TensorProto.FLOAT, np.dtype(np.float32)),
    "f64": (onnx.TensorProto.DOUBLE, np.dtype(np.float64)),
    "f16": (onnx.TensorProto.FLOAT16, np.dtype(np.float16)),
    "bf16": (onnx.TensorProto.BFLOAT16, np.dtype(ml_dtypes.bfloat16)),
}
LARGEST = {"f32": 3.4028235e38, "f64": 1.7976931348623157e308, "f16": 65504.0, "bf16": 3.3895314e38}
TINIEST = {"f32": 1e-45, "f64": 5e-324, "f16": 6e-8, "bf16": 1e-40}  # subnormal
HUGE = {"f32": 3e38, "f64": 1e300, "f16": 6e4, "bf16": 3e38}  # several of them overflow the type
SMALL = {"f32": 1e-30, "f64": 1e-200, "f16": 1e-4, "bf16": 1e-30}  # whose square vanishes

ORDINARY = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 3.0, -3.0, 0.1, -0.7, 20.0, -20.0]
# Where float functions overflow, vanish, saturate or stop having fractions.
THRESHOLDS = [87.0, -87.0, 88.0, -88.0, 88.8, -88.8, 90.0, -90.0, 103.9, -104.5, 11.1, -11.1, 710.0, -710.0,
              -746.0, 1e5, -1e5, 65519.0, 65520.0, 4194303.5, 4194304.5, -4194305.5, 8388607.5, 8388609.0,
              1e10, -1e10, 1e19, -1e19, 2147483648.0, 1e30, -1e30]


def flat(kind: str, is_tiny: bool = False) -> np.ndarray:
    """One vector, longer than the widest registers and no multiple of them; `is_tiny`: with subnormals."""
    ends = [LARGEST[kind], -LARGEST[kind], HUGE[kind], -HUGE[kind]]
    values = [NAN, INF, -INF, *ORDINARY, *ends, *THRESHOLDS]
    if is_tiny:
        values = [TINIEST[kind] * factor for factor in (1, -1, 2, -3, 8, 1, -1)] + [0.0, 1.0]
    with np.errstate(all="ignore"):
        return np.array(values).astype(TYPES[kind][1])


def pairs(kind: str, is_tiny: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Every edge with every other."""
    some = [NAN, INF, -INF, 0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 3.0, LARGEST[kind], -LARGEST[kind], HUGE[kind]]
    if is_tiny:
        some = [TINIEST[kind], -TINIEST[kind], 8 * TINIEST[kind], 0.0, 1.0, -2.0, HUGE[kind], INF]
    a, b = zip(*itertools.product(some, some))
    with np.errstate(all="ignore"):
        return np.array(a).astype(TYPES[kind][1]), np.array(b).astype(TYPES[kind][1])


def rows(kind: str, width: int = 37, is_level: bool = False) -> np.ndarray:
    """[rows, width]: ordinary numbers, of which each row but the first has some replaced. `is_level`: all far
    enough from their mean that their deviations have digits."""
    ordinary = np.linspace(-2, 3, width)
    ordinary[3] = ordinary[30] = 2.75  # equal elements
    huge, small = HUGE[kind], SMALL[kind]
    changes = [
        {}, {0: NAN}, {17: NAN}, {width - 1: NAN}, {5: NAN, 20: NAN, width - 1: NAN}, {4: INF}, {4: -INF},
        {4: INF, 33: INF}, {4: INF, 33: -INF}, {4: INF, 9: NAN}, {2: huge}, {2: -huge}, {2: huge, 8: huge, 21: -huge},
    ]
    made = [np.array([change.get(i, value) for i, value in enumerate(ordinary)]) for change in changes]
    made += [np.full(width, -INF), np.full(width, INF), np.full(width, NAN), np.zeros(width),
             np.where(np.arange(width) % 2 == 0, huge / 64, huge / 128),
             np.where(np.arange(width) % 2 == 0, huge / 4, -huge / 4), ordinary * small,
             ordinary * 1000 if is_level else ordinary + 1000]
    return np.array(made).astype(TYPES[kind][1])


def exact(array: np.ndarray) -> np.ndarray:
    """For computing: f64 holds every element."""
    return array.astype(np.float64)
