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
    rows = {"a": normal(4, 2, 3, 5), "b": normal(5, 2, 3, 6)}  # rows before the batch
    yield ms("fused_matmul_batches", "FusedMatMul", rows, transBatchA=1, transBatchB=1)
    rows = {"a": normal(5, 2, 3, 4), "b": normal(6, 2, 3, 5)}
    yield ms("fused_matmul_batches_flipped", "FusedMatMul", rows, transBatchA=1, transBatchB=1, transA=1, transB=1)
    yield ms("fused_matmul_one_batch", "FusedMatMul", {"a": normal(4, 2, 5), "b": normal(2, 5, 3)}, transBatchA=1)
    yield ms("conv_transpose_pads", "ConvTransposeWithDynamicPads", {"x": normal(1, 2, 5, 5)}, strides=[2, 2],
             constants={"w": normal(2, 3, 3, 3), "p": np.array([1, 0, 0, 1])})
    yield ms("conv_transpose_pads_fed", "ConvTransposeWithDynamicPads", {"x": normal(1, 2, 5, 5), "p": np.array([1, 2, 0, 1])},
             strides=[2, 2], constants={"w": normal(2, 3, 3, 3), "b": normal(3)}, order=["x", "w", "p", "b"])
    for activation in ("Relu", "LeakyRelu", "Sigmoid", "Tanh"):
        yield ms(f"fused_gemm_{activation}", "FusedGemm", {"a": a[0], "b": b[0]},
                 constants={"c": normal(5)}, alpha=0.5, activation=activation,
                 **({"activation_alpha": 0.1} if activation == "LeakyRelu" else {}))
        yield ms(f"fused_conv_{activation}", "FusedConv", {"x": normal(1, 3, 7, 6)},
                 constants={"w": normal(4, 3, 3, 3), "b": normal(4)}, pads=[1, 1, 1, 1],
                 activation=activation,
                 **({"activation_params": [0.1]} if activation == "LeakyRelu" else {}))
    whole = {"a": RNG.integers(0, 255, (3, 4)).astype(np.uint8)}
    # of 7 bits: on AVX2 without VNNI, onnxruntime's sums of products of full bytes saturate
    weights = RNG.integers(-64, 64, (4, 5)).astype(np.int8)
    scale = np.float32(0.02)
    yield ms("matmul_integer_to_float", "MatMulIntegerToFloat", whole, constants={
        "b": weights, "as": scale, "bs": np.float32(0.01), "az": np.uint8(120), "bz": np.int8(3),
        "bias": normal(5)})
    yield ms("dynamic_quantize_matmul", "DynamicQuantizeMatMul", {"a": normal(3, 4)},
             constants={"b": weights, "bs": scale, "bz": np.int8(3), "bias": normal(5)})


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


def softmax_of_bytes(x: np.ndarray, axis: int, opset: int) -> np.ndarray:
    """Before opset 13 the axes from `axis` on are one."""
    rows = x.reshape(*x.shape[:axis % x.ndim], -1) if opset < 13 else np.moveaxis(x, axis, -1)
    powers = np.exp(0.1 * (rows.astype(np.float64) - rows.max(-1, keepdims=True)))
    y = np.clip(np.rint(powers / powers.sum(-1, keepdims=True) / 0.004), 0, 255).astype(np.uint8)
    return y.reshape(x.shape) if opset < 13 else np.moveaxis(y, -1, axis)


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
    for axis, opset in ((1, 12), (-3, 11), (0, 12), (-1, 12), (3, 11), (1, 13), (2, 17)):
        case = ms(f"qlinearsoftmax_axis{axis % 4}_opset{opset}", "QLinearSoftmax", {"x": x},
                  constants={**one, "xs": np.float32(0.1)}, axis=axis, opset=opset)
        case.expected = [softmax_of_bytes(x, axis, opset)]  # onnxruntime is off by one in a third of the elements
        yield case
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
            "b": RNG.integers(-64, 64, (5, 4)).astype(np.int8), "bs": np.float32(0.01),
            "bz": np.int8(0), "c": RNG.integers(-99, 99, 5).astype(np.int32)}
    yield ms("qgemm_float", "QGemm", a, constants=gemm, transB=1)
    yield ms("qgemm", "QGemm", a, transB=1,
             constants={**gemm, "ys": np.float32(0.05), "yz": np.uint8(100)})


    yield ms("qlinearwhere", "QLinearWhere", {"c": RNG.random((2, 3, 4, 4)) < 0.5, "x": x}, constants=pair)
    last = RNG.integers(0, 256, (2, 5, 6, 3)).astype(np.uint8)
    yield ms("qlinearaveragepool_last", "QLinearAveragePool", {"x": last}, kernel_shape=[2, 3], strides=[1, 2],
             pads=[0, 1, 0, 1], channels_last=1, constants={**one, "ys": np.float32(0.0173), "yz": np.uint8(120)})
    yield ms("qlinearglobalaveragepool_last", "QLinearGlobalAveragePool", {"x": last}, channels_last=1,
             constants={**one, "ys": np.float32(0.02), "yz": np.uint8(120)})
    for kind in (np.uint8, np.int8):
        yield ms(f"nhwcmaxpool_{np.dtype(kind).name}", "NhwcMaxPool", {"x": last.astype(kind)}, kernel_shape=[3, 2],
                 strides=[2, 1], pads=[1, 0, 1, 1])
    weights = {"ws": np.array([0.01, 0.02, 0.015, 0.01], np.float32), "wz": np.zeros(4, np.int8),
               "ys": np.float32(0.05), "yz": np.uint8(110), "b": RNG.integers(-99, 99, 4).astype(np.int32)}
    for is_last in (0, 1):
        yield ms(f"qlinearconv_{is_last}", "QLinearConv", {"x": last if is_last else last.transpose(0, 3, 1, 2).copy()},
                 channels_last=is_last, pads=[1, 1, 1, 1], constants={
                     "xs": np.float32(0.02), "xz": np.uint8(120),
                     "w": RNG.integers(-64, 64, (4, 3, 3, 3)).astype(np.int8), **weights})


def quantized_embeddings() -> Iterator[OneNode]:
    ids = RNG.integers(0, 9, (2, 5)).astype(np.int32)
    tables = {key: RNG.integers(0, 256, shape).astype(np.uint8)
              for key, shape in (("w", (9, 8)), ("p", (6, 8)), ("t", (2, 8)), ("g", (8,)), ("b", (8,)))}
    scales = {f"{key}s": np.float32(RNG.uniform(0.01, 0.02)) for key in tables}
    zeros = {f"{key}z": np.uint8(RNG.integers(100, 150)) for key in tables}
    feeds = {"i": ids, "k": (ids % 2).astype(np.int32), "m": np.array([[1] * 5, [1, 1, 1, 0, 0]], np.int32)}
    for segments in (True, False):
        order = ["i", "k" if segments else "", "w", "p", "t" if segments else "", "g", "b", "m",
                 *(name if segments or name[0] != "t" else "" for name in (*scales, *zeros))]
        used = {name: array for name, array in {**tables, **scales, **zeros}.items() if name in order}
        yield ms(f"q_embed_{int(segments)}", "QEmbedLayerNormalization",
                 {name: array for name, array in feeds.items() if name in order}, outputs=("Y", "M"),
                 constants=used, order=order, epsilon=1e-5)


def lengths_as_masks() -> Iterator[OneNode]:
    """Masks that give the end of each text, or the end and the start."""
    batch, length, heads, width = 3, 5, 2, 8
    w, b = normal(width, 3 * width) / 3, normal(3 * width)
    x = normal(batch, length, width)
    ends, starts = np.array([5, 3, 1], np.int32), np.array([0, 1, 0], np.int32)
    for name, mask in (("ends", ends), ("ends_and_starts", np.concatenate([ends, starts]))):
        for causal in (0, 1):
            yield ms(f"attention_{name}_{causal}", "Attention", {"x": x, "m": mask}, num_heads=heads,
                     constants={"w": w, "b": b}, order=["x", "w", "b", "m"], unidirectional=causal)
    past = normal(2, batch, heads, 2, width // heads)
    yield ms("attention_ends_past", "Attention", {"x": x, "m": ends + 2, "past": past}, num_heads=heads,
             constants={"w": w, "b": b}, order=["x", "w", "b", "m", "past"], outputs=("Y", "P"))
    symbolic = ms("attention_ends_symbolic", "Attention", {"x": x, "m": ends}, num_heads=heads,
                  constants={"w": w, "b": b}, order=["x", "w", "b", "m"])
    symbolic.symbols = {"x": ["B", "S", width], "m": ["B"]}
    yield symbolic
    feeds = {name: normal(batch, length, width) for name in "qkv"}
    yield ms("multi_head_ends", "MultiHeadAttention", {**feeds, "m": ends}, num_heads=heads,
             order=["q", "k", "v", "", "m"])


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
    for queries, keys in ((1, 7), (4, 7), (7, 4), (5, 5), (1, 1)):
        oblong = {name: normal(batch, queries if name == "q" else keys, width) for name in "qkv"}
        cached = {**oblong, **{name: normal(batch, heads, keys, size) for name in "kv"}}
        for form, feeds in (("", oblong), ("_cached", cached), ("_symbolic", oblong)):
            case = ms(f"multi_head_causal_{queries}_{keys}{form}", "MultiHeadAttention", feeds, num_heads=heads,
                      unidirectional=1)
            if form == "_symbolic":
                case.symbols = {"q": ["B", "S", width], "k": ["B", "T", width], "v": ["B", "T", width]}
            yield case
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
                given_positions: bool = False, symbolic: bool = False, size: int = 16, sink: bool = False,
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
    if sink:
        constants["sink"] = normal(heads)
        order += [""] * (11 - len(order)) + ["sink"]
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
    yield group_query("smooth", new=1, lengths=[4, 5], places=4, smooth_softmax=1)
    yield group_query("smooth_start", new=5, lengths=[5, 5], smooth_softmax=1, softcap=2.0)
    yield group_query("sink", new=1, lengths=[4, 5], places=4, rotary=0, sink=True)
    yield group_query("sink_start", new=5, lengths=[5, 5], sink=True, local_window_size=3)
    yield group_query("sink_buffer", new=1, lengths=[3, 6], places=11, sink=True, packed=True, symbolic=True)
    yield group_query("both_ways", new=5, lengths=[5, 5], causal=0)
    yield group_query("bias", new=1, lengths=[5, 5], places=4, bias=True)
    yield group_query("bias_buffer", new=1, lengths=[5, 5], places=8, bias=True, rotary=0)


def normalized_queries() -> Iterator[OneNode]:
    """onnxruntime's CPU kernel does not normalize heads: the expected output is its result for heads that are."""
    size, epsilon = 16, 1e-3
    for name, new, lengths, places in (("start", 5, [5, 5], None), ("step", 1, [4, 5], 4)):
        case = group_query(f"norms_{name}", new=new, lengths=lengths, places=places, rotary=0)
        weights = {"qn": normal(size), "kn": normal(size)}
        feeds = dict(case.inputs)
        for key, weight in zip("qk", weights.values()):
            heads = feeds[key].reshape(*feeds[key].shape[:2], -1, size)
            root = np.sqrt((heads ** 2).mean(-1, keepdims=True) + epsilon)
            feeds[key] = (heads / root * weight).reshape(feeds[key].shape).astype(np.float32)
        case.expected = onnxruntime_results(case.model(), feeds)
        case.constants |= weights
        case.order = [*case.order, *[""] * (14 - len(case.order)), *weights]
        case.attributes["qk_norm_epsilon"] = epsilon
        yield case


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
    yield ms("gather_nd", "GatherND", {"x": normal(3, 4, 2), "i": np.array([[0, 1], [2, 3]], np.int32)})
    yield ms("sample_op", "SampleOp", {"x": normal(3, 4)})
    for axis, size, step in ((-1, 3, 1), (0, 2, 2), (1, 4, 3), (1, 1, 1), (2, 5, 2)):
        yield ms(f"unfold_{axis % 3}_{size}_{step}", "UnfoldTensor", {"x": normal(4, 7, 5)}, dim=axis, size=size, step=step)
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
    for family in (activations, products, normalizations, quantized, quantized_embeddings,
                   lengths_as_masks, attention,
                   packed_heads, group_queries, normalized_queries, movement):
        yield from family()
