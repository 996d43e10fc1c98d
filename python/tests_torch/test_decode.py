"""Text from a language model whose keys and values are state that each token changes in place."""

from __future__ import annotations

import math
import pathlib
import sys

import numpy as np
import pytest
import sluice
import sluice.torch
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples" / "gpt"))
import gpt

TOKEN = torch.tensor([0])


@pytest.fixture(scope="module")
def model() -> gpt.Gpt:
    """Trained for seconds: enough for words, not for sentences. One thread, because CI has others at work; with it, the
    same text gives the same weights."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    try:
        return gpt.train(gpt.read_text(), steps=250, batch=8)
    finally:
        torch.use_deterministic_algorithms(False)
        torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def traced(model: gpt.Gpt) -> sluice.torch.TracedModel:
    return sluice.torch.trace(model, (TOKEN, TOKEN))


def test_the_model_writes_the_text_that_eager_torch_writes(model: gpt.Gpt, traced: sluice.torch.TracedModel) -> None:
    text = gpt.write(traced, model.alphabet, "The ")
    with torch.no_grad():
        assert gpt.write(model, model.alphabet, "The ") == text
    print(text)
    assert len(text) == gpt.LENGTH and text.startswith("The ")


def test_training_lowers_the_loss(model: gpt.Gpt) -> None:
    """Far below that of a guess. What words the model writes depends on the documents of the day."""
    rows = 20
    letters = gpt.read_text()[: rows * gpt.LENGTH + 1]
    ids = torch.tensor([model.alphabet.index(letter) for letter in letters])
    with torch.no_grad():
        logits = model.logits(ids[:-1].view(rows, -1)).flatten(0, 1)
    loss = torch.nn.functional.cross_entropy(logits, ids[1:]).item()
    assert loss < 0.75 * math.log(len(model.alphabet))


def test_steps_of_the_cache_equal_the_whole_sequence(model: gpt.Gpt, traced: sluice.torch.TracedModel) -> None:
    ids = torch.randint(len(model.alphabet), (20,))
    with torch.no_grad():
        want = model.logits(ids[None])[0]
    for position, token in enumerate(ids):
        got = traced(token[None], torch.tensor([position]))
        torch.testing.assert_close(got, want[position], rtol=1e-4, atol=1e-4)


def test_a_token_copies_nothing_of_the_cache(traced: sluice.torch.TracedModel) -> None:
    """A call copies its result to the caller, and no byte of the states."""
    loaded = traced._loaded
    assert isinstance(loaded, sluice.StatefulModel)
    cache_bytes = sum(value.nbytes for value in loaded.state.snapshot().values())
    arrays = {name: value.ctypes.data for name, value in loaded.state._values.items()}
    result_bytes = 4 * loaded.outputs[0].shape[-1]
    before = loaded.copied_bytes
    for position in range(50):
        traced(torch.tensor([1]), torch.tensor([position]))
    assert loaded.copied_bytes - before == 50 * result_bytes
    assert result_bytes * 50 < cache_bytes
    assert {name: value.ctypes.data for name, value in loaded.state._values.items()} == arrays


def test_a_state_that_is_read_after_its_change_is_copied_once() -> None:
    class Difference(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("last", torch.zeros(64))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            change = x - self.last
            self.last.copy_(x)
            return change

    traced = sluice.torch.trace(Difference().eval(), torch.zeros(64))
    rows = [torch.rand(64) for _ in range(3)]
    for last, row in zip([torch.zeros(64), *rows], rows):
        torch.testing.assert_close(traced(row), row - last)
    np.testing.assert_array_equal(traced.state["last"], rows[-1].numpy())
