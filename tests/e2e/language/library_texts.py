#!/usr/bin/env python3
"""Programs over sluice/generate.h and sluice/generate.hpp write the texts that plain numpy computes.

usage: library_texts.py PROGRAM-IN-C PROGRAM-IN-C++
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from chats import make_folder  # noqa: E402
from report import run_cases  # noqa: E402
from tiny_models import greedy, logits_of  # noqa: E402

from harness.sluice_cli import run_command  # noqa: E402

PROMPT = "the cat \u00e9 saw"
CHAT = [{"role": "user", "content": "the dog"}]
RENDERED = "<s><user>the dog</s><assistant>"
TOKENS, STOP, CANCELLED = 2, 1, 4  # SLUICE_FINISH_


def writes(program: str, folder: Path) -> str:
    model, tiny, tokenizer = make_folder(folder)
    package = folder / "tiny.sluice"
    run_command("compile", model, "-o", package)
    ids = tokenizer.encode(PROMPT).ids
    said = tokenizer.decode(greedy(tiny, ids, 20))
    stop = said[len(said) // 2:][:2]
    bad = [tokenizer.encode(text, add_special_tokens=False).ids for text in (stop, " " + stop)]
    steered = tokenizer.decode(greedy(tiny, ids, 20, presence=1.5, frequency=0.5, bias={ids[0]: 3}, bad=bad))
    if steered == said:
        return "penalties change nothing: choose others"
    until_stop = next(n for n in range(21) if stop in tokenizer.decode(greedy(tiny, ids, n)))
    chat_ids = tokenizer.encode(RENDERED, add_special_tokens=False).ids
    logits = logits_of(tiny, ids)[-1]
    logprobs = logits - logits.max() - np.log(np.exp(logits - logits.max()).sum())
    best = np.argsort(-logprobs, kind="stable")[:2].tolist()
    long_prompt = ids * -(-560 // len(ids))
    run = subprocess.run([program, package, PROMPT, json.dumps(CHAT), stop], capture_output=True, check=False)
    if run.returncode != 0:
        return f"{run.returncode}: {run.stderr!r}"
    fields = run.stdout.decode().split("\n==\n")
    wanted = [
        "".join(f"{id} " for id in ids), PROMPT, tokenizer.id_to_token(ids[0]), str(ids[0]), RENDERED,
        said, f"{TOKENS} {len(ids)} 20",
        said.partition(stop)[0], f"{STOP} {len(ids)} {until_stop}",
        tokenizer.decode(greedy(tiny, chat_ids, 8)), f"{TOKENS} {len(chat_ids)} 8",
        "", f"{CANCELLED} {len(long_prompt)} 0",
        tokenizer.decode(greedy(tiny, long_prompt, 5)),
        f"1 {logprobs[best[0]]:.2f}" + "".join(f" {token} {logprobs[token]:.2f}" for token in best),
        "only x", "schema and grammar are given; give one", '[1,"a"]',
        steered, f"the prompt has {len(ids)} tokens and 100000 may follow; the model's context has 1200",
        "2 of prompt, ids and chat are given; give one",
        "temperature is -1; it takes 0 to 100", "",
    ]
    for got, expected in zip(fields, wanted, strict=True):
        if got != expected:
            return f"{got!r}, not {expected!r}"
    return ""


if __name__ == "__main__":
    programs = {Path(name).name: name for name in sys.argv[1:]}
    sys.exit(run_cases({name: (lambda folder, path=path: writes(path, folder)) for name, path in programs.items()}))
