"""Operators of ONNX's default domain that the compiler writes with others, in the forms that exporters use."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from domains.case import OneNode

RNG = np.random.default_rng(7)
ATTENTION = {"": 23}


def floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def conv_transposes() -> list[OneNode]:
    """Name, image, weights [C, M / group, taps...], attributes."""
    cases = [
        ("unet", (1, 8, 5, 6), (8, 4, 2, 2), {"strides": [2, 2]}),
        ("dcgan", (2, 6, 4, 4), (6, 5, 4, 4), {"strides": [2, 2], "pads": [1, 1, 1, 1]}),
        ("odd", (1, 4, 5, 7), (4, 3, 3, 3), {"strides": [2, 2], "pads": [1, 1, 1, 1], "output_padding": [1, 1]}),
        ("unit_stride", (1, 4, 6, 6), (4, 3, 3, 3), {"pads": [1, 1, 1, 1]}),
        ("vocoder", (1, 8, 9), (8, 4, 16), {"strides": [8], "pads": [4, 4]}),
        ("wide_stride", (1, 3, 4, 4), (3, 2, 2, 2), {"strides": [3, 3], "output_padding": [2, 1]}),
        ("much_padding", (1, 3, 6, 6), (3, 2, 5, 5), {"strides": [2, 2], "pads": [3, 4, 3, 2]}),
        ("depthwise", (1, 6, 5, 5), (6, 1, 4, 4), {"strides": [2, 2], "pads": [1, 1, 1, 1], "group": 6}),
        ("groups", (1, 6, 5, 5), (6, 2, 3, 3), {"strides": [2, 2], "group": 2}),
        ("dilated", (1, 4, 5, 5), (4, 3, 3, 3), {"strides": [2, 2], "dilations": [2, 2]}),
    ]
    return [OneNode(f"conv_transpose_{name}", "ConvTranspose", "", {"X": floats(*image)}, attributes=attributes,
                    constants={"W": floats(*weights), "B": floats(weights[1] * attributes.get("group", 1))})
            for name, image, weights, attributes in cases]


def einsums() -> list[OneNode]:
    cases = [
        ("scores", "bhid,bhjd->bhij", (2, 3, 4, 5), (2, 3, 6, 5)),
        ("mix", "bhij,bhjd->bihd", (2, 3, 4, 6), (2, 3, 6, 5)),
        ("project", "bsh,hnd->bsnd", (2, 3, 8), (8, 2, 4)),
        ("fold", "bsnd,ndh->bsh", (2, 3, 2, 4), (2, 4, 8)),
        ("outer", "i,j->ij", (4,), (5,)),
        ("swapped", "ij,jk->ki", (3, 4), (4, 5)),
        ("drops", "abc,cd->d", (2, 3, 4), (4, 5)),
        ("batched_vector", "bij,bj->bi", (2, 3, 4), (2, 4)),
        ("inner", "ab,ab->", (3, 4), (3, 4)),
        ("elementwise", "ab,ab->ab", (3, 4), (3, 4)),
        ("repeated", "ii->i", (4, 4), None),
        ("turned", "abc->ca", (2, 3, 4), None),
    ]
    made = []
    for name, equation, a, b in cases:
        inputs = {"A": floats(*a)} if b is None else {"A": floats(*a), "B": floats(*b)}
        made.append(OneNode(f"einsum_{name}", "Einsum", "", inputs, attributes={"equation": equation}))
    return made


def movements() -> list[OneNode]:
    image = floats(1, 12, 2, 3)
    made = [OneNode(f"depth_to_space_{mode.lower()}", "DepthToSpace", "", {"X": image},
                    attributes={"blocksize": 2, "mode": mode}) for mode in ("DCR", "CRD")]
    made.append(OneNode("space_to_depth", "SpaceToDepth", "", {"X": floats(1, 3, 4, 6)}, attributes={"blocksize": 2}))
    made.append(OneNode("tile_constant", "Tile", "", {"X": floats(2, 1, 3)},
                        constants={"R": np.array([1, 4, 2], np.int64)}))
    return made


def attentions() -> list[OneNode]:
    q, k, v = floats(1, 4, 3, 8), floats(1, 2, 5, 8), floats(1, 2, 5, 6)
    past = {"PK": floats(1, 2, 4, 8), "PV": floats(1, 2, 4, 6)}
    bools = np.array([[[[1, 1, 0, 1, 0], [0, 1, 1, 1, 1], [1, 0, 0, 0, 0]]]], bool)
    rows = {"Q": floats(2, 3, 12), "K": floats(2, 3, 12), "V": floats(2, 3, 12)}
    heads = {"q_num_heads": 3, "kv_num_heads": 3}

    def attention(name: str, inputs: dict[str, np.ndarray], outputs: list[str] | None = None,
                  order: list[str] | None = None, **attributes: object) -> OneNode:
        return OneNode(f"attention_{name}", "Attention", "", inputs, outputs or ["Y"], attributes, order=order,
                       opsets=ATTENTION)

    return [
        attention("grouped", {"Q": q, "K": k, "V": v}),
        attention("grouped_bools", {"Q": q, "K": k, "V": v, "M": bools}),
        attention("grouped_floats", {"Q": q, "K": k, "V": v, "M": floats(3, 5)}, scale=0.3),
        attention("causal", {"Q": floats(1, 2, 5, 8), "K": k, "V": v}, is_causal=1),
        attention("past", {"Q": q, "K": k, "V": v, **past}, ["Y", "PRK", "PRV"],
                  ["Q", "K", "V", "", "PK", "PV"]),
        attention("rows", rows, **heads),
        attention("rows_causal", rows, is_causal=1, **heads),
        attention("capped", {"Q": q, "K": k, "V": v}, softcap=2.0),
    ]


def rotations() -> list[OneNode]:
    cos, sin = floats(10, 4), floats(10, 4)
    places = np.array([[3, 0, 9]], np.int64)

    def rotary(name: str, x: np.ndarray, **attributes: int) -> OneNode:
        return OneNode(f"rotary_{name}", "RotaryEmbedding", "", {"X": x, "C": cos, "S": sin, "P": places},
                       attributes=attributes, opsets=ATTENTION)

    return [rotary("heads", floats(1, 2, 3, 8)), rotary("interleaved", floats(1, 2, 3, 8), interleaved=1),
            rotary("rows", floats(1, 3, 16), num_heads=2),
            rotary("partial", floats(1, 2, 3, 12), rotary_embedding_dim=8),
            OneNode("rotary_placed", "RotaryEmbedding", "",
                    {"X": floats(1, 2, 3, 8), "C": floats(1, 3, 4), "S": floats(1, 3, 4)}, opsets=ATTENTION)]


def reductions() -> list[OneNode]:
    positive = np.abs(floats(2, 3, 4)) + 0.1
    large = 200 * floats(2, 3, 4)
    large[0, :, 1] = -np.inf
    made = []
    for keepdims in (0, 1):
        for kind, x in (("ReduceLogSum", positive), ("ReduceLogSumExp", large)):
            made.append(OneNode(f"{kind}_{keepdims}", kind, "", {"X": x}, attributes={"keepdims": keepdims},
                                constants={"A": np.array([1], np.int64)}, opsets={"": 18}))
            made.append(OneNode(f"{kind}_{keepdims}_no_axes", kind, "", {"X": x}, attributes={"keepdims": keepdims},
                                constants={"A": np.array([], np.int64)}, opsets={"": 18}))
            for axes in ([], [2, 0]):
                made.append(OneNode(f"{kind}_{keepdims}_{len(axes)}_axes_given", kind, "",
                                    {"X": x, "A": np.array(axes, np.int64)},
                                    attributes={"keepdims": keepdims}, opsets={"": 18}))
    made.append(OneNode("ReduceLogSumExp_all", "ReduceLogSumExp", "", {"X": positive}, opsets={"": 18}))
    return made


def data_dependent() -> list[OneNode]:
    """Nodes without elements, whose sizes a kernel finds."""
    kept = np.array([True, False, True, False])
    return [OneNode("compress_of_nothing_" + "x".join(map(str, shape)), "Compress", "",
                    {"X": np.zeros(shape, np.float32), "C": kept}, attributes={"axis": shape.index(4)},
                    opsets={"": 11})
            for shape in ((0, 4), (4, 0), (3, 4, 0), (2, 0, 4))]


def texts_of_floats() -> list[OneNode]:
    values = [1e10, 1e7, 99999999, 123456.0, 100, 0.5, -0.0, -2**-13, 2**-14, 1e-7, 3e38, -2.5e-30]
    wide = [1e20, 1e8, 1e7, 0.5, 0.001, 1e-7, -3.0]
    return [OneNode(f"text_of_{array.dtype}", "Cast", "", {"X": array}, attributes={"to": TensorProto.STRING},
                    opsets={"": 13}) for array in (np.float32(values), np.float64(wide))]


def build() -> list[OneNode]:
    return [*conv_transposes(), *einsums(), *movements(), *attentions(), *rotations(), *reductions(),
            *data_dependent(), *texts_of_floats()]
