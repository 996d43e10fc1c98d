#!/usr/bin/env python3
"""Single operators in sizes of real networks, beside onnxruntime: what is slow before a network shows it.

    .venv/bin/python bench/operators.py                       # all rows; some 15 minutes
    .venv/bin/python bench/operators.py GRU STFT              # the rows of some operators
    .venv/bin/python bench/operators.py --sizes fixed --below 0.7
    .venv/bin/python bench/operators.py --write               # and put the table into docs/benchmarks.md
    .venv/bin/python bench/operators.py GRU --write           # replace the rows of some operators there

Each row is a file of one node, with fixed dimensions and again with symbolic ones. The two engines take turns; the ratio
is the median over the rounds of onnxruntime's time over Sluice's in the same round.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "models"))

from harness import agreement, document, sluice_cli, survey, workers  # noqa: E402
from operators import CASES  # noqa: E402
from operators.case import Case  # noqa: E402

SIZES = ("fixed", "symbolic")


def measure(case: Case, sizes: str, arguments: argparse.Namespace) -> survey.Row:
    folder = arguments.folder / sizes
    folder.mkdir(parents=True, exist_ok=True)
    model = folder / f"{survey.slug(case.name())}.onnx"
    case.write(model, sizes == "symbolic")
    feeds = case.feeds()
    refused = survey.Row(case.name(), sizes, 0, 0, 0, 0)
    try:
        expected = agreement.onnxruntime_outputs(model, feeds)
    except Exception as error:  # noqa: BLE001: onnxruntime raises a class per status
        refused.refusal = f"onnxruntime: {str(error).splitlines()[0][:90]}"
        return refused
    try:
        package = sluice_cli.compile_model(model, model.with_suffix(".sluice"))
        error = agreement.error_against(package, feeds, expected)
        inputs = sluice_cli.save_inputs(feeds, model.with_suffix(""))
        return timed(refused, model, package, inputs, error, arguments)
    except (sluice_cli.SluiceError, RuntimeError) as error:
        refused.refusal = f"Sluice: {str(error)[:90]}"
        return refused


def timed(row: survey.Row, model: Path, package: Path, inputs: list[str], error: float,
          arguments: argparse.Namespace) -> survey.Row:
    crew = {"peer": workers.peer_worker("onnxruntime", [workers.Model(model, inputs)], arguments.threads),
            "sluice": workers.sluice_worker([workers.Model(package, inputs)], arguments.threads)}
    try:
        for worker in crew.values():
            worker.run(arguments.seconds)
        turns = [{key: worker.run(arguments.seconds)["median_us"] for key, worker in crew.items()}
                 for _ in range(arguments.rounds)]
    finally:
        for worker in crew.values():
            worker.close()
    row.sluice_us = statistics.median(turn["sluice"] for turn in turns)
    row.peer_us = statistics.median(turn["peer"] for turn in turns)
    row.ratio = statistics.median(turn["peer"] / turn["sluice"] for turn in turns)
    row.error = error
    return row


def chosen(arguments: argparse.Namespace) -> list[Case]:
    if not arguments.operators:
        return CASES
    unknown = set(arguments.operators) - {case.op for case in CASES}
    if unknown:
        raise RuntimeError(f"no rows of {', '.join(sorted(unknown))}")
    return [case for case in CASES if case.op in arguments.operators]


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("operators", nargs="*", metavar="OPERATOR", help="as ONNX names them; all by default")
    parser.add_argument("--sizes", choices=SIZES, action="append", help="fixed, symbolic; both by default")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.02, help="of a turn")
    parser.add_argument("--below", type=float, default=float("inf"), help="print the rows below this ratio alone")
    parser.add_argument("--json", type=Path, help="write the rows there, too")
    parser.add_argument("--write", action="store_true", help="put the rows into the table in docs/benchmarks.md")
    parser.add_argument("--folder", type=Path, default=sluice_cli.ROOT / "build/bench/operators")
    return parser.parse_args()


def main() -> int:
    arguments = parse_arguments()
    rows: list[survey.Row] = []
    print(survey.HEADER, flush=True)
    for case in chosen(arguments):
        for sizes in arguments.sizes or SIZES:
            row = measure(case, sizes, arguments)
            rows.append(row)
            if row.refusal or row.ratio < arguments.below:
                print(row.line(), flush=True)
    print(survey.summary(rows))
    if arguments.json:
        arguments.json.write_text(json.dumps(survey.as_dictionaries(rows), indent=1), encoding="utf-8")
    if arguments.write:
        is_whole = not arguments.operators and not arguments.sizes
        whole = rows if is_whole else survey.merged(survey.read_from(document.BENCHMARKS), rows)
        document.write_table(document.BENCHMARKS, survey.NAME, survey.markdown(whole))
    allowed = {case.name(): case.tolerance for case in CASES}
    wrong = [row.name for row in rows if not row.refusal and row.error > allowed[row.name]]
    if wrong:
        print(f"differs from onnxruntime: {', '.join(wrong)}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (sluice_cli.SluiceError, RuntimeError) as error:
        sys.exit(f"operators: {error}")
