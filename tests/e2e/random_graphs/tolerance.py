"""How far a float may be from the expected one: the table, per element type.

Allowed is |actual - expected| <= absolute + relative * |expected|. Integers, bools and strings are
exact. The last column is the noise, in units of the last place, that a graph's values are given
while it is made: what changes under it by more than half the tolerance (a tie, a number about to be
rounded the other way) is no matter of agreement, and is left out.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

import ml_dtypes
import numpy as np


@dataclass(frozen=True)
class Tolerance:
    relative: float
    absolute: float
    last_place: float  # of a number near one
    noise: float  # in last places


BF16 = np.dtype(ml_dtypes.bfloat16)
TABLE: dict[str, tuple[np.dtype, Tolerance]] = {
    "f64": (np.dtype(np.float64), Tolerance(1e-9, 1e-10, 2.0**-53, 64)),
    "f32": (np.dtype(np.float32), Tolerance(2e-4, 2e-5, 2.0**-24, 24)),
    "f16": (np.dtype(np.float16), Tolerance(2e-2, 1e-2, 2.0**-11, 2)),
    "bf16": (BF16, Tolerance(1e-1, 6e-2, 2.0**-8, 1)),
}
_BY_DTYPE = {dtype: tolerance for dtype, tolerance in TABLE.values()}
FLOATS = frozenset(_BY_DTYPE) - {BF16}


def tolerance_of(dtype: np.dtype) -> Tolerance | None:
    """The tolerance of a type; None for exact comparison."""
    return _BY_DTYPE.get(dtype)


def is_float(dtype: np.dtype) -> bool:
    return dtype in _BY_DTYPE


def options() -> list[str]:
    """The table in the option format of `sluice conformance`."""
    arguments = []
    for name, (_, row) in TABLE.items():
        arguments += ["--tolerance", f"{name}={row.relative:g},{row.absolute:g}"]
    return arguments


def agree(actual: np.ndarray, expected: np.ndarray, share: float = 1.0) -> bool:
    """Within `share` of the tolerance; the same type and shape."""
    if actual.dtype != expected.dtype or actual.shape != expected.shape:
        return False
    row = tolerance_of(expected.dtype)
    if row is None:
        return bool(np.array_equal(actual, expected))
    a, e = actual.astype(np.float64), expected.astype(np.float64)
    with np.errstate(invalid="ignore"):
        near = np.abs(a - e) <= share * (row.absolute + row.relative * np.abs(e))
    return bool((near | (a == e) | (np.isnan(a) & np.isnan(e))).all())


def underflowed(array: np.ndarray, signs: np.ndarray, types: Container[np.dtype]) -> np.ndarray:
    """`array` with the least number in place of zeros, if it is of one of `types`: of a product that
    vanishes in f16, runtimes that keep more digits between operations have something left to divide
    by."""
    if array.dtype not in types:
        return array
    least = np.finfo(array.dtype).tiny if array.dtype != np.float16 else np.finfo(array.dtype).smallest_subnormal
    return np.where(array == 0, np.copysign(least, signs).astype(array.dtype), array)


def flushed(array: np.ndarray) -> np.ndarray:
    """`array` with zeros in place of subnormal numbers, which `cpu` takes as zero (docs/numbers.md)."""
    if array.dtype not in (np.float32, np.float64):
        return array
    return np.where(np.abs(array) < np.finfo(array.dtype).tiny, np.zeros_like(array), array)


def outward(twin: np.ndarray, clean: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """`signs`, but away from `clean` where the twin has left it: noise that came before is not
    taken back."""
    if not is_float(twin.dtype) or twin.shape != clean.shape:
        return signs
    with np.errstate(invalid="ignore"):
        moved = twin.astype(np.float64) - clean.astype(np.float64)
    return np.where((moved == 0) | np.isnan(moved), signs, np.copysign(np.abs(signs), moved))


def disturb(array: np.ndarray, signs: np.ndarray, of_largest: float, term: float = 0.0) -> np.ndarray:
    """`array` with the noise of its type: relative to each element, and to `of_largest` of the
    largest, or of a `term` that no element shows, where an operator adds many terms up. Zeros stay zero otherwise, and what noise takes
    past zero becomes zero: terms that cancel leave 0 in one runtime and a rounding in another. Noise
    that the type would round away becomes one place: other runtimes keep more digits."""
    row = tolerance_of(array.dtype)
    if row is None or array.size == 0:
        return array
    wide = array.astype(np.float64)
    step = row.noise * row.last_place
    with np.errstate(invalid="ignore", over="ignore"):
        largest = max(float(np.abs(wide).max()), term) if of_largest else 0.0
        noisy = wide + step * signs * (np.abs(wide) + of_largest * largest)
        noisy = np.where(noisy * np.sign(wide) < 0, 0.0, noisy)
        moved = np.where(np.isfinite(wide), noisy, wide).astype(array.dtype)
        is_stuck = (moved == array) & (noisy != wide) & np.isfinite(wide)
        towards = np.copysign(np.inf, noisy - wide).astype(array.dtype)
        return np.where(is_stuck, np.nextafter(array, towards), moved)
