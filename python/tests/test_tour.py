"""docs/python.md: its code runs, and its types check."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys
from collections.abc import Callable

import pytest

from conftest import ROOT
from daemon import Daemon

BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "python.md").read_text(), re.S)


def test_tour_runs(tmp_path: pathlib.Path, daemon: Daemon) -> None:
    assert len(BLOCKS) >= 7
    environment = {**os.environ, "SLUICE_CACHE_DIR": str(tmp_path),
                   "SLUICE_ADDRESS": daemon.address}
    done = subprocess.run([sys.executable, "-c", "\n".join(BLOCKS)], cwd=ROOT, env=environment,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "got f64[1,1,8,8]" in done.stdout and "sluice: import ..." in done.stdout


@pytest.mark.parametrize("what", ["tour", "package"])
def test_types_are_strict(what: str, types_are_strict: Callable[..., None], tmp_path: pathlib.Path) -> None:
    tour = tmp_path / "tour.py"
    tour.write_text("\n".join(BLOCKS))
    import sluice
    # The types of sluice.torch need torch's, and those of sluice.ray need Ray's.
    types_are_strict("--exclude", "sluice/(torch|ray)/", {"tour": tour, "package": pathlib.Path(sluice.__file__).parent}[what])
