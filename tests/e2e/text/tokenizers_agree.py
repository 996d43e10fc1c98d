#!/usr/bin/env python3
"""`sluice tokenize` gives the ids and the text that the package `tokenizers` gives: for tokenizers of every kind,
trained on a generated corpus in many scripts, and for files that are named.

    tokenizers_agree.py                             # every kind, a few thousand lines each
    tokenizers_agree.py --lines 1000000 gpt2 t5     # a million lines of the twenty-three scripts
    tokenizers_agree.py path/to/tokenizer.json      # somebody's file
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from corpus import lines  # noqa: E402
from kinds import KINDS  # noqa: E402
from report import SluiceError, run_cases  # noqa: E402
from tokenizers import Tokenizer  # noqa: E402

BATCH = 20000  # lines at a time
TRAINING = 3000  # lines


def sluice(path: Path, given: list[object], *flags: str) -> list[object]:
    text = "".join(json.dumps(item, ensure_ascii=False) + "\n" for item in given)
    run = subprocess.run([os.environ["SLUICE"], "tokenize", path, "--json-lines", *flags], input=text.encode(),
                         capture_output=True, check=False)
    if run.returncode != 0:
        raise SluiceError(run.stderr.decode())
    # splitlines() would also split at U+2028, which JSON strings may contain.
    return [json.loads(line) for line in run.stdout.decode().split("\n")[:-1]]


def is_tie(path: Path, ids: list[int], ours: list[int]) -> bool:
    """The same pieces in another order, of a Unigram model.

    Their scores have one sum, so both ways are the best; which one wins is up to the last bit of that sum.
    """
    return json.loads(path.read_text())["model"]["type"] == "Unigram" and sorted(ids) == sorted(ours)


def first_difference(path: Path, tokenizer: Tokenizer, batch: list[str], is_plain: bool) -> str:
    """Empty if ids and decoded texts are equal."""
    flags = ["--no-special"] if is_plain else []
    tokenizer.encode_special_tokens = is_plain
    wanted = [e.ids for e in tokenizer.encode_batch_fast(batch, add_special_tokens=not is_plain)]
    got = sluice(path, list(batch), *flags)
    for line, ids, ours in zip(batch, wanted, got, strict=True):
        if ids != ours and not is_tie(path, ids, ours):
            return f"{line!r}: expected {ids}, got {ours}"
    texts = [tokenizer.decode(ids, skip_special_tokens=not is_plain) for ids in wanted]
    for ids, text, our_text in zip(wanted, texts, sluice(path, list(wanted), "--decode", *flags), strict=True):
        if text != our_text:
            return f"{ids}: expected {text!r}, got {our_text!r}"
    return ""


def check(path: Path, count: int, seed: int) -> str:
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    made = lines(seed, count)
    is_plain = False
    while batch := list(itertools.islice(made, min(BATCH, max(1, count // 2)))):
        difference = first_difference(path, tokenizer, batch, is_plain)
        if difference:
            return difference
        is_plain = not is_plain
    return ""


def case(name: str, count: int, seed: int, text: list[str], folder: Path) -> str:
    path = Path(name)
    if name in KINDS:
        path = folder / f"{name}.json"
        KINDS[name](text).save(str(path))
    return check(path, count, seed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="kinds, or files (default: every kind)")
    parser.add_argument("--lines", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()
    text = list(lines(1, TRAINING))
    return run_cases({f"{name}, {args.lines} lines": partial(case, name, args.lines, args.seed, text)
                      for name in args.names or KINDS})


if __name__ == "__main__":
    sys.exit(main())
