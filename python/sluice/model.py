"""Loaded models: call them, run them by name, submit requests, await them."""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from . import _native
from .dtypes import Array
from .errors import DeadlineExceeded, FailedPrecondition, InvalidArgument, NotFound
from .language import Generation, LanguageModel, Prompt, Schema, Tokenizer
from .package import Package, check_seed, check_threads, core_numbers, whole
from .package import Path as Path
from .profile import Profile
from .requests import nanoseconds, workers
from .runtime import Runtime
from .signature import SignedModel, has_gpu, has_torch, run_on_gpu, writable
from .signature import TensorSpec as TensorSpec


class Model(SignedModel[_native.Model], Package):
    """A loaded model. Any thread may use it; runs release the GIL and proceed in parallel.

    Calling it runs it on inputs by position or name and returns one output, or a tuple of several. numpy arrays
    give numpy arrays; torch tensors give torch tensors, and those on a GPU that runs the whole model give tensors
    there. A pickle holds the absolute path of the package, or the bytes
    of one without a path; unpickling loads it with the arguments of this load.
    """

    def __init__(self, native: _native.Model, source: str, file: int | None) -> None:
        SignedModel.__init__(self, native, native.inputs(), native.outputs(),
                             "fixed_inputs" in native.metadata())
        Package.__init__(self, source, file)
        self.opened: dict[str, Any] = {}  #: arguments of the `reopen` that made it
        self.loaded: dict[str, Any] = {}  #: arguments of the load, for a copy in another process
        self._language = LanguageModel(native)

    @property
    def metadata(self) -> dict[str, str]:
        """Facts about the model and its source, such as "producer". docs/api.md lists the keys."""
        return self._native.metadata()

    def __repr__(self) -> str:
        source = f" {self._source!r}" if self._source else ""
        return f"<sluice.Model{source}{self._signature.lines()}>"

    def run(
        self,
        feeds: Mapping[str, object],
        outputs: Sequence[str] | None = None,
        *,
        out: Mapping[str, Array] | None = None,
        timeout: float | None = None,
        cancellation: _native.Cancellation | None = None,
    ) -> dict[str, Any]:
        """Runs the model on inputs by name and returns outputs by name.

        `outputs`: the names wanted; all by default. `out`: arrays that outputs are written to, which
        must be writable, contiguous and large enough; the result has a view of the right shape. One
        may be the array of an input, as for a state that each run changes.
        `timeout`: seconds; DeadlineExceeded after that. The run itself ends before its next segment or
        iteration of a loop. `cancellation`: a sluice.Cancellation, whose `cancel` in another thread ends the run
        likewise, with Cancelled.
        """
        names = self._signature.output_names
        ordered = self._signature.order(feeds)
        if has_gpu(ordered):
            return self._run_on_device(ordered, outputs, (out, timeout, cancellation))
        if out is None and timeout is None and cancellation is None and (outputs is None or list(outputs) == names):
            results = None if has_torch(ordered) else self.run_arrays(ordered)
            if results is not None:
                return dict(zip(names, results))
        run = self._signature.run
        if timeout is None and cancellation is None:
            return run(self._native.run, ordered, outputs, out)
        limit_ns = nanoseconds(timeout, "timeout")
        if not isinstance(cancellation, (_native.Cancellation, type(None))):
            raise TypeError(f"cancellation: a sluice.Cancellation is needed, not {cancellation!r}")

        def execute(inputs: list[Any], wanted: list[bool], memory: list[Any] | None) -> list[Any]:
            return self._native.run(inputs, wanted, memory, limit_ns, cancellation)

        if timeout is None:
            return run(execute, ordered, outputs, out)

        # The caller does not wait for the end of a segment.
        future = workers.submit(run, execute, ordered, outputs, out)
        try:
            return dict(future.result(timeout))
        except concurrent.futures.TimeoutError:
            future.cancel()
            raise DeadlineExceeded(f"no result within {timeout} s") from None

    def _run_on_device(self, ordered: list[object], outputs: Sequence[str] | None,
                       others: tuple[object, ...]) -> dict[str, Any]:
        if any(other is not None for other in others):
            raise InvalidArgument("inputs on a GPU: `out`, `timeout` and `cancellation` are for inputs in memory of the "
                                  "processor")
        names = self._signature.output_names if outputs is None else outputs
        indices = [self._signature.find_output(name) for name in names]
        results = run_on_gpu(self._native, self._signature, ordered)
        return {name: results[index] for name, index in zip(names, indices)}

    def _convert_and_call(self, *args: object, **kwargs: object) -> Any:
        ordered = self._signature.bind(args, kwargs)
        if not has_gpu(ordered):
            return self._signature.call(self._native.run, ordered)
        results = run_on_gpu(self._native, self._signature, ordered)
        return results[0] if len(results) == 1 else tuple(results)

    def run_arrays(self, ordered: Sequence[object]) -> Sequence[Any] | None:
        """The outputs for arrays of the model's types in order, which the library reads as they are.

        None if a value needs conversion, as `run` does it.
        """
        result = self._native.call(*ordered)
        if result is None or len(self._signature.outputs) != 1:
            return result  # type: ignore[no-any-return]
        return (result,)

    def submit(self, *args: object, **kwargs: object) -> concurrent.futures.Future[Any]:
        """As a call, but returns a Future. As many requests run at a time as there are cores.

        The caller must not change the inputs before the future is done.
        """
        return workers.submit(lambda: self(*args, **kwargs))

    async def call_async(self, *args: object, **kwargs: object) -> Any:
        """As a call, for asyncio; it takes no thread per request."""
        return await asyncio.wrap_future(self.submit(*args, **kwargs))

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of a language model. Raises InvalidArgument for another model."""
        return self._language.tokenizer

    def generate(
        self,
        prompt: Prompt,
        *,
        max_tokens: int | None = None,
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        min_p: float | None = None,
        repetition_penalty: float | None = None,
        presence_penalty: float | None = None,
        frequency_penalty: float | None = None,
        logit_bias: Mapping[int, float] | None = None,
        bad_words: str | Sequence[str] = (),
        seed: int | None = None,
        top_logprobs: int | None = None,
        stop: str | Sequence[str] = (),
        stop_ids: Sequence[int] = (),
        schema: Schema | None = None,
        grammar: str | None = None,
        adapter: str | None = None,
        variables: Mapping[str, Any] | None = None,
    ) -> Generation:
        """The text that a language model writes after `prompt`: iterate over it for its pieces.

        `prompt`: a text, its tokens, or a chat, [{"role": "user", "content": "Hello"}, ...]. `max_tokens`: by default
        up to the model's context. `temperature`: 0 takes the likeliest token. `top_k`, `top_p`, `min_p`: draw from
        so many of the likeliest tokens, from those that have this share together, or this share of the likeliest
        one's. `repetition_penalty`: above 1 makes tokens of the prompt and the text less likely. `presence_penalty`,
        `frequency_penalty`: as OpenAI's; where the text has a token c > 0 times, its logit loses the first and c times
        the second, -2 to 2. `logit_bias`: {token: -100 to 100}, added to logits. `bad_words`: texts whose tokens, at
        a begin or behind a space, do not come. `seed`: of the draws. What is None the model's authors advise. `stop`, `stop_ids`: texts and tokens that end the text. `top_logprobs`: the
        text's `logprobs` tell of each token, and of so many of the likeliest ones. `schema`: the text is JSON that fits
        this JSON schema. `grammar`: or a text of this grammar, in GBNF. `adapter`: the name of one that the model was compiled with (`adapters`), which computes the text. `variables`: what a chat's template reads besides messages, such as {"tools": [...]}. A model without a tokenizer takes tokens
        and writes their ids. Raises InvalidArgument for a model that generates no text; OutOfRange, naming both
        lengths, where the prompt and `max_tokens` exceed the context. Several texts of a model are computed at a
        time, each in its own thread.
        """
        return self._language.generate(
            prompt, max_tokens=max_tokens, temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p,
            repetition_penalty=repetition_penalty, presence_penalty=presence_penalty,
            frequency_penalty=frequency_penalty, logit_bias=logit_bias, bad_words=bad_words, seed=seed,
            top_logprobs=top_logprobs, stop=stop, stop_ids=stop_ids,
            schema=schema, grammar=grammar, adapter=adapter, variables=variables)

    def embed(self, texts: str | Iterable[str]) -> Array:
        """Vectors of texts by a model such as BERT: f32[texts, width], or f32[width] of one text.

        Raises InvalidArgument for a model that makes no vectors; OutOfRange, naming both lengths, for a text longer
        than the model takes: it is never cut. One call of a model computes at a time.
        """
        return self._language.embed(texts)

    def rerank(self, query: str, documents: Iterable[str]) -> Array:
        """How well each document answers the query, by a model that scores pairs: f32[documents], in their order.

        Raises as `embed`.
        """
        return self._language.rerank(query, documents)

    def set_seed(self, seed: int) -> None:
        """Random operators of the runs that follow start from `seed`, as in a model that is loaded with it."""
        check_seed(seed)
        self._native.set_seed(seed)

    @property
    def copied_bytes(self) -> int:
        """Bytes of inputs and outputs that runs copied. Arrays of sluice.empty are read and written in place."""
        return self._native.copied_bytes()

    @property
    def recorded_bytes(self) -> int:
        """Bytes of command lists and plans that are kept for shapes of earlier calls; partly an estimate."""
        return self._native.recorded_bytes()

    def context(self) -> Context:
        """Inputs and outputs bound once and run many times."""
        return Context(self)

    def profile(self, *args: object, runs: int = 10, **kwargs: object) -> Profile:
        """Times of the operations in `runs` runs on these inputs, in a runtime of its own."""
        with Runtime() as runtime:
            loaded = runtime.load(self)
            loaded(*args, **kwargs)  # the first run plans and allocates
            with runtime.profile(loaded) as profile:
                for _ in range(whole(runs, "runs")):
                    loaded(*args, **kwargs)
        return profile

    def reopen(self, *, threads: int = 0, cores: Sequence[int] | None = None,
               seed: int | None = None) -> Model:
        """The same package loaded once more. `threads`, `cores`, `seed`: as in sluice.load."""
        check_threads(threads)
        check_seed(seed)
        loaded = {**self.loaded, "threads": threads, "cores": cores, "seed": seed}
        native = _native.Model(self.path, threads, core_numbers(cores), os.fspath(loaded.get("backend_dir") or ""),
                               loaded.get("max_recorded_bytes", 64 << 20) or -1, seed)
        model = Model(native, self._source, None if self._file is None else os.dup(self._file))
        model.opened = {"threads": threads, "cores": cores, **({} if seed is None else {"seed": seed})}
        model.loaded = loaded
        return model

    def close(self) -> None:
        """Frees the model; later runs raise FailedPrecondition. Runs under way finish."""
        self._language.close()
        self._native.close()
        Package.close(self)

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Context:
    """Inputs and outputs bound to a model once and run many times. Use it from one thread at a time."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._feeds: dict[str, object] = {}
        self._out: dict[str, Array] = {}
        self._results: dict[str, Any] | None = None

    def bind(self, name: str, value: object) -> Context:
        """Sets an input or, if the model has an output of that name, the array it is written to.

        The context keeps the array; every run reads or writes it anew.
        """
        signature = self._model._signature
        if signature.has_input(name):
            self._feeds[name] = value
        elif name not in signature.output_names:
            known = ", ".join(f'"{spec.name}"' for spec in (*signature.inputs, *signature.outputs))
            raise NotFound(f'the model has no input or output "{name}"; it has {known}')
        else:
            self._out[name] = writable(value, signature.outputs[signature.find_output(name)])
        return self

    def run(self) -> Context:
        """Runs the model on the inputs as they are now."""
        self._results = self._model.run(self._feeds, out=self._out)
        return self

    def output(self, name: str) -> Any:
        """An output of the last run."""
        if self._results is None:
            raise FailedPrecondition("the context has not run yet")
        self._model._signature.find_output(name)
        return self._results[name]
