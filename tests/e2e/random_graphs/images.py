"""Convolutions, poolings and what stands around them, in odd sizes, of one to three dimensions."""

from __future__ import annotations

import math

import numpy as np

from random_graphs.case import Case, Value
from random_graphs.values import F32, FLOATS, Shape, exists


def image(case: Case, kind: str, ranks: tuple[int, int] = (3, 5),
          types: tuple[np.dtype, ...] = FLOATS) -> Value:
    """[batch, channels, sizes...]; often a new value, because few other nodes produce images."""
    case.require(exists(kind, case.opset))
    fits = [v for v in case.values if ranks[0] <= v.rank <= ranks[1] and v.dtype in types
            and v.data.size and v.data.size < 6000]
    if not fits or case.chance(0.3):
        rank = min(ranks[1], max(ranks[0], case.pick([3, 4, 4, 4, 5])))
        largest = {3: 40, 4: 14, 5: 6}[rank]
        sizes = [case.between(1, largest) for _ in range(rank - 2)]
        dtype = case.pick([F32, F32, F32, *types])
        return case.new(dtype, (case.between(1, 2), case.between(1, 18), *sizes), 0.1)
    return case.pick(fits[-3:])


def weight(case: Case, x: Value, shape: Shape, mean: float = 0.0, spread: float | None = None
           ) -> Value:
    """Scaled to keep a product over all but the first dimension near one."""
    if spread is None:
        spread = math.sqrt(1 / max(1, math.prod(shape[1:])))
    data = case.rng.standard_normal(shape) * spread + mean
    return case.given(data.astype(x.dtype), 0.9)


def positive(case: Case, x: Value, shape: Shape) -> Value:
    return case.given((case.rng.random(shape) + 0.5).astype(x.dtype), 0.9)


def window(case: Case, size: int, dilated: bool) -> tuple[int, int, int, int, int]:
    """kernel, stride, dilation, pad before, pad after; the output has at least one element."""
    while True:
        kernel, stride = case.between(1, 5), case.pick([1, 1, 2, 3])
        dilation = case.pick([1, 1, 1, 2]) if dilated else 1
        extent = (kernel - 1) * dilation + 1
        before, after = case.between(0, extent // 2), case.between(0, extent // 2)
        if size + before + after >= extent and before < extent and after < extent:
            return kernel, stride, dilation, before, after


def windows(case: Case, x: Value, dilated: bool) -> dict[str, list[int]]:
    rows = [window(case, size, dilated) for size in x.shape[2:]]
    kernel, stride, dilation, before, after = (list(column) for column in zip(*rows))
    attributes: dict = {"kernel_shape": kernel, "strides": stride}
    if dilated:
        attributes["dilations"] = dilation
    if case.chance(0.15) and not (dilated and max(dilation) > 1):
        return attributes | {"auto_pad": case.pick(["SAME_UPPER", "SAME_LOWER"])}
    return attributes | {"pads": before + after}


def conv(case: Case) -> Value:
    x = image(case, "Conv")
    channels = x.shape[1]
    groups = case.pick([g for g in (1, 1, 1, 2, 4, channels, channels) if channels % g == 0])
    outs = groups * case.between(1, max(1, 40 // groups))
    attributes = windows(case, x, dilated=True)
    filters = weight(case, x, (outs, channels // groups, *attributes["kernel_shape"]))
    bias = [weight(case, x, (outs,), spread=0.3)] if case.chance(0.5) else []
    y = case.op("Conv", x, filters, *bias, group=groups, **attributes)
    return activate(case, y) if case.chance(0.4) else y


def activate(case: Case, y: Value) -> Value:
    kind = case.pick(["Relu", "Sigmoid", "Tanh", "HardSwish", "SiLU", "LeakyRelu", "Clip"])
    if kind == "SiLU":
        return case.op("Mul", y, case.op("Sigmoid", y))
    if kind == "Clip" and not case.since(11):
        return case.op("Clip", y, min=0.0, max=6.0)
    if kind == "Clip":
        return case.op("Clip", y, case.scalar(0, y.dtype), case.scalar(6, y.dtype))
    return case.op(kind, y)


def pointwise(case: Case) -> Value:
    x = image(case, "Conv")
    ones = (1,) * (x.rank - 2)
    y = case.op("Conv", x, weight(case, x, (case.between(1, 40), x.shape[1], *ones)))
    return activate(case, y) if case.chance(0.4) else y


def conv_transpose(case: Case) -> Value:
    x = image(case, "ConvTranspose")
    groups = case.pick([g for g in (1, 1, 2, x.shape[1]) if x.shape[1] % g == 0])
    attributes = windows(case, x, dilated=True)
    attributes.pop("auto_pad", None)
    outs = case.between(1, 4)
    filters = weight(case, x, (x.shape[1], outs, *attributes["kernel_shape"]))
    bias = [weight(case, x, (outs * groups,), spread=0.3)] if case.chance(0.5) else []
    extra = [case.between(0, s - 1) for s in attributes["strides"]] if case.chance(0.3) else None
    return case.op("ConvTranspose", x, filters, *bias, group=groups, output_padding=extra,
                   **attributes)


def residual(case: Case) -> Value:
    """Two convolutions that keep the shape, added to what went in."""
    x = image(case, "Conv", (4, 4))
    y = x
    for _ in range(2):
        y = case.op("Conv", y, weight(case, x, (x.shape[1], x.shape[1], 3, 3)),
                    kernel_shape=[3, 3], pads=[1, 1, 1, 1])
        y = batch_norm_of(case, y) if case.chance(0.5) else y
    y = case.op("Add", *((x, y) if case.chance(0.5) else (y, x)))
    return activate(case, y) if case.chance(0.7) else y


def batch_norm_of(case: Case, x: Value) -> Value:
    parts = [weight(case, x, (x.shape[1],), mean, 0.2) for mean in (1.0, 0.0, 0.0)]
    return case.op("BatchNormalization", x, *parts, positive(case, x, (x.shape[1],)))


def batch_norm(case: Case) -> Value:
    return batch_norm_of(case, image(case, "BatchNormalization"))


def instance_norm(case: Case) -> Value:
    x = image(case, "InstanceNormalization")
    case.require(math.prod(x.shape[2:]) > 1)
    return case.op("InstanceNormalization", x, weight(case, x, (x.shape[1],), 1.0, 0.2),
                   weight(case, x, (x.shape[1],), 0.0, 0.2), epsilon=case.pick([None, 1e-3]))


def group_norm(case: Case) -> Value:
    x = image(case, "GroupNormalization")
    groups = case.pick([g for g in range(1, x.shape[1] + 1) if x.shape[1] % g == 0])
    case.require(math.prod(x.shape[1:]) // groups > 1)
    width = (x.shape[1] if case.since(21) else groups,)
    return case.op("GroupNormalization", x, weight(case, x, width, 1.0, 0.2),
                   weight(case, x, width, 0.0, 0.2), num_groups=groups)


def lrn(case: Case) -> Value:
    return case.op("LRN", image(case, "LRN", (4, 4)), size=case.pick([1, 3, 5]),
                   alpha=case.pick([None, 0.1]), bias=case.pick([None, 2.0]))


def pool(case: Case) -> list[Value]:
    """Without dilation, under which a window may see nothing but padding."""
    kind = case.pick(["MaxPool", "MaxPool", "AveragePool", "AveragePool", "LpPool"])
    x = image(case, kind)
    attributes: dict = windows(case, x, dilated=False)
    if kind == "AveragePool" and "pads" in attributes:
        attributes["count_include_pad"] = case.between(0, 1)
    if case.since(10) and case.chance(0.2) and kind != "LpPool":
        attributes["ceil_mode"] = 1
    return case.ops(kind, x, outputs=2 if kind == "MaxPool" and case.chance(0.2) else 1,
                    **attributes)


def global_pool(case: Case) -> Value:
    kind = case.pick(["GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"])
    return case.op(kind, image(case, kind))


def squeeze_excite(case: Case) -> Value:
    x = image(case, "Conv", (4, 4))
    pooled = case.op("GlobalAveragePool", x)
    gate = case.op("Conv", pooled, weight(case, x, (x.shape[1], x.shape[1], 1, 1)))
    return case.op("Mul", x, case.op(case.pick(["Sigmoid", "HardSigmoid"]), gate))


def unpool(case: Case) -> Value:
    x = image(case, "MaxPool", (4, 4))
    case.require(min(x.shape[2:]) >= 2)
    attributes = {"kernel_shape": [2, 2], "strides": [2, 2]}
    y, at = case.ops("MaxPool", x, outputs=2, **attributes)
    return case.op("MaxUnpool", y, at, **attributes)


def concat_channels(case: Case) -> Value:
    x = image(case, "Conv")
    y = case.op("Conv", x, weight(case, x, (case.between(1, 9), x.shape[1], *(1,) * (x.rank - 2))))
    return case.op("Concat", x, y, axis=1)


def col2im(case: Case) -> Value:
    size, block = [case.between(2, 6), case.between(2, 6)], [case.between(1, 2), case.between(1, 2)]
    count = math.prod(s - b + 1 for s, b in zip(size, block))
    x = case.new(F32, (case.between(1, 2), case.between(1, 3) * math.prod(block), count), 0.1)
    return case.op("Col2Im", x, case.ints(size), case.ints(block))


def quantized_conv(case: Case) -> Value:
    case.require(case.since(10))
    rng, types = case.rng, [np.dtype(np.uint8), np.dtype(np.int8)]
    x = case.given(rng.integers(0, 100, (1, case.between(1, 4), 7, 6)).astype(types[0]), 0.1)
    w = case.given(rng.integers(-9, 9, (case.between(1, 5), x.shape[1], 3, 2)).astype(types[1]))
    zero = case.given(np.array(case.between(0, 9)).astype(x.dtype), 0.9)
    if case.chance(0.5):
        return case.op("ConvInteger", x, w, zero, pads=[1, 0, 0, 1])
    scales = [case.given(np.array(s, F32), 0.9) for s in (0.02, 0.03, 0.05)]
    zeros = [zero, case.given(np.array(0, np.int8), 0.9), case.given(np.array(7, np.uint8), 0.9)]
    bias = [case.given(rng.integers(-50, 50, w.shape[0]).astype(np.int32), 0.9)]
    return case.op("QLinearConv", x, scales[0], zeros[0], w, scales[1], zeros[1], scales[2],
                   zeros[2], *(bias if case.chance(0.5) else []), strides=[1, case.between(1, 2)])


RECIPES = [conv, conv, conv, pointwise, conv_transpose, residual, batch_norm, instance_norm,
           group_norm, lrn, pool, pool, pool, global_pool, squeeze_excite, unpool, concat_channels,
           col2im, quantized_conv]
