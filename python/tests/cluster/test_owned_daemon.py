"""A daemon that belongs to the process that started it. Scripts stand for daemons that do not start well."""

from __future__ import annotations

import os
import pathlib
import signal
import subprocess

import daemon as daemons
import pytest
import sluice
from conftest import PATIENCE, eventually
from sluice.cluster import owned_daemon
from sluice.cluster.owned_daemon import OwnedDaemon


def stand_in(folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    path = folder / "stand-in"
    path.write_text(f"#!/bin/bash\necho \"$@\" >{folder}/words\n{script}\n")
    path.chmod(0o755)
    monkeypatch.setenv("SLUICED_PROGRAM", str(path))


def test_it_serves_and_starts_again(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLUICED_PROGRAM", str(daemons.program()))
    owned = OwnedDaemon(tmp_path, ("--map", ""))
    try:
        before = owned.process
        with sluice.Client(owned.address) as client:
            assert client.devices
        os.kill(before, signal.SIGKILL)
        eventually(lambda: owned.process == 0)
        assert owned.revive() and owned.process not in (0, before) and owned.num_restarts == 1
    finally:
        owned.stop()
    assert owned.process == 0 and not owned.revive()


def test_it_reads_no_settings_of_the_machine(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(tmp_path, monkeypatch, "echo sluiced: listening on x; exec tail -f /dev/null")
    OwnedDaemon(tmp_path).stop()
    words = (tmp_path / "words").read_text().split()
    settings = pathlib.Path(words[words.index("--config") + 1])
    assert settings.parent == tmp_path and settings.read_text().strip() == "{}"


def test_what_it_says_goes_to_stderr(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
                                     ) -> None:
    stand_in(tmp_path, monkeypatch, r"printf 'no text: \xff\n'; echo listening on x; echo later; exec tail -f /dev/null")
    owned = OwnedDaemon(tmp_path)
    said = ""

    def has_said() -> bool:
        nonlocal said
        said += capsys.readouterr().err
        return "no text: \N{REPLACEMENT CHARACTER}\n" in said and "later\n" in said

    eventually(has_said)
    owned.stop()


@pytest.mark.parametrize(("script", "seconds", "message"), [
    ("echo no such device; exit 1", PATIENCE, "no such device"),
    ("exec tail -f /dev/null", 0.05, "no word in 0.05 seconds"),
])
def test_one_that_does_not_start_is_an_error_and_leaves_no_process(
        tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, script: str, seconds: float, message: str) -> None:
    made: list[subprocess.Popen[str]] = []

    class Recorded(subprocess.Popen):  # type: ignore[type-arg]
        def __init__(self, *words: object, **options: object) -> None:
            made.append(self)
            super().__init__(*words, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(owned_daemon.subprocess, "Popen", Recorded)
    monkeypatch.setattr(owned_daemon, "_START_PATIENCE", seconds)
    stand_in(tmp_path, monkeypatch, script)
    with pytest.raises(sluice.Unavailable, match=message):
        OwnedDaemon(tmp_path)
    assert [process.poll() is not None for process in made] == [True]
