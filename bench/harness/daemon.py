"""A `sluiced` of a build."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence
from pathlib import Path


class Daemon:
    """Serves at unix:FOLDER/sluice.sock until the end of a `with` block; FOLDER/log has what it says."""

    def __init__(self, build: Path, folder: Path, *flags: object, before: Sequence[str] = ()) -> None:
        """`before`: words of the command line that start it elsewhere, as on another host."""
        folder.mkdir(exist_ok=True)
        self.address = f"unix:{folder}/sluice.sock"
        with (folder / "log").open("w") as log:
            self.process = subprocess.Popen(
                [str(word) for word in (*before, build / "bin/sluiced", "-g", self.address, "--lock-folder", folder, *flags)],
                stdout=log, stderr=log)
        deadline = time.monotonic() + 30
        while "listening on" not in (folder / "log").read_text():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.end()
                raise SystemExit(f"sluiced does not start:\n{(folder / 'log').read_text()}")
            time.sleep(0.02)

    def __enter__(self) -> Daemon:
        return self

    def __exit__(self, *error: object) -> None:
        self.end()

    def end(self) -> None:
        self.process.terminate()
        self.process.wait()
