#!/usr/bin/env python3
"""Random graphs: rows of a model that joins requests are what each row gives alone.

Each graph has its own seed and two forms: any number of rows, and the number that it was made with. What a runtime
takes with batch_rows, which means that the rows were proved independent, is asked for all rows in one request, for each
row alone, and for all in reverse order. --seed 17 --count 1 repeats a graph, --print shows it and why it is refused.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from report import Report  # noqa: E402

from random_graphs import tolerance  # noqa: E402
from random_graphs.assemble import model_of  # noqa: E402
from random_graphs.case import Case, Value  # noqa: E402
from random_graphs.evaluate import Refused  # noqa: E402
from random_graphs.grow import FAMILIES, depth_of  # noqa: E402
from random_graphs.values import NUMBERS  # noqa: E402

BUILD = Path(os.environ["SLUICE"]).resolve().parents[1]
sys.path.insert(0, str(BUILD / "python"))
import sluice  # noqa: E402

COUNT = 150
# The others make no tensors with rows, or draw on libraries of their own.
ROWED = [family for family in FAMILIES if family not in ("control", "sequences", "text", "signal")]


class RowCase(Case):
    """Its inputs have `rows` as their first dimension; all else are constants."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.rows = self.between(2, 5)
        self.is_dynamic = False

    def given(self, data: np.ndarray, constant: float = 0.5) -> Value:
        data = np.asarray(data)
        has_rows = data.ndim > 0 and data.shape[0] == self.rows and data.size and data.dtype in NUMBERS
        return super().given(data, min(constant, 0.5) if has_rows else 1.0)

    def new(self, dtype: np.dtype, shape: tuple[int, ...], constant: float = 0.4) -> Value:
        if shape and self.chance(0.5):
            shape = (self.rows, *shape[1:])
        return super().new(dtype, shape, constant)


def refusing(recipe: Callable[[Case], object]) -> Callable[[Case], object]:
    """A recipe may expect of a new value the shape that it asked for."""

    def attempt(case: Case) -> object:
        try:
            return recipe(case)
        except (ValueError, IndexError) as problem:
            raise Refused from problem

    return attempt


def grow(seed: int) -> RowCase:
    case = RowCase(seed)
    chosen = [case.pick(ROWED) for _ in range(case.between(1, 3))]
    depth = min(depth_of(case), 8)
    for _ in range(4 * depth + 10):
        if len(case.fragments) < depth:
            case.attempt(refusing(case.pick(FAMILIES[case.pick(chosen)])))
    return case


def result_of(case: RowCase) -> Value:
    """The last value with a row for each."""
    made = {name for fragment in case.fragments for name in fragment.outputs}
    fits = [value for value in case.values if value.name in made and value.rank and value.dtype in NUMBERS
            and value.shape[0] == case.rows and value.data.size]
    if not fits:
        raise Refused
    return fits[-1]


def needed(case: RowCase, result: Value) -> tuple[list, dict[str, np.ndarray]]:
    """The fragments and the inputs that the result depends on."""
    wanted, kept = {result.name}, []
    for fragment in reversed(case.fragments):
        if wanted & set(fragment.outputs):
            kept.append(fragment)
            wanted |= set(fragment.inputs)
    return kept[::-1], {name: array for name, array in case.feeds.items() if name in wanted}


def same(one: np.ndarray, other: np.ndarray) -> bool:
    return one.shape == other.shape and one.dtype == other.dtype and tolerance.agree(one, other)


class Batch:
    def __init__(self, shows: bool) -> None:
        self.shows = shows
        self.runtime = sluice.Runtime()
        self.verdicts: Counter[str] = Counter()
        self.operators: Counter[str] = Counter()

    def check(self, seed: int) -> list[str]:
        """What is wrong with the graph's two forms."""
        case = grow(seed)
        try:
            fragments, feeds = needed(case, result := result_of(case))
        except Refused:
            self.verdicts["without rows"] += 1
            return []
        if not feeds:
            self.verdicts["without inputs"] += 1
            return []
        wrong = []
        for is_symbolic in (True, False):
            symbols = {(name, 0): "rows" for name in feeds} if is_symbolic else {}
            model = model_of(fragments, feeds, case.weights, {result.name: result.data}, case.opset, symbols,
                             shapes=False)
            why = self.check_form(model, feeds, case.rows)
            if self.shows:
                print(onnx.printer.to_text(model))
            if why:
                wrong.append(f"{'any number of' if is_symbolic else case.rows} rows: {why}")
        return wrong

    def check_form(self, model: onnx.ModelProto, feeds: dict[str, np.ndarray], rows: int) -> str:
        try:
            package = sluice.compile(model.SerializeToString())
        except sluice.Error:
            self.verdicts["not compiled"] += 1
            return ""
        try:
            loaded = self.runtime.load(package, name="m", batch_rows=rows)
        except sluice.InvalidArgument as refusal:
            self.verdicts["refused"] += 1
            if self.shows:
                print(refusal)
            return ""
        try:
            wrong = self.compare(loaded, feeds, rows)
        finally:
            loaded.unload()
        self.verdicts["joined"] += 1
        self.operators.update(node.op_type for node in model.graph.node)
        return wrong

    @staticmethod
    def compare(loaded: sluice.LoadedModel, feeds: dict[str, np.ndarray], rows: int) -> str:
        def ask(order: slice) -> np.ndarray:
            return np.asarray(loaded(*[np.ascontiguousarray(feeds[spec.name][order]) for spec in loaded.inputs]))

        together = ask(slice(None))
        if together.shape[0] != rows:
            return f"{rows} rows give {together.shape[0]}"
        if not same(ask(slice(None, None, -1))[::-1], together):
            return "rows in reverse order give other results"
        for row in range(rows):
            if not same(ask(slice(row, row + 1)), together[row:row + 1]):
                return f"row {row} gives another result alone"
        return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--print", action="store_true")
    options = parser.parse_args()
    print(f"seeds {options.seed} to {options.seed + options.count - 1}")
    report, batch, failed = Report(), Batch(options.print), 0
    for seed in range(options.seed, options.seed + options.count):
        try:
            wrong = batch.check(seed)
        except sluice.Error as problem:
            wrong = [f"{type(problem).__name__}: {problem}"]
        for why in wrong:
            failed += 1
            report.add(False, f"seed {seed}: {why}")
    verdicts = ", ".join(f"{count} {name}" for name, count in sorted(batch.verdicts.items()))
    report.add(failed == 0, f"rows of {batch.verdicts['joined']} models are alone what they are together ({verdicts})")
    kinds = ", ".join(f"{kind} {count}" for kind, count in batch.operators.most_common())
    print(f"operators of joined models: {kinds}")
    if options.count >= COUNT:
        report.add(batch.verdicts["joined"] * 10 > options.count, "enough models join to prove something")
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
