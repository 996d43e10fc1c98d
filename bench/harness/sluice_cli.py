"""Drives the `sluice` command from Python."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
Arrays = dict[str, np.ndarray]


class SluiceError(RuntimeError):
    """The command failed; the message is its stderr output."""


def binary() -> Path:
    """The command under test: $SLUICE, or the release build of this repository."""
    path = Path(os.environ.get("SLUICE", ROOT / "build/release/bin/sluice"))
    if not path.exists():
        raise SluiceError(f"{path} is missing; run 'make build' first, or set SLUICE")
    return path


def plugins() -> list[Path]:
    """Those beside the command: packages hold constants in their forms."""
    return list((binary().parents[1] / "lib/sluice").glob("libsluice_backend_*.so"))


def run_command(*arguments: str | Path, timeout_s: float = 600) -> str:
    """Runs `sluice arguments…` and returns its stdout."""
    command = [str(binary()), *map(str, arguments)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s)
    except subprocess.TimeoutExpired as error:
        raise SluiceError(f"sluice {arguments[0]}: nothing after {timeout_s:.0f} s") from error
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise SluiceError(f"sluice {arguments[0]}: {lines[-1]}")
    return done.stdout


def compile_model(
    model: Path, package: Path, backend: str = "cpu", options: Sequence[str] = ()
) -> Path:
    """Compiles `model` unless `package` is newer than the model, the command and the plug-in."""
    newest_source = max(path.stat().st_mtime for path in (model, binary(), *plugins()))
    if not package.exists() or package.stat().st_mtime < newest_source:
        package.parent.mkdir(parents=True, exist_ok=True)
        run_command("compile", model, "-o", package, "--backend", backend, *options)
    return package


def save_inputs(feeds: Arrays, folder: Path) -> list[str]:
    """Writes each input as .npy and returns the --input arguments that name them."""
    folder.mkdir(parents=True, exist_ok=True)
    arguments = []
    for index, (name, values) in enumerate(feeds.items()):
        path = folder / f"input_{index}.npy"
        np.save(path, values)
        arguments += ["--input", f"{name}={path}"]
    return arguments


def run_model(
    package: Path, feeds: Arrays, outputs: Sequence[str], options: Sequence[str] = ()
) -> Arrays:
    """Runs the package once and returns the named outputs."""
    with tempfile.TemporaryDirectory(prefix="sluice-run-") as scratch:
        arguments = save_inputs(feeds, Path(scratch) / "inputs")
        folder = Path(scratch) / "outputs"
        run_command("run", package, *arguments, "--output-dir", folder, *options)
        files = {name: folder / f"{name.replace('/', '_')}.npy" for name in outputs}
        missing = [name for name, path in files.items() if not path.exists()]
        if missing:
            raise SluiceError(f"sluice run: no output called {', '.join(missing)}")
        return {name: np.load(path) for name, path in files.items()}
