"""The folder of compiled packages stays within its limit when only Python compiles."""

from __future__ import annotations

import os
import pathlib

import numpy as np
import pytest
import sluice

from conftest import DIGITS


@pytest.fixture
def cache(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A cache of 3 MiB with four packages of 1 MiB, "0" the least recently used, and a file of another kind."""
    folder = tmp_path / "cache"
    folder.mkdir()
    for i in range(4):
        (folder / f"{i}.sluice").write_bytes(bytes(1 << 20))
        os.utime(folder / f"{i}.sluice", (1000 + i, 1000 + i))
    (folder / "notes.txt").write_bytes(bytes(8 << 20))
    monkeypatch.setenv("SLUICE_CACHE_DIR", str(folder))
    monkeypatch.setenv("SLUICE_CACHE_MIB", "3")
    return folder


def kept(cache: pathlib.Path) -> set[str]:
    return {path.name for path in cache.iterdir()} & {"0.sluice", "1.sluice", "2.sluice", "3.sluice", "notes.txt"}


def test_a_compilation_removes_the_least_recently_used_packages(cache: pathlib.Path, image: np.ndarray) -> None:
    sluice.load(DIGITS)(image)
    assert kept(cache) == {"1.sluice", "2.sluice", "3.sluice", "notes.txt"}
    sluice.load(DIGITS.read_bytes(), weights="bf16")(image)
    assert kept(cache) == {"2.sluice", "3.sluice", "notes.txt"}, "the package of the first load counts"
    assert len(list(cache.glob("*.sluice"))) == 4


@pytest.mark.parametrize("mib", ["0", "1"])
def test_the_newest_package_stays(cache: pathlib.Path, image: np.ndarray, mib: str,
                                  monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLUICE_CACHE_MIB", mib)
    for _ in range(2):
        sluice.load(DIGITS)(image)
    assert kept(cache) == {"3.sluice", "notes.txt"}


@pytest.mark.parametrize("mib", ["", "-1", "1.5", "many", "9" * 30])
def test_a_limit_that_is_no_number_warns(cache: pathlib.Path, image: np.ndarray, mib: str,
                                         monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLUICE_CACHE_MIB", mib)
    with pytest.warns(UserWarning, match="not a number of MiB; the limit is 4096"):
        sluice.load(DIGITS)(image)
    assert kept(cache) == {"0.sluice", "1.sluice", "2.sluice", "3.sluice", "notes.txt"}
