"""python/examples: they run, and their types check."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest

from conftest import DIGITS, PATIENCE, ROOT
from daemon import Daemon

EXAMPLES = ROOT / "python" / "examples"
#: Arguments behind the model's path, and what the example prints.
RUNS = {"hello.py": ([], "with probability"), "serve_async.py": ([], "1000 answers, 2 Python threads"),
        "turns.py": ([], "1 switch of models"), "draw_profile.py": (["{folder}/digits.svg"], "of 100 requests"),
        "daemon_client.py": (["{address}"], "started")}


def test_every_example_has_a_test() -> None:
    assert {path.name for path in EXAMPLES.iterdir()} == set(RUNS)


@pytest.mark.parametrize("name", sorted(RUNS))
def test_example_runs(name: str, daemon: Daemon, tmp_path: pathlib.Path) -> None:
    more, expected = RUNS[name]
    arguments = [text.format(folder=tmp_path, address=daemon.address) for text in more]
    done = subprocess.run([sys.executable, EXAMPLES / name, DIGITS, *arguments], capture_output=True, text=True,
                          timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert expected in done.stdout


def test_examples_have_strict_types(tmp_path: pathlib.Path) -> None:
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", tmp_path,
                           *sorted(EXAMPLES.iterdir())], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
