"""A language model of a few thousand random weights with a tokenizer, the texts that it writes as numpy computes
them, and a `sluiced` that serves it."""

from __future__ import annotations

import functools
import pathlib
import sys
from collections.abc import Iterator
from typing import Any

import daemon as daemons
import numpy as np
import pytest
import sluice
from conftest import DIGITS

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tests/e2e/language"))
from tiny_models import Tiny, greedy, logits_of, make, save  # noqa: E402

CONTEXT = 600
TEMPLATE = ("{% if tools %}{{ tools[0].function.name }} of {{ tools | length }}\n{% endif %}"
            "{% for message in messages %}{% if message.role == 'tool' %}{{ raise_exception('no tools here') }}{% endif %}"
            "[{{ message.role }}] {% for call in message.tool_calls or [] %}({{ call.function.name }} "
            "{{ call.function.arguments.item }}) {% endfor %}{{ message.content }}\n{% endfor %}"
            "{% if add_generation_prompt %}[assistant]{% endif %}{% if loud %}!{% endif %}")
CORPUS = ["the cat sat on the mat, the dog saw the cat: \u00e9\u4e2d\u6587"] * 4


class Language:
    def __init__(self) -> None:
        from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

        self.tokenizer: Any = Tokenizer(models.BPE())
        self.tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        self.tokenizer.decoder = decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(vocab_size=300, initial_alphabet=alphabet, show_progress=False)
        self.tokenizer.train_from_iterator(CORPUS, trainer)
        size = self.tokenizer.get_vocab_size()
        self.tiny: Tiny = make("llama", seed=6, vocab_size=size, eos_token_id=size,
                               max_position_embeddings=CONTEXT)

    def save(self, folder: pathlib.Path, is_chat: bool = True) -> pathlib.Path:
        save(self.tiny, folder)
        if is_chat:
            (folder / "chat_template.jinja").write_text(TEMPLATE)
        self.tokenizer.save(str(folder / "tokenizer.json"))
        return folder

    @functools.lru_cache(maxsize=64)  # noqa: B019 - one model for all tests
    def tokens(self, prompt: str, count: int) -> list[int]:
        """The likeliest ones behind the prompt."""
        return greedy(self.tiny, self.tokenizer.encode(prompt).ids, count)

    def text(self, prompt: str, count: int) -> str:
        return self.tokenizer.decode(self.tokens(prompt, count))

    def logprobs(self, prompt: str, tokens: list[int]) -> Any:
        """Logprobs of the whole vocabulary, at the place of each of the tokens behind the prompt."""
        ids = self.tokenizer.encode(prompt).ids
        logits = logits_of(self.tiny, ids + tokens)[len(ids) - 1:-1]
        logits = logits - logits.max(-1, keepdims=True)
        return logits - np.log(np.exp(logits).sum(-1, keepdims=True))

    def length(self, text: str) -> int:
        return len(self.tokenizer.encode(text).ids)


@pytest.fixture(scope="session")
def language() -> Language:
    pytest.importorskip("tokenizers")
    return Language()


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory, language: Language) -> Iterator[daemons.Daemon]:
    """Beside one without a chat template, and a model that is no language model."""
    folder = tmp_path_factory.mktemp("served")
    language.save(folder / "models" / "tiny")
    language.save(folder / "models" / "plain" / "2", is_chat=False)
    sluice.compile(DIGITS).save(folder / "models" / "digits.sluice")
    with daemons.running(folder, "--http", "localhost:0", "--repository", str(folder / "models")) as running:
        yield running
