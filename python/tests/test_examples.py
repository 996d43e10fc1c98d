"""The examples in Python: they run, and their types check."""

from __future__ import annotations

import pathlib
import subprocess
import sys
from collections.abc import Callable

import pytest

from conftest import DIGITS, PATIENCE, ROOT
from daemon import Daemon

EXAMPLES = ROOT / "examples"
#: Arguments of each program, and what it prints.
RUNS = {"03_python.py": ([DIGITS], "it is a 7"), "07_asyncio.py": ([DIGITS], "1000 answers, 2 Python threads"),
        "tour.py": (["{address}"], "the daemon says 7")}


def test_every_example_has_a_test() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(RUNS)


@pytest.mark.parametrize("name", sorted(RUNS))
def test_example_runs(name: str, daemon: Daemon) -> None:
    arguments, expected = RUNS[name]
    arguments = [str(text).format(address=daemon.address) for text in arguments]
    done = subprocess.run([sys.executable, EXAMPLES / name, *arguments], capture_output=True, text=True,
                          timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert expected in done.stdout


def test_examples_have_strict_types(types_are_strict: Callable[..., None]) -> None:
    types_are_strict(*sorted(EXAMPLES.glob("*.py")))
