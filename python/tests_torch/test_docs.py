"""docs/torch.md says the truth."""

from __future__ import annotations

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_every_block_of_the_page_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "torch.md").read_text()
    names: dict[str, object] = {"__name__": "tour"}
    blocks = 0
    for match in re.finditer(r"```python\n(.*?)```", text, re.DOTALL):
        line = text[: match.start()].count("\n") + 1
        exec(compile("\n" * line + match[1], "docs/torch.md", "exec"), names)
        blocks += 1
    assert blocks >= 3
