"""Weights of a few bits: MatMulNBits, GatherBlockQuantized, MatMulBnb4 and DynamicQuantizeLSTM of com.microsoft."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import ml_dtypes
import numpy as np

from domains.case import OneNode
from domains.contrib import ms, normal

RNG = np.random.default_rng(11)


def pack(numbers: np.ndarray, bits: int) -> np.ndarray:
    """Along the last axis, the lowest bits first; rows padded to bytes."""
    per_byte = 8 // bits
    spare = -numbers.shape[-1] % per_byte
    padded = np.pad(numbers, [(0, 0)] * (numbers.ndim - 1) + [(0, spare)])
    parts = padded.reshape(*padded.shape[:-1], -1, per_byte).astype(np.uint8)
    return np.bitwise_or.reduce(parts << (np.arange(per_byte) * bits).astype(np.uint8), axis=-1).astype(np.uint8)


def product(name: str, *, bits: int, k: int, block: int, zeros: str = "", groups: str = "", bias: bool = False,
            level: int = 0, element: type = np.float32, n: int = 6, rows: tuple[int, ...] = (3,)) -> OneNode:
    """`zeros`: "u8", "float" or "one" value for all; `groups`: "even" or "uneven"."""
    blocks = -(-k // block)
    top = 1 << bits
    numbers = RNG.integers(0, top, (n, blocks * block))
    scales = np.abs(normal(n, blocks)) / (top * (8 if level else 1))
    constants = {"b": pack(numbers, bits).reshape(n, blocks, -1), "s": scales.astype(element)}
    if zeros == "float":
        constants["z"] = (RNG.random((n, blocks)) * top).astype(element)
    elif zeros:
        constants["z"] = pack(np.full((n, blocks), 5) if zeros == "one" else RNG.integers(0, top, (n, blocks)), bits)
    if groups:
        even = RNG.permutation(np.arange(k) // block)
        constants["g"] = (even if groups == "even" else RNG.integers(0, blocks, k)).astype(np.int32)
    if bias:
        constants["c"] = normal(n).astype(element)
    order = ["a", "b", "s", "z" if zeros else "", "g" if groups else "", "c" if bias else ""]
    while not order[-1]:
        order.pop()
    return ms(f"matmul_nbits_{name}", "MatMulNBits", {"a": normal(*rows, k).astype(element)}, constants=constants,
              order=order, K=k, N=n, bits=bits, block_size=block, accuracy_level=level)


def products() -> Iterator[OneNode]:
    for bits, block, zeros in itertools.product((2, 4, 8), (16, 32, 128), ("", "u8", "one")):
        yield product(f"{bits}_{block}_{zeros or 'none'}", bits=bits, block=block, k=3 * block, zeros=zeros)
    for bits, k in itertools.product((4, 8), (40, 100, 257)):
        yield product(f"{bits}_tail_{k}", bits=bits, k=k, block=32, zeros="u8", rows=(2, 2))
    for bits in (4, 8):
        yield product(f"{bits}_many_rows", bits=bits, k=96, block=32, zeros="u8", rows=(33,), n=70)
        yield product(f"{bits}_bias", bits=bits, k=64, block=32, bias=True, rows=(1,))
        yield product(f"{bits}_f16", bits=bits, k=64, block=32, zeros="u8", element=np.float16, bias=True)
    yield product("4_float_zeros", bits=4, k=64, block=16, zeros="float")
    for groups, k in itertools.product(("even", "uneven"), (96, 128)):
        # onnxruntime finds packed zero points by another rule if there are groups
        yield product(f"4_{groups}_groups_{k}", bits=4, k=k, block=32, groups=groups)
        yield product(f"4_{groups}_groups_{k}_float", bits=4, k=k, block=32, groups=groups, zeros="float")


def rounded_products() -> Iterator[OneNode]:
    """onnxruntime, too, rounds the other factor of these to 8 bits, block by block."""
    for bits, block, zeros in itertools.product((4, 8), (16, 32, 64, 256), ("", "u8")):
        yield product(f"rounded_{bits}_{block}_{zeros or 'none'}", bits=bits, block=block, k=3 * block, zeros=zeros, level=4)
    for bits, rows in itertools.product((4, 8), (1, 2, 3, 4, 7, 40)):
        yield product(f"rounded_{bits}_rows_{rows}", bits=bits, k=160, block=32, zeros="u8", level=4, rows=(rows,), n=9)


def gather(name: str, numbers: np.ndarray, *, block: int, bits: int = 4, zeros: bool = False, axis: int = 0,
           quantized: int = 1, indices: np.ndarray | None = None, element: type = np.float32) -> OneNode:
    blocks = list(numbers.shape)
    blocks[quantized] = -(-blocks[quantized] // block)
    is_packed = numbers.dtype == np.uint8
    constants = {"d": pack(numbers, bits) if is_packed else numbers,
                 "s": (np.abs(normal(*blocks)) / 8).astype(element)}
    if zeros:
        own = RNG.integers(0, 1 << bits, blocks)
        constants["z"] = pack(own, bits) if is_packed else (own - (8 if numbers.dtype == ml_dtypes.int4 else 0)).astype(numbers.dtype)
    if indices is None:
        indices = RNG.integers(-numbers.shape[axis], numbers.shape[axis], (2, 3))
    return OneNode(f"gather_blocks_{name}", "GatherBlockQuantized", "com.microsoft", {"i": indices},
                   constants=constants, order=["d", "i", "s", *(["z"] if zeros else [])], opsets={"": 21},
                   attributes={"block_size": block, "bits": bits, "gather_axis": axis, "quantize_axis": quantized})


def gathers() -> Iterator[OneNode]:
    for bits, block, zeros in itertools.product((2, 4, 8), (16, 32), (False, True)):
        numbers = RNG.integers(0, 1 << bits, (7, 96)).astype(np.uint8)
        yield gather(f"u8_{bits}_{block}_{int(zeros)}", numbers, bits=bits, block=block, zeros=zeros)
    for element, zeros, (axis, quantized) in itertools.product(
            (ml_dtypes.uint4, ml_dtypes.int4), (False, True), ((0, 1), (1, 0), (0, -1), (1, 1), (0, 0))):
        low = -8 if element == ml_dtypes.int4 else 0
        numbers = RNG.integers(low, low + 16, (32, 48)).astype(element)
        yield gather(f"{np.dtype(element).name}_{axis}_{quantized % 2}{quantized}_{int(zeros)}".replace("-", "m"), numbers,
                     block=16, zeros=zeros, axis=axis, quantized=quantized)
    numbers = RNG.integers(0, 16, (5, 64)).astype(np.uint8)
    yield gather("outside", numbers, block=32, indices=np.array([4, 5, -5, -6, 99]))
    yield gather("one_index", numbers, block=32, indices=np.array(3))
    yield gather("i32", numbers, block=32, indices=np.array([[1], [2]], np.int32))
    yield gather("f16", numbers, block=32, element=np.float16)
    yield gather("three_axes", RNG.integers(0, 16, (3, 4, 32)).astype(ml_dtypes.uint4), block=16, axis=1, quantized=2)


def bnb_products() -> Iterator[OneNode]:
    for kind, k, block in itertools.product((0, 1), (64, 40, 33), (16, 64)):
        n = 5
        constants = {"b": RNG.integers(0, 256, (n * k + 1) // 2).astype(np.uint8),
                     "s": np.abs(normal(-(-n * k // block)))}
        yield ms(f"matmul_bnb4_{kind}_{k}_{block}", "MatMulBnb4", {"a": normal(3, k)}, constants=constants, K=k, N=n,
                 block_size=block, quant_type=kind)


def lstm(name: str, *, direction: str = "forward", per_channel: bool = False, initial: bool = True, signed: bool = True,
         bias: bool = True, peepholes: bool = False, lengths: bool = False, **attributes: object) -> OneNode:
    """Weights of 7 bits: on AVX2 without VNNI, onnxruntime's sums of products of full bytes saturate."""
    steps, batch, width, hidden = 6, 3, 5, 4
    directions = 2 if direction == "bidirectional" else 1
    feeds = {"x": normal(steps, batch, width)}
    element = np.int8 if signed else np.uint8
    constants, order = {}, ["x"]
    shape = (directions, 4 * hidden) if per_channel else (directions,)
    for key, rows in (("w", width), ("r", hidden)):
        low = -64 if signed else 0
        constants[key] = RNG.integers(low, low + 128, (directions, rows, 4 * hidden)).astype(element)
        constants[f"{key}s"] = RNG.uniform(0.004, 0.008, shape).astype(np.float32)
        # onnxruntime takes zero points per channel only if they are all alike
        zero = 0 if signed and per_channel else (3 if signed else 64)
        constants[f"{key}z"] = np.full(shape, zero, element)
        order.append(key)
    if bias:
        constants["b"] = normal(directions, 8 * hidden) / 4
    if lengths:
        feeds["n"] = np.array([6, 4, 1], np.int32)
    if initial:
        feeds |= {"h": normal(directions, batch, hidden), "c": normal(directions, batch, hidden)}
    if peepholes:
        constants["p"] = normal(directions, 3 * hidden) / 4
    order += [key if key in feeds | constants else "" for key in ("b", "n", "h", "c", "p")]
    return ms(f"dynamic_lstm_{name}", "DynamicQuantizeLSTM", feeds, outputs=("Y", "H", "C"), constants=constants,
              order=[*order, "ws", "wz", "rs", "rz"], hidden_size=hidden, direction=direction, **attributes)


def recurrent() -> Iterator[OneNode]:
    for direction, per_channel in itertools.product(("forward", "reverse", "bidirectional"), (False, True)):
        yield lstm(f"{direction}_{int(per_channel)}", direction=direction, per_channel=per_channel)
    yield lstm("unsigned", signed=False)
    yield lstm("without_state", initial=False, bias=False)
    yield lstm("lengths", lengths=True, direction="bidirectional")
    yield lstm("peepholes", peepholes=True)
    yield lstm("forget", input_forget=1)


def rounded() -> Iterator[OneNode]:
    """Cases in which onnxruntime rounds to 8 bits what Sluice does not, or by another scale."""
    yield from rounded_products()
    yield from recurrent()


def build() -> Iterator[OneNode]:
    for family in (products, gathers, bnb_products, rounded):
        yield from family()
