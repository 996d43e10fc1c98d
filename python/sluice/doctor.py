"""sluice.doctor and the program `sluice` of the package."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess

from .errors import NotFound


def program() -> str:
    """The program `sluice`: $SLUICE_PROGRAM, that of the wheel, or the first on the PATH."""
    own = os.environ.get("SLUICE_PROGRAM", "")
    inside = pathlib.Path(__file__).parent / "bin" / "sluice"
    found = own or (str(inside) if inside.exists() else shutil.which("sluice"))
    if not found:
        raise NotFound("the program `sluice` is not installed; set SLUICE_PROGRAM to its path")
    return found


def doctor() -> str:
    """What this machine has, and which plug-ins loaded or why not: the text of `sluice doctor`."""
    done = subprocess.run([program(), "doctor"], capture_output=True, text=True)
    return done.stdout + done.stderr
