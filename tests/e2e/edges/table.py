"""The table: what every operator of ONNX that takes floats gives for edge values; integers.py has the integers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from edges import formulas as f
from edges import integers
from edges.cases import Exempt, Recipes, Told

Entry = Told | Recipes | Exempt | integers.Integers

MOVED = Recipes(is_moved=True)
WHOLE = Exempt("hands whole tensors on, and looks at no element")
RANDOM = Exempt("draws random numbers")
SUMS = Recipes(reason="sums of products, whose order belongs to the kernel; partial sums may pass the type's range")
UNDEFINED = Recipes(reason="the standard leaves NaN, or values out of range, undefined")
BLENDED = Recipes(reason="weights of interpolation, with which infinities multiply zeros in some kernels")
PARTS = Recipes(reason="the standard defines it by other operators of the table")


def unary(want, **attributes) -> Told:
    return Told(want, attributes=attributes)


def pair(want, **attributes) -> Told:
    return Told(want, "pairs", attributes)


def along(want, constants: tuple = (), shape: str = "rows", **attributes) -> Told:
    return Told(want, shape, attributes, constants)


def power(exponent: float) -> Told:
    """Not NumPy's power by a scalar, which is a root for 0.5: that of -inf is NaN."""
    return Told(lambda x, e: np.power(x, np.full(x.shape, e)), constants=(exponent,))


def reduced(want) -> list[Told]:
    """Along rows and along columns, which are kernels of their own."""
    return [along(lambda x, _: want(x, -1), (np.array([1]),)),
            along(lambda x, _: want(x, 0), (np.array([0]),), shape="columns")]


def keep(function):
    return lambda x, axis: function(x, axis=axis, keepdims=True)


def arg(best, **attributes) -> list[Told]:
    last = f.last(best)
    return [along(lambda x: best(x, -1, keepdims=True), axis=1), along(last, axis=1, select_last_index=1)]


CHANNELS = np.linspace(0.5, 1.5, 21)
WIDE = np.linspace(0.5, 1.5, 37)

ELEMENTWISE: dict[str, Entry | list[Entry]] = {
    "Abs": unary(np.abs), "Acos": unary(np.arccos), "Acosh": unary(np.arccosh), "Asin": unary(np.arcsin),
    "Asinh": unary(np.arcsinh), "Atan": unary(np.arctan), "Atanh": unary(np.arctanh), "Ceil": unary(np.ceil),
    "Celu": [unary(f.celu), unary(lambda x: f.celu(x, 0.5), alpha=0.5), unary(lambda x: f.celu(x, 3.0), alpha=3.0)],
    "Cos": unary(np.cos), "Cosh": unary(np.cosh), "Elu": [unary(f.elu), unary(lambda x: f.elu(x, 2.0), alpha=2.0)],
    "Erf": unary(f.erf), "Exp": unary(np.exp), "Floor": unary(np.floor),
    "Gelu": [unary(f.gelu), unary(f.gelu_tanh, approximate="tanh")],
    "HardSigmoid": unary(lambda x: f.unit(np.float64(np.float32(0.2)) * x + 0.5)),
    "HardSwish": unary(lambda x: x * f.unit(x / 6 + 0.5)),
    "IsInf": [unary(np.isinf), unary(np.isposinf, detect_negative=0), unary(np.isneginf, detect_positive=0)],
    "IsNaN": unary(np.isnan), "LeakyRelu": unary(lambda x: np.where(x < 0, np.float64(np.float32(0.01)) * x, x)),
    "Log": unary(np.log), "Mish": unary(lambda x: x * np.tanh(f.softplus(x))), "Neg": unary(np.negative),
    "Reciprocal": unary(np.reciprocal), "Relu": unary(lambda x: np.where(x < 0, 0, x)), "Round": unary(np.rint),
    "Selu": unary(lambda x: 1.05070102214813232421875 * f.elu(x, 1.67326319217681884765625)),
    "Shrink": [unary(f.shrink), unary(lambda x: f.shrink(x, 1.5, 1.5), bias=1.5, lambd=1.5)],
    "Sigmoid": unary(f.sigmoid), "Sign": unary(f.sign), "Sin": unary(np.sin), "Sinh": unary(np.sinh),
    "Softplus": unary(f.softplus), "Softsign": unary(lambda x: x / (1 + np.abs(x))), "Sqrt": unary(np.sqrt),
    "Swish": [unary(lambda x: x * f.sigmoid(x)), unary(lambda x: x * f.sigmoid(2 * x), alpha=2.0)],
    "Tan": unary(np.tan), "Tanh": unary(np.tanh), "ThresholdedRelu": unary(lambda x: np.where(x > 1, x, 0)),
    "Clip": [Told(lambda x, low, high: f.clip(low, high)(x), constants=(-1.0, 2.0)),
             Told(lambda x, low, high: f.clip(low, high)(x), constants=(2.0, -1.0)),
             Told(lambda x, low, high: f.clip(low, high)(x), constants=(-np.inf, np.inf))],
    "Cast": [Told(lambda x: x, attributes={"to": 1}, result=np.float32), UNDEFINED],
    "Add": pair(np.add), "Sub": pair(np.subtract), "Mul": pair(np.multiply), "Div": pair(np.divide),
    "Pow": [pair(np.power), power(0.5), power(2.0), power(3.0), power(-1.0), power(1.0), power(0.0), power(-0.5)],
    "Mod": pair(np.fmod, fmod=1), "PRelu": pair(lambda x, slope: np.where(x < 0, slope * x, x)),
    "Max": pair(np.maximum), "Min": pair(np.minimum), "Sum": pair(np.add),
    # The sum is of the type that the kernel computes in: f32, or f64.
    "Mean": [Told(lambda a, b: (a + b) / 2, "pairs", types=("f64",)),
             Told(lambda a, b: (a + b).astype(np.float32) / 2, "pairs", types=("f32", "f16", "bf16"))],
    "Equal": pair(np.equal), "Greater": pair(np.greater), "GreaterOrEqual": pair(np.greater_equal),
    "Less": pair(np.less), "LessOrEqual": pair(np.less_equal), "SwiGLU": PARTS,
}

ALONG_AXES: dict[str, Entry | list[Entry]] = {
    "ArgMax": arg(np.argmax), "ArgMin": arg(np.argmin), "Hardmax": along(f.hardmax),
    "TopK": [along(lambda x, _: f.top(5, True)(x), (np.array([5]),)),
             along(lambda x, _: f.top(37, True)(x), (np.array([37]),)),
             along(lambda x, _: f.top(5, False)(x), (np.array([5]),), largest=0),
             along(lambda x, _: f.top(37, False)(x), (np.array([37]),), largest=0)],
    "Softmax": along(f.softmax), "LogSoftmax": along(f.log_softmax),
    "CumSum": along(lambda x, _: x.cumsum(-1), (np.array(1),)), "CumProd": UNDEFINED,
    "ReduceL1": reduced(lambda x, axis: np.abs(x).sum(axis, keepdims=True)),
    "ReduceL2": reduced(lambda x, axis: np.sqrt((x * x).sum(axis, keepdims=True))),
    "ReduceLogSum": reduced(lambda x, axis: np.log(x.sum(axis, keepdims=True))),
    "ReduceLogSumExp": reduced(lambda x, axis: np.logaddexp.reduce(x, axis, keepdims=True)),
    "ReduceMax": reduced(keep(np.max)), "ReduceMean": reduced(keep(np.mean)), "ReduceMin": reduced(keep(np.min)),
    "ReduceProd": reduced(keep(np.prod)), "ReduceSum": reduced(keep(np.sum)),
    "ReduceSumSquare": reduced(lambda x, axis: (x * x).sum(axis, keepdims=True)),
    "LayerNormalization": along(f.layer_norm, (WIDE, WIDE - 1), shape="deviations"),
    "RMSNormalization": along(f.rms_norm, (WIDE,), shape="deviations"),
    "InstanceNormalization": along(f.instance_norm, (CHANNELS, CHANNELS - 1), shape="images"),
    "BatchNormalization": along(f.batch_norm, (CHANNELS, CHANNELS - 1, CHANNELS / 2, CHANNELS), shape="images"),
    "GroupNormalization": along(
        lambda x, s, b: f.instance_norm(x, s, b), (CHANNELS, CHANNELS - 1), shape="images", num_groups=21),
    "MaxPool": along(f.max_pool, shape="images", kernel_shape=[2, 2], strides=[2, 2]),
    "GlobalMaxPool": along(lambda x: x.max((2, 3), keepdims=True), shape="images"),
    "GlobalAveragePool": along(lambda x: x.mean((2, 3), keepdims=True), shape="images"),
    "LpNormalization": UNDEFINED, "MeanVarianceNormalization": PARTS, "LRN": SUMS, "AveragePool": SUMS,
    "LpPool": SUMS, "GlobalLpPool": SUMS, "MaxRoiPool": UNDEFINED, "MaxUnpool": MOVED,
    "NegativeLogLikelihoodLoss": PARTS, "SoftmaxCrossEntropyLoss": PARTS,
    "NonZero": Told(lambda x: np.array(np.nonzero(x))), "Unique": UNDEFINED, "NonMaxSuppression": UNDEFINED,
}

OTHERS: dict[str, Entry | list[Entry]] = {
    **dict.fromkeys(["BitCast", "CenterCropPad", "Compress", "Concat", "DepthToSpace", "Expand", "Flatten", "Gather",
                     "GatherElements", "GatherND", "Identity", "Pad", "Reshape", "ReverseSequence", "ScatterND",
                     "ScatterElements", "Slice", "SpaceToDepth", "Split", "Squeeze", "TensorScatter", "Tile",
                     "Transpose", "Unsqueeze", "Where"], MOVED),
    "Attention": Exempt("NaN among hidden scores: kernels differ in whether the mask or the NaN wins"),
    **dict.fromkeys(["CausalConvWithState", "Col2Im", "Conv", "ConvTranspose", "DFT", "DeformConv", "Det",
                     "Einsum", "GRU", "Gemm", "LSTM", "LinearAttention", "MatMul", "RNN", "STFT"],
                    SUMS),
    # In the third recipe two products nearly cancel, where one rounding fewer shows.
    "RotaryEmbedding": replace(SUMS, most=2),
    **dict.fromkeys(["AffineGrid", "Resize", "RoiAlign"], BLENDED),
    "GridSample": Exempt("`cpu` multiplies pixels beside the point by a weight of 0, `reference` leaves them out"),
    **dict.fromkeys(["CastLike", "DequantizeLinear", "DynamicQuantizeLinear", "QLinearConv", "QLinearMatMul",
                     "QuantizeLinear"], UNDEFINED),
    **dict.fromkeys(["ConcatFromSequence", "Loop", "Optional", "OptionalGetElement", "OptionalHasElement", "Scan",
                     "SequenceAt", "SequenceConstruct", "SequenceErase", "SequenceInsert", "SequenceLength",
                     "SequenceMap", "SplitToSequence", "EyeLike", "Shape", "Size"], WHOLE),
    **dict.fromkeys(["Bernoulli", "Dropout", "Multinomial", "RandomNormalLike", "RandomUniformLike"], RANDOM),
    "Trilu": [along(np.triu), along(np.tril, upper=0)],
    "MelWeightMatrix": Exempt("takes frequencies as scalars that the planner reads"),
    "OneHot": Exempt("its depth is a scalar that the planner reads, and its values are moved"),
    "Range": Exempt("takes scalars that the planner reads: NaN and infinities are refused, as hostile_shapes tests"),
}

TABLE: dict[str, Entry | list[Entry]] = {**ELEMENTWISE, **ALONG_AXES, **OTHERS}
OPERATORS = [*TABLE, *sorted(set(integers.TABLE) - set(TABLE))]


def entries_of(operator: str) -> list[Entry]:
    found = TABLE.get(operator, [])
    return [*(found if isinstance(found, list) else [found]), *integers.TABLE.get(operator, [])]
