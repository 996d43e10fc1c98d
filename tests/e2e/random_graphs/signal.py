"""Fourier transforms, windows, and losses."""

from __future__ import annotations

import numpy as np

from random_graphs.case import Case, Value
from random_graphs.values import F32, FLOATS, I32, I64


def dft(case: Case) -> Value:
    x = case.new(case.pick([F32, F32, *FLOATS]),
                 (case.between(1, 2), case.between(2, 9), case.between(2, 9), case.between(1, 2)),
                 0.1)
    axis = case.between(1, 2)
    onesided = case.pick([None, 1]) if x.shape[-1] == 1 else None
    inverse = case.pick([None, 1]) if not onesided else None
    length = case.ints(case.between(2, 10)) if case.chance(0.3) else None
    if case.since(20):
        return case.op("DFT", x, length, case.ints(axis), inverse=inverse, onesided=onesided)
    return case.op("DFT", x, *([length] if length else []), axis=axis, inverse=inverse,
                   onesided=onesided)


def stft(case: Case) -> Value:
    x = case.new(F32, (case.between(1, 2), case.between(16, 40), 1), 0.1)
    length = case.pick([4, 7, 8])
    window = case.given((case.rng.random(length) + 0.1).astype(F32))
    return case.op("STFT", x, case.ints(case.between(2, 5)), window, case.ints(length),
                   onesided=case.pick([0, 1]))


def window(case: Case) -> Value:
    kind = case.pick(["HannWindow", "HammingWindow", "BlackmanWindow"])
    return case.op(kind, case.ints(case.between(1, 20), case.pick([I32, I64])),
                   periodic=case.pick([None, 0]))


def mel(case: Case) -> Value:
    numbers = [case.ints(value) for value in (case.between(2, 8), case.pick([16, 32]), 8192)]
    return case.op("MelWeightMatrix", *numbers, case.scalar(0.0), case.scalar(4096.0))


def loss(case: Case) -> Value:
    kind = case.pick(["NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"])
    batch, classes = case.between(1, 4), case.between(1, 6)
    more = tuple(case.between(1, 4) for _ in range(case.between(0, 2)))
    x = case.new(case.pick([F32, F32, *FLOATS]), (batch, classes, *more), 0.1)
    labels = case.given(case.rng.integers(0, classes, (batch, *more)).astype(I64), 0.3)
    weights = [case.given((case.rng.random(classes) + 0.5).astype(x.dtype))]
    return case.op(kind, x, labels, *(weights if case.chance(0.4) else []),
                   reduction=case.pick(["none", "mean", "sum"]),
                   ignore_index=case.pick([None, 0]) if np.ptp(labels.data) else None)


RECIPES = [dft, stft, window, mel, loss, loss]
