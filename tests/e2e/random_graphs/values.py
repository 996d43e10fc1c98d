"""Random tensors: element types, shapes, and numbers that are good to calculate with."""

from __future__ import annotations

import numpy as np
import onnx

from random_graphs.tolerance import BF16

F32, F64, F16 = np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.float16)
I8, I16, I32, I64 = (np.dtype(f"int{bits}") for bits in (8, 16, 32, 64))
U8, U16, U32, U64 = (np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64))
BOOL, STRING = np.dtype(bool), np.dtype(object)

FLOATS = (F32, F64, F16, BF16)
SIGNED = (I8, I16, I32, I64)
UNSIGNED = (U8, U16, U32, U64)
INTEGERS = SIGNED + UNSIGNED
NUMBERS = FLOATS + INTEGERS
ALL = NUMBERS + (BOOL,)
WEIGHTS = {F32: 12, I64: 4, I32: 3, F16: 2, F64: 3, BF16: 1, U8: 2, I8: 2, BOOL: 2}

WORDS = ("", "a", "b", "Ab", "ß", "ÄÖ", "a b", "b,a", "12", "long enough to leave its place")

_SPELLING = {"float": F32, "double": F64, "float16": F16, "bfloat16": BF16, "bool": BOOL,
             "string": STRING} | {dtype.name: dtype for dtype in INTEGERS}
Shape = tuple[int, ...]


def types_of_input(kind: str, opset: int, index: int = 0) -> tuple[np.dtype, ...]:
    """What ONNX lets input `index` of an operator be, of the types used here."""
    schema = onnx.defs.get_schema(kind, opset)
    parameter = schema.inputs[min(index, len(schema.inputs) - 1)]
    names = [name[7:-1] for name in parameter.types if name.startswith("tensor(")]
    return tuple(_SPELLING[name] for name in sorted(names) if name in _SPELLING)


def exists(kind: str, opset: int) -> bool:
    return onnx.defs.has(kind, opset) and not onnx.defs.get_schema(kind, opset).deprecated


def choose_type(rng: np.random.Generator, types: tuple[np.dtype, ...]) -> np.dtype:
    weights = np.array([WEIGHTS.get(dtype, 1) for dtype in types], float)
    return types[int(rng.choice(len(types), p=weights / weights.sum()))]


def numbers(rng: np.random.Generator, dtype: np.dtype, shape: Shape) -> np.ndarray:
    if dtype == BOOL:
        return rng.random(shape) < 0.5
    if dtype == STRING:
        words = np.array(WORDS, object)
        return words[rng.integers(0, len(words), shape)]
    if dtype in FLOATS:
        return np.asarray(rng.standard_normal(shape)).astype(dtype)
    low = 0 if dtype in UNSIGNED else -5
    return np.asarray(rng.integers(low, 6, shape)).astype(dtype)


def a_shape(rng: np.random.Generator, low: int = 0, high: int = 5, largest: int = 600) -> Shape:
    """Sizes mostly from 1 to 9; now and then a long one, a 0, a 1."""
    rank = int(rng.integers(low, high + 1)) if rng.random() < 0.5 else int(
        np.clip(rng.integers(1, 4), low, high))
    shape: list[int] = []
    for _ in range(rank):
        draw = rng.random()
        size = 1 if draw < 0.15 else int(rng.integers(10, 70)) if draw > 0.95 else int(
            rng.integers(2, 8))
        room = max(1, largest // max(1, int(np.prod(shape))))
        shape.append(min(size, room))
    if shape and rng.random() < 0.03:
        shape[int(rng.integers(len(shape)))] = 0
    return tuple(shape)


def broadcastable(rng: np.random.Generator, shape: Shape) -> Shape:
    """`shape` with some dimensions made 1 and maybe the first ones dropped."""
    thinned = tuple(1 if rng.random() < 0.3 else size for size in shape)
    return thinned[int(rng.integers(0, len(shape) + 1)) if rng.random() < 0.3 else 0 :]
