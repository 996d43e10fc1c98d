"""model.generate: texts of a folder of Hugging Face, in this process."""

from __future__ import annotations

import gc
import os
import pathlib
import signal
import threading

import numpy as np
import pytest
import sluice
from conftest import DIGITS, eventually
from language import CONTEXT, Language, language  # noqa: F401 - a fixture
from tiny_models import logits_of

PROMPT = "the dog saw"
CHAT = [{"role": "user", "content": "the cat"}]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, language: Language) -> pathlib.Path:
    return language.save(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def model(folder: pathlib.Path) -> sluice.Model:
    return sluice.load(folder, threads=1)


def test_pieces_are_the_likeliest_text(model: sluice.Model, language: Language) -> None:
    text = model.generate(PROMPT, max_tokens=30)
    pieces = list(text)
    assert all(pieces)
    assert "".join(pieces) == text.text == language.text(PROMPT, 30)
    assert text.tokens == language.tokens(PROMPT, 30)
    assert (text.finish, text.prompt_tokens) == ("max_tokens", language.length(PROMPT))


def test_a_prompt_is_a_text_tokens_or_messages(model: sluice.Model, language: Language) -> None:
    ids = model.tokenizer.encode(PROMPT)
    assert "".join(model.generate(ids, max_tokens=10)) == language.text(PROMPT, 10)
    rendered = model.tokenizer.apply_chat_template(CHAT)
    assert rendered == "[user] the cat\n[assistant]"
    assert "".join(model.generate(CHAT, max_tokens=10)) == language.text(rendered, 10)
    loud = model.tokenizer.apply_chat_template(CHAT, loud=True)
    assert "".join(model.generate(CHAT, max_tokens=10, variables={"loud": True})) == language.text(loud, 10) != ""


def test_prompts_and_stops_of_other_kinds_are_refused(model: sluice.Model) -> None:
    with pytest.raises(sluice.InvalidArgument, match="bytes"):
        model.generate(b"the dog")  # type: ignore[arg-type]
    for stop in ("", ["dog", "a\0b"]):
        with pytest.raises(sluice.InvalidArgument, match="stop"):
            model.generate(PROMPT, stop=stop)


def test_tokenizer_is_that_of_the_folder(model: sluice.Model, language: Language) -> None:
    text = "the cat \u4e2d\u6587\u00e9"
    ids = model.tokenizer.encode(text)
    assert ids == language.tokenizer.encode(text).ids
    assert model.tokenizer.decode(ids) == text
    assert len(model.tokenizer) == language.tokenizer.get_vocab_size()
    assert model.tokenizer.token_to_id(model.tokenizer.id_to_token(ids[0])) == ids[0]
    with pytest.raises(sluice.NotFound):
        model.tokenizer.id_to_token(1 << 40)
    with pytest.raises(sluice.NotFound):
        model.tokenizer.token_to_id("no such token")


def test_a_stop_ends_the_text_before_it(model: sluice.Model, language: Language) -> None:
    whole = language.text(PROMPT, 30)
    stop = whole[10:13]
    text = model.generate(PROMPT, max_tokens=30, stop=["no such text", stop])
    assert "".join(text) == whole.partition(stop)[0]
    assert text.finish == "stop"
    assert "".join(model.generate(PROMPT, max_tokens=30, stop=stop)) == whole.partition(stop)[0]
    tokens = language.tokens(PROMPT, 30)
    ended = model.generate(PROMPT, max_tokens=30, stop_ids=[tokens[7]])
    list(ended)
    assert (ended.tokens, ended.finish) == (tokens[:tokens.index(tokens[7])], "stop")


def test_draws_repeat_with_their_seed(model: sluice.Model) -> None:
    def tokens(seed: int | None) -> list[int]:
        text = model.generate(PROMPT, max_tokens=30, temperature=2.0, seed=seed)
        list(text)
        return text.tokens

    assert tokens(1) == tokens(1) != tokens(2)
    assert tokens(None) != tokens(None)


def test_log_probabilities_are_those_of_the_model(model: sluice.Model, language: Language) -> None:
    ids = model.tokenizer.encode(PROMPT)
    text = model.generate(ids, max_tokens=6, temperature=1.5, seed=3, top_logprobs=4)
    list(text)
    assert [one.token for one in text.logprobs] == text.tokens
    for place, one in enumerate(text.logprobs):
        logits = logits_of(language.tiny, ids + text.tokens[:place])[-1]
        wanted = logits - logits.max() - np.log(np.exp(logits - logits.max()).sum())
        assert abs(one.logprob - wanted[one.token]) < 1e-3
        assert [token for token, _ in one.top] == np.argsort(-wanted, kind="stable")[:4].tolist()
        assert np.allclose([logprob for _, logprob in one.top], np.sort(wanted)[::-1][:4], atol=1e-3)
    alone = model.generate(ids, max_tokens=1, top_logprobs=0)
    list(alone)
    assert alone.logprobs[0].top == [] and alone.logprobs[0].logprob < 0
    with pytest.raises(sluice.InvalidArgument, match="top_logprobs is -1"):
        model.generate(ids, top_logprobs=-1)


def test_leaving_the_loop_ends_the_text(model: sluice.Model, language: Language) -> None:
    for piece in model.generate(PROMPT):
        assert piece
        break
    gc.collect()
    with model.generate(PROMPT) as text:
        next(text)
    assert text.finish == "cancelled"
    assert list(text) == []
    assert "".join(model.generate(PROMPT, max_tokens=9)) == language.text(PROMPT, 9)


def test_texts_side_by_side(model: sluice.Model, language: Language) -> None:
    prompts = ["the cat", "the dog saw", "mat"] * 2
    texts = [model.generate(prompt, max_tokens=12) for prompt in prompts]
    while not all(text.finish for text in texts):
        for text in texts:
            next(text, None)
    assert [text.text for text in texts] == [language.text(prompt, 12) for prompt in prompts]
    found: dict[int, str] = {}

    def write(number: int) -> None:
        found[number] = "".join(model.generate(prompts[number], max_tokens=12))

    threads = [threading.Thread(target=write, args=[number]) for number in range(len(prompts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == dict(enumerate(text.text for text in texts))


def test_ctrl_c_ends_a_long_prompt(tmp_path: pathlib.Path, language: Language) -> None:
    folder = language.save(tmp_path / "long")
    config = (folder / "config.json").read_text()
    (folder / "config.json").write_text(config.replace(f'"max_position_embeddings": {CONTEXT}',
                                                       '"max_position_embeddings": 200000'))
    model = sluice.load(folder, threads=1)
    text = model.generate([1, 2, 3, 4] * 20_000, max_tokens=1)  # takes minutes
    is_running = threading.Event()

    def interrupt() -> None:
        is_running.wait()
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        is_running.set()
        next(text)
    thread.join()
    assert (text.finish, text.tokens) == ("cancelled", [])
    assert "".join(model.generate(PROMPT, max_tokens=9)) == language.text(PROMPT, 9)


def test_the_folder_is_compiled_once(folder: pathlib.Path, tmp_path: pathlib.Path, language: Language,
                                     monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLUICE_CACHE_DIR", str(tmp_path))
    for _ in range(2):
        assert "".join(sluice.load(folder).generate(PROMPT, max_tokens=9)) == language.text(PROMPT, 9)
        assert len(list(tmp_path.glob("*.sluice"))) == 1
    package = sluice.load(folder)
    package.save(tmp_path / "copy.sluice")
    assert "".join(sluice.load(tmp_path / "copy.sluice").generate(PROMPT, max_tokens=9)) == language.text(PROMPT, 9)


def test_without_a_tokenizer_texts_are_ids(folder: pathlib.Path, tmp_path: pathlib.Path, language: Language) -> None:
    bare = language.save(tmp_path / "bare")
    (bare / "tokenizer.json").unlink()
    model = sluice.load(bare)
    text = model.generate(language.tokenizer.encode(PROMPT).ids, max_tokens=5)
    assert "".join(text) == " ".join(map(str, language.tokens(PROMPT, 5)))
    with pytest.raises(sluice.InvalidArgument, match="tokenizer.json"):
        model.generate(PROMPT)
    with pytest.raises(sluice.InvalidArgument, match="need a model with a tokenizer"):
        model.generate([1], stop="x")


def test_wrong_requests_are_errors(model: sluice.Model, tmp_path: pathlib.Path) -> None:
    length = len(model.tokenizer.encode(PROMPT))
    with pytest.raises(sluice.OutOfRange, match=f"has {length} tokens and {CONTEXT} may follow; the model's context has {CONTEXT}"):
        model.generate(PROMPT, max_tokens=CONTEXT)
    with pytest.raises(sluice.InvalidArgument, match="the prompt has no tokens"):
        model.generate([])
    with pytest.raises(sluice.InvalidArgument, match="top_p is 2"):
        model.generate(PROMPT, top_p=2)
    with pytest.raises(sluice.InvalidArgument, match="no tools here"):
        model.generate([{"role": "tool", "content": "x"}])
    with pytest.raises(sluice.InvalidArgument, match="variables are for the template of a chat"):
        model.generate(PROMPT, variables={"loud": True})
    with pytest.raises(sluice.InvalidArgument, match="generates no text"):
        sluice.load(DIGITS).generate(PROMPT)
    closed = sluice.load(DIGITS)
    closed.close()
    with pytest.raises(sluice.FailedPrecondition):
        closed.generate([1])
    with pytest.raises(sluice.NotFound):
        sluice.load(tmp_path / "nothing")


def test_a_closed_model_finishes_its_text(folder: pathlib.Path, language: Language) -> None:
    model = sluice.load(folder, threads=1)
    text = model.generate(PROMPT, max_tokens=9)
    model.close()
    assert "".join(text) == language.text(PROMPT, 9)
    with pytest.raises(sluice.FailedPrecondition):
        model.generate(PROMPT)
