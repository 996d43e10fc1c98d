"""What operators give, in f64: the formulas of the standard, without overflow between their steps.

A NaN among the numbers of a comparison is the extreme: Max, ReduceMax, MaxPool and the like give it, ArgMax
and ArgMin find it, and it counts as the largest where elements are sorted. So do NumPy and onnx's evaluator.
"""

from __future__ import annotations

import math

import numpy as np

Array = np.ndarray
EPSILON = float(np.float32(1e-5))  # as attributes hold it
erf = np.vectorize(math.erf, otypes=[np.float64])


def sigmoid(x: Array) -> Array:
    return np.where(x < 0, np.exp(x) / (1 + np.exp(x)), 1 / (1 + np.exp(-x)))


def softplus(x: Array) -> Array:
    return np.logaddexp(0, x)


def elu(x: Array, alpha: float = 1.0) -> Array:
    return np.where(x < 0, alpha * np.expm1(x), x)


def celu(x: Array, alpha: float = 1.0) -> Array:
    return np.maximum(x, 0) + np.minimum(0, alpha * np.expm1(x / alpha))


def gelu(x: Array) -> Array:
    return 0.5 * x * (1 + erf(x / math.sqrt(2)))


def gelu_tanh(x: Array) -> Array:
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))


def unit(x: Array) -> Array:
    return np.maximum(0, np.minimum(1, x))


def shrink(x: Array, bias: float = 0.0, limit: float = 0.5) -> Array:
    return np.where(x < -limit, x + bias, np.where(x > limit, x - bias, 0))


def sign(x: Array) -> Array:
    return np.where(np.isnan(x), x, np.sign(x))


def clip(low: float, high: float):
    """The upper bound wins where it is below the lower one."""
    def clipped(x: Array) -> Array:
        above = np.where(x < low, low, x)
        return np.where(above > high, high, above)
    return clipped


def softmax(x: Array) -> Array:
    power = np.exp(x - x.max(-1, keepdims=True))
    return power / power.sum(-1, keepdims=True)


def log_softmax(x: Array) -> Array:
    below = x - x.max(-1, keepdims=True)
    return below - np.log(np.exp(below).sum(-1, keepdims=True))


def log_sum_exp(x: Array) -> Array:
    return np.logaddexp.reduce(x, -1, keepdims=True)


def hardmax(x: Array) -> Array:
    return np.eye(x.shape[-1])[x.argmax(-1)]


def last(best):
    """The last of equal extremes."""
    return lambda x: x.shape[-1] - 1 - best(x[..., ::-1], -1, keepdims=True)


def top(count: int, is_largest: bool):
    """Equal elements by their places; a NaN is larger than every number."""
    def find(x: Array) -> tuple[Array, Array]:
        number = np.where(np.isnan(x), np.inf, x)
        key = -number if is_largest else number
        is_nan = ~np.isnan(x) if is_largest else np.isnan(x)
        places = np.broadcast_to(np.arange(x.shape[-1]), x.shape)
        order = np.lexsort((places, is_nan, key), axis=-1)[..., :count]
        return np.take_along_axis(x, order, -1), order
    return find


def normalized(x: Array, axes: int | tuple[int, ...], epsilon: float = EPSILON) -> Array:
    below = x - x.mean(axes, keepdims=True)
    return below / np.sqrt((below * below).mean(axes, keepdims=True) + epsilon)


def layer_norm(x: Array, scale: Array, bias: Array) -> Array:
    return normalized(x, -1) * scale + bias


def rms_norm(x: Array, scale: Array) -> Array:
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + EPSILON) * scale


def instance_norm(x: Array, scale: Array, bias: Array) -> Array:
    return normalized(x, (2, 3)) * scale[:, None, None] + bias[:, None, None]


def batch_norm(x: Array, scale: Array, bias: Array, mean: Array, variance: Array) -> Array:
    def per(channel: Array) -> Array:
        return channel[:, None, None]
    return (x - per(mean)) / np.sqrt(per(variance) + EPSILON) * per(scale) + per(bias)


def windows(x: Array) -> Array:
    """[N, C, 3, 3, 4]: windows of 2 x 2, side by side."""
    n, c, h, w = x.shape
    return x.reshape(n, c, h // 2, 2, w // 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(n, c, h // 2, w // 2, 4)


def max_pool(x: Array) -> tuple[Array, Array]:
    """With the place of the maximum in the whole tensor."""
    places = windows(np.arange(x.size).reshape(x.shape))
    best = windows(x).argmax(-1)[..., None]
    return windows(x).max(-1), np.take_along_axis(places, best, -1)[..., 0]
