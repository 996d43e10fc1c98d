"""A small language model that is trained on this project's own documents and then writes text with Sluice.

    PYTHONPATH=build/release/python python examples/gpt/gpt.py [FILE.sluice]

Needs torch, and takes a minute. The decoder computes one character per call. Keys and values of the characters
before are state of the traced model, which a call changes in place.
"""

from __future__ import annotations

import pathlib
import sys

import torch
from torch import nn
from torch.nn import functional

ROOT = pathlib.Path(__file__).resolve().parents[2]
LENGTH, WIDTH, HEADS, LAYERS = 96, 96, 4, 2


def read_text() -> str:
    """The sentences of the documents, which are under the project's licence, in characters of ASCII."""
    pages = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").glob("*.md")),
             *sorted((ROOT / "docs" / "decisions").glob("*.md"))]
    paragraphs = "\n\n".join(page.read_text() for page in pages).split("\n\n")
    kept = [" ".join(text.split()) for text in paragraphs if text[:1].isalpha() and "`" not in text]
    return "\n".join(kept).encode("ascii", "ignore").decode()


class Block(nn.Module):
    """Attention and a perceptron. `extend` takes one position and keeps its key and value."""

    def __init__(self) -> None:
        super().__init__()
        self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.register_buffer("keys", torch.zeros(LENGTH, HEADS, WIDTH // HEADS))
        self.register_buffer("values", torch.zeros(LENGTH, HEADS, WIDTH // HEADS))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """f32[B,T,WIDTH] to the same, for training."""
        split = self.qkv(self.before(x)).unflatten(-1, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(*split, is_causal=True)
        return self._perceptron(x + self.out(mixed.transpose(1, 2).flatten(2)))

    def extend(self, x: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        """f32[1,WIDTH] at `position`, i64[1], to the same."""
        query, key, value = self.qkv(self.before(x)).unflatten(-1, (3, HEADS, -1)).unbind(1)
        self.keys.index_copy_(0, position, key)
        self.values.index_copy_(0, position, value)
        scores = torch.einsum("qhd,khd->hqk", query, self.keys) * query.shape[-1] ** -0.5
        scores = scores.masked_fill(torch.arange(LENGTH) > position, float("-inf"))
        mixed = torch.einsum("hqk,khd->qhd", scores.softmax(-1), self.values)
        return self._perceptron(x + self.out(mixed.flatten(1)))

    def _perceptron(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(functional.gelu(self.up(self.between(x))))


class Gpt(nn.Module):
    """Characters to the logits of the next."""

    def __init__(self, alphabet: str) -> None:
        super().__init__()
        self.alphabet = alphabet
        self.tokens, self.positions = nn.Embedding(len(alphabet), WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.after = nn.LayerNorm(WIDTH)
        nn.init.normal_(self.tokens.weight, std=0.05)
        nn.init.normal_(self.positions.weight, std=0.05)

    def logits(self, ids: torch.Tensor) -> torch.Tensor:
        """i64[B,T] to f32[B,T,characters], for training."""
        x = self.tokens(ids) + self.positions(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.after(x) @ self.tokens.weight.T

    def forward(self, token: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        """i64[1] at a position, i64[1], to f32[characters]. Positions come in order from 0."""
        x = self.tokens(token) + self.positions(position)
        for block in self.blocks:
            x = block.extend(x, position)
        return (self.after(x) @ self.tokens.weight.T)[0]


def train(text: str, steps: int, batch: int = 16, seed: int = 7) -> Gpt:
    torch.manual_seed(seed)
    model = Gpt("".join(sorted(set(text))))
    ids = torch.tensor([model.alphabet.index(letter) for letter in text])
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=steps)
    for step in range(steps):
        starts = torch.randint(len(ids) - LENGTH - 1, (batch,))
        rows = torch.stack([ids[start:start + LENGTH + 1] for start in starts])
        loss = functional.cross_entropy(model.logits(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % 100 == 0 or step + 1 == steps:
            print(f"step {step}: loss {loss.item():.2f}", file=sys.stderr)
    return model.eval()


def write(call: nn.Module, alphabet: str, prompt: str, length: int = LENGTH) -> str:
    """`prompt` and the likeliest characters behind it, `length` in all."""
    written = prompt
    for position in range(length - 1):
        logits = call(torch.tensor([alphabet.index(written[position])]), torch.tensor([position]))
        if position + 1 >= len(written):
            written += alphabet[int(logits.argmax())]
    return written


def main() -> None:
    import sluice.torch

    model = train(read_text(), steps=1000)
    traced = sluice.torch.trace(model, (torch.tensor([0]), torch.tensor([0])))
    print(write(traced, model.alphabet, "The compiler "))
    if len(sys.argv) > 1:
        traced.save(sys.argv[1])


if __name__ == "__main__":
    main()
