"""Inputs that nobody should send: indices out of range, sizes below zero, NaN.

Where only integers are hostile, both backends must give the same values. Under NaN and infinity
the order of a sum decides what comes out, so that there they need only both answer or both refuse.
The same holds where a hostile integer becomes a float or is scaled by one: no noise has told whether its digits count,
and a mean of numbers near 2**31, or the arcsine of a tanh near 1, has none left.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from random_graphs import tolerance
from random_graphs.assemble import Arrays, model_of, symbols_of, write_folder
from random_graphs.case import ROUNDERS, Case
from random_graphs.evaluate import walk
from random_graphs.values import INTEGERS


def hostile_floats(rng: np.random.Generator, array: np.ndarray) -> np.ndarray:
    bad = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 3e38, -70.0])
    with np.errstate(over="ignore"):
        drawn = bad[rng.integers(0, len(bad), array.shape)].astype(array.dtype)
    return np.where(rng.random(array.shape) < 0.3, drawn, array)


def hostile_integers(rng: np.random.Generator, array: np.ndarray) -> np.ndarray:
    info = np.iinfo(array.dtype)
    bad = [0, info.min, info.max, info.max // 2, 7, 100]
    if info.min < 0:
        bad += [-1, -7, -100, -1]
    drawn = np.array(bad, array.dtype)[rng.integers(0, len(bad), array.shape)]
    return np.where(rng.random(array.shape) < 0.4, drawn, array)


def hostile(rng: np.random.Generator, array: np.ndarray, floats_too: bool) -> np.ndarray:
    if tolerance.is_float(array.dtype):
        return hostile_floats(rng, array) if floats_too else array
    return hostile_integers(rng, array) if array.dtype in INTEGERS else array


TO_FLOATS = {"Cast", "CastLike", "DequantizeLinear"}


def becomes_float(case: Case, names: Iterable[str]) -> bool:
    """Whether an integer of those names is cast to a float, which the results show, or scaled by
    one. An index is none: both backends select the same elements."""
    types = {value.name: value.dtype for value in case.values}
    hostile_names = {name for name in names if types[name] in INTEGERS}
    for fragment in case.fragments:
        kinds = {node.op_type for node in walk(fragment.nodes)}
        if hostile_names.isdisjoint(fragment.inputs):
            continue
        if kinds & ROUNDERS:
            return True
        if kinds & TO_FLOATS and any(tolerance.is_float(types[name]) for name in fragment.outputs):
            return True
        hostile_names |= {name for name in fragment.outputs if types[name] in INTEGERS}
    return False


def write_hostile(case: Case, folder: Path, floats_too: bool) -> str:
    """Turns constant small integers, which control shapes and indices, into inputs. Gives what must
    agree, "values" or "refusals"; "" if the graph has no inputs."""
    known = {value.name: value.data for value in case.values}
    given: Arrays = dict(case.feeds)
    weights = dict(case.weights)
    for name, array in case.weights.items():
        if array.dtype in INTEGERS and array.ndim < 2 and case.chance(0.15):
            given[name] = weights.pop(name)
    inputs = {name: hostile(case.rng, array, floats_too) for name, array in given.items()}
    if not given:
        return ""
    read = {name for fragment in case.fragments for name in fragment.inputs}
    outputs = {name: known[name] for fragment in case.fragments for name in fragment.outputs
               if name not in read}
    model = model_of(case.fragments, given, weights, outputs, case.opset, symbols_of(case),
                     shapes=False)
    write_folder(folder, model, inputs, {})
    return "refusals" if floats_too or becomes_float(case, given) else "values"
