"""Convolutions, poolings and what stands around them, in odd sizes."""

from __future__ import annotations

from random_graphs.case import Case, Value


def window(case: Case, size: int, dilated: bool) -> tuple[int, int, int, int, int]:
    """kernel, stride, dilation, pad before, pad after; the output has at least one element."""
    while True:
        kernel, stride = case.between(1, 5), case.pick([1, 1, 2, 3])
        dilation = case.pick([1, 1, 1, 2]) if dilated else 1
        extent = (kernel - 1) * dilation + 1
        before, after = case.between(0, extent // 2), case.between(0, extent // 2)
        if size + before + after >= extent:
            return kernel, stride, dilation, before, after


def windows(case: Case, x: Value, dilated: bool) -> tuple[dict[str, list[int]], list[int]]:
    """Attributes of a windowed operator and the spatial size of its result."""
    rows = [window(case, size, dilated) for size in x.shape[2:]]
    kernel, stride, dilation, before, after = (list(column) for column in zip(*rows))
    sizes = [
        (size + b + a - (k - 1) * d - 1) // s + 1
        for size, (k, s, d, b, a) in zip(x.shape[2:], rows)
    ]
    attributes = {"kernel_shape": kernel, "strides": stride, "pads": before + after}
    return attributes | ({"dilations": dilation} if dilated else {}), sizes


def conv(case: Case, x: Value) -> Value:
    channels = x.shape[1]
    groups = case.pick([g for g in (1, 1, 1, 2, 4, channels, channels) if channels % g == 0])
    outs = groups * case.between(1, max(1, 48 // groups))
    attributes, sizes = windows(case, x, dilated=True)
    weight = case.weight((outs, channels // groups, *attributes["kernel_shape"]))
    bias = [case.weight((outs,), 0.3)] if case.chance(0.5) else []
    shape = (x.shape[0], outs, *sizes)
    return case.op("Conv", shape, x, weight, *bias, group=groups, **attributes)


def pointwise(case: Case, x: Value) -> Value:
    outs = case.between(1, 70)
    weight = case.weight((outs, x.shape[1], 1, 1))
    return case.op("Conv", (x.shape[0], outs, *x.shape[2:]), x, weight, kernel_shape=[1, 1])


def residual(case: Case, x: Value) -> Value:
    """Two convolutions that keep the shape, added to what went in."""
    channels = x.shape[1]
    y = x
    for _ in range(2):
        weight = case.weight((channels, channels, 3, 3))
        y = case.op("Conv", x.shape, y, weight, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
        y = batch_norm(case, y) if case.chance(0.5) else y
    y = case.op("Add", x.shape, *((x, y) if case.chance(0.5) else (y, x)))
    return case.activation(y) if case.chance(0.7) else y


def batch_norm(case: Case, x: Value) -> Value:
    parts = [case.weight((x.shape[1],), 0.2, mean) for mean in (1.0, 0.0, 0.0)]
    return case.op("BatchNormalization", x.shape, x, *parts, case.positive_weight((x.shape[1],)))


def pool(case: Case, x: Value) -> Value:
    """Without dilation, under which a window may see nothing but padding."""
    attributes, sizes = windows(case, x, dilated=False)
    kind = case.pick(["MaxPool", "AveragePool"])
    if kind == "AveragePool":
        attributes["count_include_pad"] = case.between(0, 1)
    return case.op(kind, (*x.shape[:2], *sizes), x, **attributes)


def squeeze_excite(case: Case, x: Value) -> Value:
    pooled = case.op("GlobalAveragePool", (*x.shape[:2], 1, 1), x)
    weight = case.weight((x.shape[1], x.shape[1], 1, 1))
    gate = case.op("Sigmoid", pooled.shape, case.op("Conv", pooled.shape, pooled, weight))
    return case.op("Mul", x.shape, x, gate)


def branches(case: Case, x: Value) -> Value:
    """Two pointwise convolutions side by side, concatenated on the channels."""
    a, b = pointwise(case, x), pointwise(case, x)
    shape = (x.shape[0], a.shape[1] + b.shape[1], *x.shape[2:])
    return case.op("Concat", shape, a, case.activation(b), axis=1)


def scale_channels(case: Case, x: Value) -> Value:
    kind = case.pick(["Add", "Mul", "Sub", "Div"])
    shape = case.pick([(x.shape[1], 1, 1), (1, x.shape[1], 1, 1), (1,), x.shape])
    return case.op(kind, x.shape, x, case.positive_weight(shape))


def activate(case: Case, x: Value) -> Value:
    return case.activation(x)


LAYERS = [conv, conv, conv, pointwise, residual, batch_norm, pool, squeeze_excite, branches,
          scale_channels, activate, activate]


def build(case: Case) -> None:
    symbols = case.pick([{}, {}, {0: "N"}, {0: "N", 2: "H", 3: "W"}])
    sizes = (case.between(1, 2), case.between(1, 40), case.between(3, 20), case.between(3, 20))
    x = case.input(sizes, symbols)
    middle = x
    for _ in range(case.between(2, 6)):
        x = case.pick(LAYERS)(case, x)
        if case.chance(0.2):
            middle = x
    case.output(x)
    if middle is not x and case.chance(0.5):
        case.output(middle)
    if case.chance(0.3):
        pooled = case.op("GlobalAveragePool", (*x.shape[:2], 1, 1), x)
        case.output(case.op("Flatten", x.shape[:2], pooled))
