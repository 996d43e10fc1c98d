#!/usr/bin/env python3
"""Random graphs: `reference` and `cpu` agree with onnxruntime on every one.

Each graph has its own seed, which determines operators, element types, shapes, opset and symbolic
dimensions. The same graphs also get hostile inputs: both backends must return a result, or both must
refuse. The test shrinks and prints a failing graph; --seed 17 --count 1 --keep DIR repeats it.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import onnx
from report import Report, scratch_folder

from random_graphs import evaluate, exceptions
from random_graphs.assemble import write_case
from random_graphs.grow import FAMILIES, grow
from random_graphs.hostile import write_hostile
from random_graphs.shrink import shrink
from random_graphs.verdicts import Verdict, judge

SEED = 1
COUNT = 1000
EXECUTORS = ("linear", "dataflow", "parallel")
MOST_SHRUNK = 5
LONGEST = 4000  # characters of a printed graph


class Batch:
    """The cases of a run, in folders that are named after their seeds."""

    def __init__(self, seeds: range, families: list[str], folder: Path) -> None:
        self.folder = folder
        self.families = families
        self.operators: Counter[str] = Counter()
        self.plain = [folder / "agree" / f"seed_{seed}" for seed in seeds]
        self.hostile: dict[str, list[Path]] = {"values": [], "refusals": []}
        for seed, path in zip(seeds, self.plain):
            case = grow(seed, families)
            write_case(case, path)
            hostile = folder / "hostile" / path.name
            compared = write_hostile(case, hostile, floats_too=case.pick([False, True]))
            if compared:
                self.hostile[compared].append(hostile)
            self.operators.update(node.op_type for item in case.fragments for node in item.nodes)

    def noise_decides(self, name: str, backend: str, options: list[str]) -> bool:
        """Whether a graph agrees without the outputs that more noise moves than the graph was made with."""
        case = grow(int(name.removeprefix("seed_")), self.families)
        folder = self.folder / "settled" / name
        return not write_case(case, folder, case.moved_by_noise()) or not judge([folder], backend, *options)[name].is_bad

    def explain(self, name: str, backend: str) -> str:
        """The smallest part that fails, as text."""
        case = grow(int(name.removeprefix("seed_")), self.families)
        found = shrink(case, backend, self.folder / "shrunk" / name)
        path = found or self.folder / "agree" / name
        model = onnx.load(path / "model.onnx")
        text = onnx.printer.to_text(model)
        whole = "" if found else "no part of it fails alone; the whole graph:\n"
        return whole + (text if len(text) <= LONGEST else text[:LONGEST] + " ...")


def report_verdicts(batch: Batch, verdicts: dict[str, Verdict], title: str, backend: str, report: Report,
                    options: Sequence[str] = ()) -> None:
    passed, refusals, num_shrunk = 0, Counter[str](), 0
    is_plain = title.endswith("onnxruntime")
    for name, verdict in sorted(verdicts.items()):
        refusal = exceptions.refusal(verdict.text) if verdict.word != "pass" else ""
        if is_plain and verdict.word == "FAIL" and not refusal and batch.noise_decides(name, backend, list(options)):
            refusal = "a rounding decides"
        if verdict.word == "pass" or refusal:
            passed += verdict.word == "pass"
            refusals[refusal] += bool(refusal)
            continue
        report.add(False, f"{title}: {name}: {verdict.word} {verdict.text}")
        chosen = "" if batch.families == list(FAMILIES) else " ".join(batch.families) + " "
        print(f"     again: {sys.argv[0]} {chosen}"
              f"--seed {name.removeprefix('seed_')} --count 1 --keep DIR", flush=True)
        if is_plain and num_shrunk < MOST_SHRUNK:
            num_shrunk += 1
            print(batch.explain(name, backend), flush=True)
    report.add(passed > 0 or bool(refusals) or not verdicts, f"{title}: {passed} of {len(verdicts)} graphs agree")
    for reason, count in refusals.items():
        if reason:
            print(f"     {count} not compared: {reason}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("families", nargs="*", metavar="family",
                        help=f"of {', '.join(FAMILIES)} (default: all)")
    parser.add_argument("--seed", type=int, default=SEED, help="of the first graph (%(default)s)")
    parser.add_argument("--count", type=int, default=COUNT, help="of graphs (%(default)s)")
    parser.add_argument("--executor", choices=EXECUTORS, action="append",
                        help="runs of cpu, repeatable (default: linear)")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="write the graphs here")
    arguments = parser.parse_intermixed_args()
    families = arguments.families or list(FAMILIES)
    seeds = range(arguments.seed, arguments.seed + arguments.count)
    print(f"seeds {seeds.start} to {seeds.stop - 1}", flush=True)
    report = Report()
    with scratch_folder() as scratch:
        start = time.perf_counter()
        batch = Batch(seeds, families, arguments.keep or Path(scratch))
        print(f"{sum(batch.operators.values())} nodes of {len(batch.operators)} operators; "
              f"fragments by {dict(evaluate.opinions)}; {time.perf_counter() - start:.0f} s",
              flush=True)
        title = "reference and onnxruntime"
        report_verdicts(batch, judge(batch.plain, "reference"), title, "reference", report)
        for executor in arguments.executor or ["linear"]:
            more = [] if executor == "linear" else ["--executor", executor, "--threads", "2"]
            title = f"cpu{'' if executor == 'linear' else ', ' + executor} and onnxruntime"
            report_verdicts(batch, judge(batch.plain, "cpu", *more), title, "cpu", report, more)
        for compared, folders in batch.hostile.items():
            more = ["--any-values"] if compared == "refusals" else []
            verdicts = judge(folders, "cpu", "--against", "reference", *more)
            report_verdicts(batch, verdicts, f"{compared} of hostile inputs, cpu and reference", "cpu",
                            report)
        print(f"{time.perf_counter() - start:.0f} s in all")
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
