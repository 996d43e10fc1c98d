"""Language models: their tokenizers, and the texts that they generate."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from . import _native
from .dtypes import Array
from .errors import Cancelled, Error, InvalidArgument, NotFound

#: A text, its tokens, or the messages of a chat.
Prompt = str | Sequence[int] | Sequence[Mapping[str, Any]]

#: A JSON schema: an object as `json.load` gives it, or its text.
Schema = Mapping[str, Any] | str

_FINISHES = {0: None, 1: "stop", 2: "max_tokens", 3: "context", 4: "cancelled"}
_PLAIN = 1
_LITERAL = 2


class Tokenizer:
    """The tokenizer of a language model, as `model.tokenizer`. Any thread may use it; it outlives the model."""

    def __init__(self, native: _native.Tokenizer) -> None:
        self._native = native

    def __len__(self) -> int:
        """The number of tokens, added ones included."""
        return self._native.size()

    def __repr__(self) -> str:
        return f"<sluice.Tokenizer of {len(self)} tokens>"

    def encode(self, text: str, *, special: bool = True, literal: bool = False) -> list[int]:
        """The tokens of a text.

        `special`: with the special tokens around it that the model wants. `literal`: special tokens within the text
        are ordinary characters; for text that is not trusted.
        """
        return self._native.encode(text, (0 if special else _PLAIN) | (_LITERAL if literal else 0))

    def decode(self, ids: Iterable[int], *, special: bool = False) -> str:
        """What tokens say. `special`: with special ones. Ids that are no token are left out."""
        return self._native.decode(list(ids), _PLAIN if special else 0)

    def apply_chat_template(self, messages: Sequence[Mapping[str, Any]], *, tools: Sequence[Any] | None = None,
                            add_generation_prompt: bool = True, **variables: Any) -> str:
        """A chat as the model reads it, special tokens included: encode it with `special=False`.

        `messages`: [{"role": "user", "content": "Hello"}, ...]. `variables`: what else the template of the model's
        authors reads. Raises NotFound for a model without a template.
        """
        return self._native.apply_chat_template(
            chat_text(messages, {"tools": tools, "add_generation_prompt": add_generation_prompt, **variables}))

    def token_to_id(self, piece: str) -> int:
        """The id of a token as tokenizer.json spells it. Raises NotFound."""
        if (found := self._native.find(piece)) < 0:
            raise NotFound(f"no token is {piece!r}")
        return found

    def id_to_token(self, id: int) -> str:
        """How tokenizer.json spells a token. Raises NotFound."""
        return self._native.piece(id)


def chat_text(messages: Sequence[Mapping[str, Any]], variables: Mapping[str, Any]) -> str:
    """The JSON that the library reads."""
    return json.dumps({**variables, "messages": list(messages)})


class TokenLogprobs(NamedTuple):
    """How likely the model found a token, whatever the sampling made of it. Natural logarithms of probabilities."""

    token: int
    logprob: float
    top: list[tuple[int, float]]  #: the likeliest tokens and theirs, in order


class Generation(Iterator[str]):
    """A text in the making: an iterator over its pieces, which computes a token when the next piece is wanted.

    A piece is whole characters, at least one. Who leaves the loop ends the text. Ctrl-C ends it at once, also within
    a long prompt. Use it from one thread at a time.
    """

    def __init__(self, native: _native.Generator, give_back: Callable[[_native.Generator], None]) -> None:
        self._native: _native.Generator | None = native
        self._give_back = give_back
        self._finish: str | None = None
        self._text = ""
        self._prompt_tokens = native.num_prompt_tokens()
        self.tokens: list[int] = []  #: ids of the text so far; one that ends the text is not among them
        self.logprobs: list[TokenLogprobs] = []  #: of each of `tokens`, with `top_logprobs`

    def __next__(self) -> str:
        while self._native is not None:
            try:
                given = self._native.next()
            except BaseException as error:
                is_error = isinstance(error, Error) and not isinstance(error, Cancelled)
                self._end("error" if is_error else "cancelled")
                raise
            if given is None:
                self._end(_FINISHES[self._native.finish()])
                break
            piece, token, logprobs = given
            if token is not None:
                self.tokens.append(token)
                if logprobs is not None:
                    self.logprobs.append(TokenLogprobs(token, *logprobs))
            if piece:
                self._text += piece
                return piece
        raise StopIteration

    @property
    def text(self) -> str:
        """The text so far."""
        return self._text

    @property
    def finish(self) -> str | None:
        """Why the text ended: "stop" at a token or text that ends it, "max_tokens", "context" where it is as long as
        the model's context, "cancelled", "error"; None while it goes on."""
        return self._finish

    @property
    def prompt_tokens(self) -> int:
        """The number of tokens of the prompt."""
        return self._prompt_tokens

    def close(self) -> None:
        """Ends the text."""
        self._end("cancelled")

    def _end(self, finish: str | None) -> None:
        if self._native is not None:
            native, self._native = self._native, None
            self._finish = finish
            self._give_back(native)

    def __enter__(self) -> Generation:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_native", None) is not None:
            self.close()

    def __repr__(self) -> str:
        return f"<sluice.Generation of {len(self.tokens)} tokens: {self._finish or 'goes on'}>"


#: Texts of one native call: between two of them Python handles its signals.
_TEXTS = 256


class LanguageModel:
    """What a model needs to generate texts, or to make vectors of them. Any thread may use it.

    The generator of the last text is kept: what the next prompt shares with that text is not computed again, and
    its memory is that of one text.
    """

    def __init__(self, native: _native.Model) -> None:
        self._native = native
        self._lock = threading.RLock()  # of the rest; the collector may end a text of the thread that has it
        self._tokenizer: Tokenizer | None = None
        self._idle: _native.Generator | None = None
        self._embedder: _native.Embedder | None = None
        self._embedding = threading.Lock()  # use the embedder from one thread at a time
        self._is_closed = False

    @property
    def tokenizer(self) -> Tokenizer:
        with self._lock:
            if self._tokenizer is None:
                self._tokenizer = Tokenizer(_native.Tokenizer(self._native))
            return self._tokenizer

    def generate(self, prompt: Prompt, *, max_tokens: int | None, temperature: float | None, top_k: int | None,
                 top_p: float | None, min_p: float | None, repetition_penalty: float | None,
                 presence_penalty: float | None, frequency_penalty: float | None,
                 logit_bias: Mapping[int, float] | None, bad_words: str | Sequence[str], seed: int | None,
                 top_logprobs: int | None, stop: str | Sequence[str], stop_ids: Sequence[int],
                 schema: Schema | None, grammar: str | None, adapter: str | None,
                 variables: Mapping[str, Any] | None) -> Generation:
        stops = [stop] if isinstance(stop, str) else list(stop)
        if any(not text or "\0" in text for text in stops):
            raise InvalidArgument("a text of stop is empty or holds a zero")
        text, ids, chat = _read_prompt(prompt, variables)
        native = self._take()
        try:
            native.start(text, ids, chat, max_tokens, temperature, top_k, top_p, min_p, repetition_penalty,
                         presence_penalty, frequency_penalty, list((logit_bias or {}).items()),
                         [bad_words] if isinstance(bad_words, str) else list(bad_words), seed, top_logprobs, stops,
                         list(stop_ids), _schema_text(schema), grammar, adapter)
        except BaseException:
            self._give_back(native)
            raise
        return Generation(native, self._give_back)

    def embed(self, texts: str | Iterable[str]) -> Array:
        if isinstance(texts, str):
            one: Array = self.embed([texts])[0]
            return one
        parts = _parts(texts)
        with self._embedding:
            native = self._ready_embedder()
            vectors = b"".join(native.embed(part) for part in parts)
            return np.frombuffer(vectors, np.float32).reshape(-1, native.width()).copy()

    def rerank(self, query: str, documents: Iterable[str]) -> Array:
        parts = _parts(documents)
        with self._embedding:
            native = self._ready_embedder()
            return np.frombuffer(b"".join(native.score(query, part) for part in parts), np.float32).copy()

    def _ready_embedder(self) -> _native.Embedder:
        if self._embedder is None:
            self._embedder = _native.Embedder(self._native)
        return self._embedder

    def close(self) -> None:
        with self._lock:
            self._idle, self._is_closed = None, True
        with self._embedding:
            self._embedder = None

    def _take(self) -> _native.Generator:
        with self._lock:
            idle, self._idle = self._idle, None
        return idle or _native.Generator(self._native)

    def _give_back(self, native: _native.Generator) -> None:
        with self._lock:
            if not self._is_closed:
                self._idle = native


def _schema_text(schema: Schema | None) -> str | None:
    return schema if schema is None or isinstance(schema, str) else json.dumps(schema)


def _parts(texts: Iterable[str]) -> list[list[str]]:
    whole = [] if isinstance(texts, (str, bytes)) else list(texts)  # once: an iterator has its texts once
    if isinstance(texts, (str, bytes)) or not all(isinstance(text, str) for text in whole):
        raise InvalidArgument("expected a list of texts")
    return [whole[at:at + _TEXTS] for at in range(0, len(whole), _TEXTS)] or [[]]


def _read_prompt(prompt: Prompt, variables: Mapping[str, Any] | None) -> tuple[str | None, list[int] | None, str | None]:
    """A text, ids, or the JSON of a chat."""
    if isinstance(prompt, (bytes, bytearray, memoryview)):
        raise InvalidArgument("the prompt is bytes: decode it to a text, or give ids of tokens as a list")
    is_chat = not isinstance(prompt, str) and len(prompt) > 0 and isinstance(prompt[0], Mapping)
    if variables is not None and not is_chat:
        raise InvalidArgument("variables are for the template of a chat; the prompt is none")
    if isinstance(prompt, str):
        return prompt, None, None
    if is_chat:
        return None, None, chat_text(prompt, variables or {})  # type: ignore[arg-type]
    return None, list(prompt), None  # type: ignore[arg-type]
