"""Cases of com.microsoft, and of what transformer exporters put into ONNX's own domain."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from domains.case import OneNode, onnxruntime_results

RNG = np.random.default_rng(3)


def normal(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape, dtype=np.float32)


def ms(name: str, kind: str, inputs: dict[str, np.ndarray], outputs: tuple[str, ...] = ("Y",),
       constants: dict[str, np.ndarray] | None = None, order: list[str] | None = None,
       results: list[str] | None = None, **attributes: object) -> OneNode:
    return OneNode(name, kind, "com.microsoft", inputs, outputs=outputs, attributes=attributes,
                   constants=constants or {}, order=order, results=results)


def activations() -> Iterator[OneNode]:
    x, bias = normal(2, 3, 8), normal(8)
    yield ms("gelu", "Gelu", {"x": x})
    yield ms("bias_gelu", "BiasGelu", {"x": x}, constants={"b": bias})
    yield ms("fast_gelu", "FastGelu", {"x": x})
    yield ms("fast_gelu_bias", "FastGelu", {"x": x}, constants={"b": bias})
    yield ms("quick_gelu", "QuickGelu", {"x": x}, alpha=1.5)


def products() -> Iterator[OneNode]:
    a, b = normal(2, 3, 4), normal(2, 4, 5)
    yield ms("fused_matmul", "FusedMatMul", {"a": a, "b": b}, alpha=0.5)
    flipped = {"a": a.transpose(0, 2, 1).copy(), "b": b.transpose(0, 2, 1).copy()}
    yield ms("fused_matmul_flipped", "FusedMatMul", flipped, transA=1, transB=1)
    for activation in ("Relu", "LeakyRelu", "Sigmoid", "Tanh"):
        yield ms(f"fused_gemm_{activation}", "FusedGemm", {"a": a[0], "b": b[0]},
                 constants={"c": normal(5)}, alpha=0.5, activation=activation,
                 **({"activation_alpha": 0.1} if activation == "LeakyRelu" else {}))
        yield ms(f"fused_conv_{activation}", "FusedConv", {"x": normal(1, 3, 7, 6)},
                 constants={"w": normal(4, 3, 3, 3), "b": normal(4)}, pads=[1, 1, 1, 1],
                 activation=activation,
                 **({"activation_params": [0.1]} if activation == "LeakyRelu" else {}))
    whole = {"a": RNG.integers(0, 255, (3, 4)).astype(np.uint8)}
    weights = RNG.integers(-128, 127, (4, 5)).astype(np.int8)
    scale = np.float32(0.02)
    yield ms("matmul_integer_to_float", "MatMulIntegerToFloat", whole, constants={
        "b": weights, "as": scale, "bs": np.float32(0.01), "az": np.uint8(120), "bz": np.int8(3),
        "bias": normal(5)})
    yield ms("dynamic_quantize_matmul", "DynamicQuantizeMatMul", {"a": normal(3, 4)},
             constants={"b": weights, "bs": scale, "bz": np.int8(3), "bias": normal(5)})


def block_weights() -> Iterator[OneNode]:
    for bits, k, zeros in ((4, 64, False), (4, 64, True), (4, 40, False), (8, 64, False)):
        block, n = 32, 6
        blocks = -(-k // block)
        packed = RNG.integers(0, 256, (n, blocks, block * bits // 8)).astype(np.uint8)
        constants = {"b": packed, "s": np.abs(normal(n, blocks)) / 8}
        if zeros:
            row = -(-blocks * bits // 8)
            constants["z"] = RNG.integers(0, 256, (n, row)).astype(np.uint8)
        yield ms(f"matmul_nbits_{bits}_{k}_{int(zeros)}", "MatMulNBits", {"a": normal(3, k)},
                 constants=constants, K=k, N=n, bits=bits, block_size=block)


def normalizations() -> Iterator[OneNode]:
    x, skip, gamma, beta, bias = (normal(2, 3, 8), normal(2, 3, 8), normal(8), normal(8), normal(8))
    yield OneNode("simplified", "SimplifiedLayerNormalization", "", {"x": x},
                  constants={"g": gamma}, attributes={"axis": -1, "epsilon": 1e-5})
    feeds = {"x": x, "s": skip}
    yield ms("skip", "SkipLayerNormalization", feeds, constants={"g": gamma, "b": beta})
    yield ms("skip_bias", "SkipLayerNormalization", feeds, epsilon=1e-5,
             constants={"g": gamma, "b": beta, "c": bias})
    yield ms("skip_sum", "SkipLayerNormalization", feeds, outputs=("Y", "", "", "S"),
             constants={"g": gamma, "b": beta})
    yield ms("skip_simplified", "SkipSimplifiedLayerNormalization", feeds, epsilon=1e-5,
             outputs=("Y", "", "", "S"), constants={"g": gamma, "c": bias})
    ids = RNG.integers(0, 9, (2, 5)).astype(np.int32)
    tables = {"w": normal(9, 8), "p": normal(6, 8), "t": normal(2, 8), "g": gamma, "b": beta}
    yield ms("embed", "EmbedLayerNormalization",
             {"i": ids, "k": (ids % 2).astype(np.int32)}, outputs=("Y", "M"), results=["Y"],
             constants=tables, epsilon=1e-5)


def quantized() -> Iterator[OneNode]:
    x = RNG.integers(0, 256, (2, 3, 4, 4)).astype(np.uint8)
    other = RNG.integers(0, 256, (2, 3, 4, 4)).astype(np.uint8)
    pair = {"as": np.float32(0.02), "az": np.uint8(120), "b": other, "bs": np.float32(0.03),
            "bz": np.uint8(130), "ys": np.float32(0.05), "yz": np.uint8(110)}
    for kind in ("QLinearAdd", "QLinearMul"):
        yield ms(kind.lower(), kind, {"x": x}, constants=pair)
    one = {"xs": np.float32(0.02), "xz": np.uint8(120), "ys": np.float32(0.004),
           "yz": np.uint8(0)}
    yield ms("qlinearsigmoid", "QLinearSigmoid", {"x": x}, constants=one)
    yield ms("qlinearleakyrelu", "QLinearLeakyRelu", {"x": x}, alpha=0.1, constants={
        "xs": np.float32(0.02), "xz": np.uint8(120), "ys": np.float32(0.02), "yz": np.uint8(100)})
    yield ms("qlinearaveragepool", "QLinearAveragePool", {"x": x}, kernel_shape=[2, 2],
             strides=[2, 2], constants={**one, "ys": np.float32(0.0173), "yz": np.uint8(120)})
    yield ms("qlinearglobalaveragepool", "QLinearGlobalAveragePool", {"x": x},
             constants={**one, "ys": np.float32(0.02), "yz": np.uint8(120)})
    yield ms("qlinearconcat", "QLinearConcat", {"x": x}, axis=1, order=[
        "ys", "yz", "x", "as", "az", "b", "bs", "bz"], constants=pair)
    a = {"a": RNG.integers(0, 256, (3, 4)).astype(np.uint8)}
    gemm = {"as": np.float32(0.02), "az": np.uint8(120),
            "b": RNG.integers(-128, 128, (5, 4)).astype(np.int8), "bs": np.float32(0.01),
            "bz": np.int8(0), "c": RNG.integers(-99, 99, 5).astype(np.int32)}
    yield ms("qgemm_float", "QGemm", a, constants=gemm, transB=1)
    yield ms("qgemm", "QGemm", a, transB=1,
             constants={**gemm, "ys": np.float32(0.05), "yz": np.uint8(100)})


def attention() -> Iterator[OneNode]:
    batch, length, heads, size = 2, 5, 2, 4
    width = heads * size
    mask = np.array([[1, 1, 1, 1, 0], [1, 1, 1, 0, 0]], np.int32)
    x, w, b = normal(batch, length, width), normal(width, 3 * width) / 3, normal(3 * width)
    for causal in (0, 1):
        yield ms(f"attention_{causal}", "Attention", {"x": x}, constants={"w": w, "b": b},
                 num_heads=heads, unidirectional=causal)
    yield ms("attention_mask", "Attention", {"x": x, "m": mask}, num_heads=heads,
             constants={"w": w, "b": b}, order=["x", "w", "b", "m"])
    qkv = {name: normal(batch, length, width) for name in "qkv"}
    yield ms("multi_head", "MultiHeadAttention", qkv, num_heads=heads)
    yield ms("multi_head_bias", "MultiHeadAttention", qkv, num_heads=heads, scale=0.3,
             constants={"b": b})
    yield ms("multi_head_masked", "MultiHeadAttention",
             {**qkv, "m": mask, "e": normal(1, heads, length, length)}, num_heads=heads,
             order=["q", "k", "v", "", "m", "e"])
    past = {"pk": normal(batch, heads, 3, size), "pv": normal(batch, heads, 3, size)}
    yield ms("multi_head_past", "MultiHeadAttention", {**qkv, **past}, num_heads=heads,
             outputs=("Y", "K", "V"), order=["q", "k", "v", "", "", "", "pk", "pv"])
    caches = {"c": normal(16, size // 2), "s": normal(16, size // 2)}
    for interleaved in (0, 1):
        yield ms(f"rotary_{interleaved}", "RotaryEmbedding",
                 {"x": x, "i": np.array([[0, 1, 2, 3, 4], [3, 4, 5, 6, 7]])}, constants=caches,
                 interleaved=interleaved)
    yield ms("rotary_offset", "RotaryEmbedding",
             {"x": normal(batch, heads, length, size), "i": np.array([2])}, constants=caches)


def packed_heads() -> Iterator[OneNode]:
    """onnxruntime's CPU kernel does not support packed heads. Packing changes no number, so the expected
    output is onnxruntime's result for the same heads unpacked."""
    batch, length, heads, size = 2, 5, 2, 4
    shape = (batch, length, heads * size)
    qkv = {name: normal(*shape) for name in "qkv"}
    expected = onnxruntime_results(
        ms("unpacked", "MultiHeadAttention", qkv, num_heads=heads).model(), qkv)
    parts = [array.reshape(batch, length, heads, 1, size) for array in qkv.values()]
    feeds = {"packed_qkv": {"q": np.concatenate(parts, 3)},
             "packed_kv": {"q": qkv["q"], "kv": np.concatenate(parts[1:], 3)}}
    for name, inputs in feeds.items():
        case = ms(f"multi_head_{name}", "MultiHeadAttention", inputs, num_heads=heads)
        case.expected = expected
        yield case


def group_query(name: str, *, new: int, lengths: list[int], places: int | None = None,
                packed: bool = False, rotary: int | None = None, bias: bool = False,
                given_positions: bool = False, symbolic: bool = False, size: int = 16,
                **attributes: object) -> OneNode:
    """`lengths` of keys per batch entry, the last `new` of which are new; `places` is the capacity of
    the past, if any."""
    batch, heads, kv_heads, total = len(lengths), 4, 2, max(lengths)
    widths = (heads * size, kv_heads * size, kv_heads * size)
    rows = {"q": normal(batch, new, sum(widths))} if packed else {
        name: normal(batch, new, width) for name, width in zip("qkv", widths)}
    feeds = dict(rows)
    if places is not None:
        for side in ("pk", "pv"):
            feeds[side] = normal(batch, kv_heads, places, size)
            for entry, length in enumerate(lengths):  # onnxruntime clears what is behind the past
                feeds[side][entry, :, length - new:] = 0
    feeds["n"] = np.array(lengths, np.int32) - 1
    feeds["t"] = np.array(total, np.int32)
    order = ["q", *(("", "") if packed else ("k", "v")),
             *(("pk", "pv") if places is not None else ("", "")), "n", "t"]
    constants = {}
    if rotary is not None:
        angles = np.outer(np.arange(16), 0.7 ** np.arange(size // 2)).astype(np.float32)
        constants = {"cos": np.cos(angles), "sin": np.sin(angles)}
        attributes |= {"do_rotary": 1, "rotary_interleaved": rotary}
        order += ["cos", "sin"]
    if given_positions or bias:
        order += [""] * (9 - len(order))
        if given_positions:
            feeds["i"] = np.array([np.arange(n - new, n) for n in lengths])
        order.append("i" if given_positions else "")
    if bias:
        feeds["e"] = normal(1, heads, new, total)
        order.append("e")
    case = ms(f"group_query_{name}", "GroupQueryAttention", feeds, outputs=("Y", "K", "V"),
              constants=constants, order=order, num_heads=heads, kv_num_heads=kv_heads,
              **attributes)
    if symbolic:
        case.symbols = {"q": ["B", "S", sum(widths) if packed else widths[0]],
                        "pk": ["B", kv_heads, "P", size], "pv": ["B", kv_heads, "P", size]}
        if not packed:
            case.symbols |= {"k": ["B", "S", widths[1]], "v": ["B", "S", widths[2]]}
    return case


def group_queries() -> Iterator[OneNode]:
    yield group_query("start", new=5, lengths=[5, 5])
    yield group_query("start_buffer", new=5, lengths=[5, 5], places=9, rotary=0)
    yield group_query("start_packed", new=5, lengths=[5, 5], packed=True, rotary=1, symbolic=True)
    yield group_query("step", new=1, lengths=[4, 4], places=3)
    yield group_query("step_symbolic", new=1, lengths=[4, 4], places=3, rotary=0, symbolic=True)
    yield group_query("step_ragged", new=1, lengths=[3, 6], places=5, rotary=0, packed=True)
    yield group_query("step_buffer", new=1, lengths=[3, 6], places=11, rotary=1, scale=0.3)
    yield group_query("chunk", new=3, lengths=[7], places=4, rotary=0, packed=True)
    yield group_query("window", new=1, lengths=[7, 7], places=6, local_window_size=3)
    yield group_query("window_start", new=6, lengths=[6, 6], local_window_size=2)
    yield group_query("softcap", new=1, lengths=[4, 4], places=3, softcap=1.5)
    yield group_query("positions", new=1, lengths=[4, 5], places=4, rotary=0, given_positions=True)
    yield group_query("bias", new=1, lengths=[5, 5], places=4, bias=True)
    yield group_query("bias_buffer", new=1, lengths=[5, 5], places=8, bias=True, rotary=0)


def movement() -> Iterator[OneNode]:
    yield ms("trilu", "Trilu", {"x": normal(3, 4)}, upper=0)
    yield ms("pad", "Pad", {"x": normal(2, 3)},
             constants={"p": np.array([0, 1, 1, 0]), "v": np.array([0.5], np.float32)})
    yield ms("unique", "Unique", {"x": np.array([3, 1, 3, 2, 1], np.float32)},
             outputs=("Y", "I", "C"))
    yield ms("range", "Range", {"a": np.array(1, np.float32), "b": np.array(5, np.float32)})
    yield ms("expand_dims", "ExpandDims", {"x": normal(2, 3)}, constants={"a": np.int32(1)})
    yield ms("grid_sample", "GridSample",
             {"x": normal(1, 2, 4, 4), "g": RNG.uniform(-1, 1, (1, 3, 3, 2)).astype(np.float32)})
    for metric in ("euclidean", "sqeuclidean"):
        yield ms(f"cdist_{metric}", "CDist", {"a": normal(3, 4), "b": normal(5, 4)}, metric=metric)


def tokenizers() -> Iterator[OneNode]:
    texts = np.array([["a bb ccc", "dd, e.f"], ["", "ünï cödé"]], dtype=object)
    for name, more in (
        ("words", {"tokenexp": r"\w+", "mincharnum": 1}),
        ("long_words", {"tokenexp": "[a-zA-Z0-9_]+", "mincharnum": 2}),
        ("separators", {"separators": [" ", "[,.]"], "mincharnum": 1}),
        ("long_parts", {"separators": [" +", ", ?"], "mincharnum": 2}),
        ("characters", {"separators": [""], "mincharnum": 1}),
    ):
        for mark in (0, 1):
            for x in (texts, texts[0]):
                yield ms(f"tokenizer_{name}_{mark}_{x.ndim}", "Tokenizer", {"x": x}, mark=mark,
                         pad_value="#", **more)


def build() -> Iterator[OneNode]:
    yield from tokenizers()
    for family in (activations, products, block_weights, normalizations, quantized, attention,
                   packed_heads, group_queries, movement):
        yield from family()
