"""model.embed and model.rerank: vectors and scores of texts by encoders in folders of Hugging Face, in this process."""

from __future__ import annotations

import json
import pathlib
import threading
from typing import Any

import numpy as np
import pytest
import sluice
from conftest import DIGITS
from encoders import TEXTS, Encoders, encoders  # noqa: F401 - a fixture
from tiny_encoders import CONTEXT, WIDTH, make_encoder, make_tokenizer, plain, save_encoder, score_of, vector_of


@pytest.fixture(scope="module")
def embedder(tmp_path_factory: pytest.TempPathFactory, encoders: Encoders) -> sluice.Model:
    return sluice.load(encoders.save_embedder(tmp_path_factory.mktemp("embedder") / "model"), threads=1)


@pytest.fixture(scope="module")
def scorer(tmp_path_factory: pytest.TempPathFactory, encoders: Encoders) -> sluice.Model:
    return sluice.load(encoders.save_scorer(tmp_path_factory.mktemp("scorer") / "model"), threads=1)


def test_vectors_are_those_of_the_model(embedder: sluice.Model, encoders: Encoders) -> None:
    vectors = embedder.embed(TEXTS)
    assert vectors.dtype == np.float32 and vectors.shape == (len(TEXTS), WIDTH)
    assert np.allclose(vectors, encoders.vectors(TEXTS), atol=1e-4)
    assert np.allclose(embedder.embed(TEXTS[0]), vectors[0], atol=1e-5)
    assert np.array_equal(embedder.embed(iter(TEXTS)), vectors)
    assert embedder.embed([]).shape == (0, WIDTH)


def test_texts_with_a_nul_are_refused_and_not_cut(embedder: sluice.Model, scorer: sluice.Model) -> None:
    with pytest.raises(sluice.InvalidArgument, match="NUL"):
        embedder.embed(["cat", "cat\0dog"])
    with pytest.raises(sluice.InvalidArgument, match="NUL"):
        scorer.rerank("who\0ran?", TEXTS)
    with pytest.raises(sluice.InvalidArgument, match="NUL"):
        scorer.rerank("who ran?", ["cat\0dog"])


def test_long_lists_are_divided(embedder: sluice.Model, encoders: Encoders) -> None:
    texts = [" ".join(["cat", "dog", "mat"][i % 3] for i in range(count % 60 + 1)) for count in range(300)]
    assert np.allclose(embedder.embed(texts), encoders.vectors(texts), atol=1e-4)


def test_scores_are_those_of_the_model(scorer: sluice.Model, encoders: Encoders) -> None:
    scores = scorer.rerank("who ran?", TEXTS)
    assert np.array_equal(scorer.rerank("who ran?", iter(TEXTS)), scores)
    assert np.allclose(scores, encoders.scores("who ran?", TEXTS), atol=1e-4)
    assert len(set(np.argsort(-scores))) == len(TEXTS)


@pytest.mark.parametrize(("family", "element", "pooling"), [
    ("bert", "F16", "pooling_mode_cls_token"), ("roberta", "F32", "pooling_mode_mean_tokens"),
    ("distilbert", "F32", "pooling_mode_lasttoken"), ("bert", "BF16", "pooling_mode_max_tokens")])
def test_families_and_poolings(tmp_path: pathlib.Path, family: str, element: str, pooling: str) -> None:
    pytest.importorskip("tokenizers")
    tokenizer = make_tokenizer(family == "roberta")
    size = tokenizer.get_vocab_size()
    tiny = make_encoder(family, size, bare=family == "bert", element=element)
    save_encoder(tiny, tmp_path / "vectors", tokenizer, pooling=pooling, normalizes=False)
    wanted = [vector_of(tiny, plain(tokenizer).encode(text), pooling, normalizes=False) for text in TEXTS]
    found = sluice.load(tmp_path / "vectors").embed(TEXTS)
    assert np.allclose(found, wanted, atol=1e-4 if element == "F32" else 3e-2)
    identity = {"sentence_transformers": {"activation_fn": "torch.nn.modules.linear.Identity", "version": "5"}}
    tiny = make_encoder(family, size, scores=True, element=element, **identity)
    save_encoder(tiny, tmp_path / "scores", tokenizer, pooling=None)
    scores = [score_of(tiny, plain(tokenizer).encode("dog?", text), sigmoid=False) for text in TEXTS]
    assert np.allclose(sluice.load(tmp_path / "scores").rerank("dog?", TEXTS), scores, atol=1e-3 if element == "F32" else 5e-2)


def test_texts_are_never_cut(tmp_path: pathlib.Path, embedder: sluice.Model, scorer: sluice.Model, encoders: Encoders) -> None:
    longest = "cat " * (CONTEXT - 2)
    assert np.allclose(embedder.embed(longest), encoders.vectors([longest])[0], atol=1e-4)
    with pytest.raises(sluice.OutOfRange, match=f"text 1: the text has {CONTEXT + 1} tokens; the model takes {CONTEXT}"):
        embedder.embed(["cat", longest + "cat"])
    with pytest.raises(sluice.OutOfRange, match="document 0: the pair of texts has"):
        scorer.rerank("cat", [longest])
    short = save_encoder(encoders.embedder, tmp_path / "short", encoders.saved, max_tokens=8)
    with pytest.raises(sluice.OutOfRange, match="the text has 9 tokens; the model takes 8"):
        sluice.load(short).embed("cat " * 7)


def test_runs_of_the_model_join_requests(embedder: sluice.Model, scorer: sluice.Model, encoders: Encoders) -> None:
    """Joining is refused for a graph that mixes rows."""
    ids = np.array([encoders.tokenizer.encode("the cat sat").ids])
    tensors = {"ids": ids, "mask": np.ones_like(ids), "types": np.zeros_like(ids)}
    with sluice.Runtime() as runtime:
        runtime.load(scorer, batch_rows=8)
        vectors = runtime.load(embedder, batch_rows=8)(**tensors)
    assert np.allclose(vectors, encoders.vectors(["the cat sat"]), atol=1e-4)


def test_wrong_calls_are_errors(embedder: sluice.Model, scorer: sluice.Model) -> None:
    with pytest.raises(sluice.InvalidArgument, match="vectors of texts, not scores"):
        embedder.rerank("a", ["b"])
    with pytest.raises(sluice.InvalidArgument, match="scores pairs"):
        scorer.embed("a")
    with pytest.raises(sluice.InvalidArgument, match="no vectors of texts and no scores"):
        sluice.load(DIGITS).embed("a")
    wrong: Any
    for wrong in (["a", 3], b"a", [b"a"]):
        with pytest.raises(sluice.InvalidArgument, match="list of texts"):
            embedder.embed(wrong)
    with pytest.raises(sluice.InvalidArgument, match="generates no text"):
        embedder.generate("a")


def test_threads_take_turns(embedder: sluice.Model, encoders: Encoders) -> None:
    wanted = encoders.vectors(TEXTS)
    found: dict[int, np.ndarray] = {}
    threads = [threading.Thread(target=lambda i=i: found.update({i: embedder.embed(TEXTS)})) for i in range(6)]  # type: ignore[misc]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6 and all(np.allclose(one, wanted, atol=1e-4) for one in found.values())


@pytest.mark.parametrize(("change", "message"), [
    ({"hidden_act": "swish"}, "hidden_act: \"swish\" is not supported"),
    ({"position_embedding_type": "relative_key"}, "position_embedding_type"),
    ({"num_attention_heads": 5}, "cannot be divided into 5 heads"),
    ({"is_decoder": True}, "is_decoder"),
    ({"embedding_size": 8}, "embedding_size: this setting is not known"),
])
def test_settings_that_change_the_arithmetic_are_refused(tmp_path: pathlib.Path, encoders: Encoders, change: Any, message: str) -> None:
    tiny = make_encoder("bert", encoders.saved.get_vocab_size(), **change)
    with pytest.raises(sluice.Error, match=message):
        sluice.load(save_encoder(tiny, tmp_path / "model", encoders.saved))


def test_modules_that_are_not_known_are_refused(tmp_path: pathlib.Path, encoders: Encoders) -> None:
    folder = encoders.save_embedder(tmp_path / "model")
    modules = json.loads((folder / "modules.json").read_text())
    for kind, path, message in (("Dense", "2_Dense", "Dense"), ("Pooling", "../other", "leads outside")):
        (folder / "modules.json").write_text(json.dumps([*modules, {"type": f"sentence_transformers.models.{kind}", "path": path}]))
        with pytest.raises(sluice.Error, match=message):
            sluice.load(folder)
    labels = make_encoder("bert", encoders.saved.get_vocab_size(), scores=True, id2label={"0": "a", "1": "b"})
    with pytest.raises(sluice.Unimplemented, match="2 labels"):
        sluice.load(save_encoder(labels, tmp_path / "labels", encoders.saved, pooling=None))
