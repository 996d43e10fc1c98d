"""Which recipes a graph is made of, and how deep it grows."""

from __future__ import annotations

from collections.abc import Callable

from random_graphs import (control, dense, elementwise, images, indexing, movement, quantization,
                           recurrent, reduction, sampling, sequences, signal, text)
from random_graphs.case import Case

FAMILIES: dict[str, list[Callable[[Case], object]]] = {
    "elementwise": elementwise.RECIPES,
    "reduction": reduction.RECIPES,
    "movement": movement.RECIPES,
    "indexing": indexing.RECIPES,
    "images": images.RECIPES,
    "sampling": sampling.RECIPES,
    "dense": dense.RECIPES,
    "recurrent": recurrent.RECIPES,
    "signal": signal.RECIPES,
    "quantization": quantization.RECIPES,
    "control": control.RECIPES,
    "sequences": sequences.RECIPES,
    "text": text.RECIPES,
}


def depth_of(case: Case) -> int:
    """2 to 30, small ones more often: they shrink less, and more of them fit into a minute."""
    return case.pick([2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 30])


def grow(seed: int, families: list[str]) -> Case:
    """A few families per graph, so that their operators meet one another's results."""
    case = Case(seed)
    chosen = [case.pick(families) for _ in range(case.between(1, 3))]
    depth, attempts = depth_of(case), 0
    while len(case.fragments) < depth and attempts < 4 * depth + 10:
        attempts += 1
        case.attempt(case.pick(FAMILIES[case.pick(chosen)]))
    if not case.fragments:
        case.attempt(elementwise.silu)
    return case
