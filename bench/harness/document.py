"""Tables of a document that commands write, each between two marks with its name."""

from __future__ import annotations

from pathlib import Path

from harness.sluice_cli import ROOT

BENCHMARKS = ROOT / "docs/benchmarks.md"


def marks(name: str) -> tuple[str, str]:
    return f"<!-- {name}: begin -->", f"<!-- {name}: end -->"


def read_table(path: Path, name: str) -> str:
    begin, end = marks(name)
    return path.read_text(encoding="utf-8").partition(begin)[2].partition(end)[0]


def write_table(path: Path, name: str, table: str) -> None:
    """Replaces what stands between the two marks."""
    text = path.read_text(encoding="utf-8")
    begin, end = marks(name)
    if begin not in text or end not in text:
        raise RuntimeError(f"{path}: the marks of the table {name} are missing")
    start, rest = text.split(begin)
    path.write_text(f"{start}{begin}\n{table}{end}{rest.split(end)[1]}", encoding="utf-8")
