"""Compares a language model of a folder with transformers: `sluice generate --check FOLDER`.

    python -m sluice.checks.language FOLDER [--tokens N]

Texts become the same ids, chats the same prompts, and the likeliest tokens behind each text are the same. Needs torch and
transformers, which hold the weights in 32 bits beside Sluice's. Prints a line per text; exits 1 where something differs.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Iterator
from typing import Any

from ..errors import Error, NotFound
from ..loading import load
from ..model import Model

#: Prose, code, numbers, white space, scripts without spaces, right to left, and signs of several code points.
TEXTS = (
    "Once upon a time there was a river that",
    "The capital of France is",
    "def mean(values):\n    return sum(values) /",
    "1, 2, 3, 5, 8, 13, 21,",
    "  two  spaces\tand a tab\n\nand lines\n",
    "Der Fluß fließt über die Brücke, naïvely; it's e.g. 3.14 % of $10",
    "机器学习是人工智能的",
    "Быстрая коричневая лиса",
    "السلام عليكم",
    "👩‍👩‍👧 and é, é",
)
CHATS: tuple[list[dict[str, str]], ...] = (
    [{"role": "user", "content": "Hello"}],
    [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Name a colour."},
     {"role": "assistant", "content": "Red."}, {"role": "user", "content": "Another one?"}],
)
#: Two engines add in different orders. Where transformers' logits of two tokens are nearer than this share of the largest
#: one, either may be the likeliest.
TIE = 1e-3
LONGEST_SHOWN = 60


class Checked:
    """What both made of the same texts."""

    def __init__(self, folder: str) -> None:
        torch: Any = importlib.import_module("torch")  # types are checked without both
        transformers: Any = importlib.import_module("transformers")
        self._torch = torch
        self._tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
        self._theirs = transformers.AutoModelForCausalLM.from_pretrained(
            folder, local_files_only=True, dtype=torch.float32).eval()
        self._ours: Model = load(folder)

    def texts(self) -> Iterator[tuple[str, str | None]]:
        """The name of each check with the difference that it found, or None."""
        for text in TEXTS:
            ids = self._tokenizer(text)["input_ids"]
            yield f"ids of {shown(text)}", first_difference(self._ours.tokenizer.encode(text), ids, "id")
        for chat in CHATS:
            if (difference := self._chat(chat)) is not None:
                yield f"chat of {len(chat)}", difference or None

    def tokens(self, count: int) -> Iterator[tuple[str, str | None]]:
        """The same of `count` likeliest tokens behind each text, both after transformers' ids."""
        for text in TEXTS:
            ids = self._tokenizer(text)["input_ids"]
            yield f"{count} tokens after {shown(text)}", self._continuation(ids, count)

    def _chat(self, messages: list[dict[str, str]]) -> str | None:
        """None: without a template. "": no difference."""
        try:
            ours = self._ours.tokenizer.apply_chat_template(messages)
        except NotFound:
            ours = None
        if (ours is None) != (self._tokenizer.chat_template is None):
            return "only one of both has a chat template"
        if ours is None:
            return None
        theirs = self._tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        return "" if ours == theirs else f"Sluice makes {ours!r}, transformers {theirs!r}"

    def _continuation(self, ids: list[int], count: int) -> str | None:
        ours = self._ours.generate(ids, max_tokens=count, temperature=0, repetition_penalty=1, presence_penalty=0,
                                   frequency_penalty=0)
        for _ in ours:
            pass
        prompt = self._torch.tensor([ids])
        generated: Any = self._theirs.generate(
            prompt, attention_mask=self._torch.ones_like(prompt), max_new_tokens=count, do_sample=False, temperature=None,
            top_k=None, top_p=None, repetition_penalty=1.0)  # fmt: skip
        theirs = generated[0, len(ids):].tolist()
        if ours.finish == "stop":
            theirs = theirs[:-1]  # the token that ends the text is not among ours
        difference = first_difference(ours.tokens, theirs, "token")
        return None if difference is None or self._is_tie(ids, ours.tokens, theirs) else difference

    def _is_tie(self, ids: list[int], ours: list[int], theirs: list[int]) -> bool:
        """Whether the first tokens that differ are equally likely but for rounding."""
        at = next((i for i, pair in enumerate(zip(ours, theirs)) if pair[0] != pair[1]), None)
        if at is None:
            return False  # one is longer
        with self._torch.no_grad():
            logits = self._theirs(self._torch.tensor([[*ids, *theirs[:at]]])).logits[0, -1]
        return abs(float(logits[ours[at]] - logits[theirs[at]])) <= TIE * float(logits.abs().max())


def first_difference(ours: list[int], theirs: list[int], what: str) -> str | None:
    if ours == theirs:
        return None
    at = next((i for i, pair in enumerate(zip(ours, theirs)) if pair[0] != pair[1]), min(len(ours), len(theirs)))
    return f"{what} {at} is {ours[at:at + 1] or 'none'} in Sluice, {theirs[at:at + 1] or 'none'} in transformers"


def shown(text: str) -> str:
    return repr(text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "...")


def main() -> int:
    parser = argparse.ArgumentParser(prog="sluice generate --check", description="Compares a language model with transformers.")
    parser.add_argument("folder")
    parser.add_argument("--tokens", type=int, default=16, help="tokens to generate behind each text")
    arguments = parser.parse_args()
    try:
        checked = Checked(arguments.folder)
        differences = 0
        for checks in (checked.texts(), checked.tokens(arguments.tokens)):
            for what, difference in checks:
                differences += difference is not None
                print(f"{'differs' if difference else 'equal  '}  {what}{f': {difference}' if difference else ''}", flush=True)
    except ImportError as error:
        print(f"sluice: --check needs torch and transformers: {error}", file=sys.stderr)
        return 1
    except (Error, OSError, ValueError) as error:
        print(f"sluice: {arguments.folder}: {error}", file=sys.stderr)
        return 1
    print(f"{differences} of all checks differ" if differences else "Sluice and transformers agree")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
