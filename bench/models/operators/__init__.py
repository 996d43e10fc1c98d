"""Single operators in sizes of real networks: the rows of bench/operators.py, a family per file."""

from operators import arithmetic, copies, images, indexed, matrix, rows, sequence, vision
from operators.case import Case

CASES: list[Case] = [
    *arithmetic.CASES, *rows.CASES, *copies.CASES, *indexed.CASES, *matrix.CASES, *images.CASES, *vision.CASES,
    *sequence.CASES,
]  # fmt: skip
