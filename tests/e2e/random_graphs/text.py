"""Strings: made, compared, joined, split, and moved about like any other element."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from random_graphs import indexing, movement
from random_graphs.case import Case, Value
from random_graphs.values import BOOL, I32, I64, STRING, exists, types_of_input

PATTERNS = ["a.*", "[A-Z]+b?", "", ".*", r"\d+", "(a|b)+", "ß"]
MOVERS = [recipe for recipe in movement.RECIPES + [indexing.gather, indexing.gather_elements,
          indexing.gather_nd] if recipe not in (
          movement.blocks, movement.centre, movement.trilu, movement.made_of_shape,
          movement.range_, movement.dropout, movement.pad)]


def texts(case: Case, ranks: tuple[int, int] = (0, 4)) -> Value:
    return case.value((STRING,), ranks)


def moved(case: Case) -> object:
    """Strings in the data-movement operators of other families."""
    before, case.types = case.types, (STRING,)
    try:
        return case.pick(MOVERS)(case)
    finally:
        case.types = before


def partner(case: Case, a: Value) -> Value:
    return case.partner(a)


def equal(case: Case) -> Value:
    case.require(STRING in types_of_input("Equal", case.opset))
    a = texts(case)
    return case.op("Equal", a, partner(case, a))


def concat(case: Case) -> Value:
    a = texts(case)
    return case.op("StringConcat", a, partner(case, a))


def split(case: Case) -> list[Value]:
    x = texts(case, (0, 3))
    return case.ops("StringSplit", x, outputs=2, delimiter=case.pick([None, " ", ",", "a"]),
                    maxsplit=case.pick([None, None, 1, 2]))


def match(case: Case) -> Value:
    return case.op("RegexFullMatch", texts(case), pattern=case.pick(PATTERNS))


def normalize(case: Case) -> Value:
    case.require(exists("StringNormalizer", case.opset))
    x = case.new(STRING, (case.between(1, 6),) if case.chance(0.6) else (1, case.between(1, 6)))
    stop = case.pick([None, ["a", "b"], ["A"]])
    return case.op("StringNormalizer", x, case_change_action=case.pick(["LOWER", "UPPER", "NONE"]),
                   is_case_sensitive=case.between(0, 1), stopwords=stop)


def where(case: Case) -> Value:
    a = texts(case)
    b = partner(case, a)
    return case.op("Where", case.new(BOOL, np.broadcast_shapes(a.shape, b.shape)), a, b)


def spelled(case: Case) -> Value:
    """Numbers to text and back."""
    x = case.value((I32, I64))
    spelling = case.op("Cast", x, to=TensorProto.STRING)
    if case.chance(0.5):
        return spelling
    return case.op("Cast", spelling, to=case.pick([TensorProto.INT64, TensorProto.FLOAT]))


def unique(case: Case) -> list[Value]:
    x = texts(case, (1, 2))
    case.require(x.data.size > 0)
    return case.ops("Unique", x, outputs=4, axis=None, sorted=case.pick([None, 1]))


def counted(case: Case) -> Value:
    """Pairs of words of a dictionary."""
    case.require(exists("TfIdfVectorizer", case.opset))
    x = case.given(case.rng.integers(0, 5, (case.between(1, 9),)).astype(case.pick([I32, I64])))
    return case.op("TfIdfVectorizer", x, mode=case.pick(["TF", "IDF", "TFIDF"]),
                   min_gram_length=1, max_gram_length=2, max_skip_count=case.between(0, 2),
                   ngram_counts=[0, 3], ngram_indexes=[0, 1, 2, 3, 4],
                   pool_int64s=[1, 2, 3, 1, 2, 2, 3],
                   weights=case.pick([None, [0.5, 1.0, 2.0, 0.25, 3.0]]))


RECIPES = [moved, moved, moved, moved, equal, concat, split, match, normalize, where, spelled,
           unique, counted]
