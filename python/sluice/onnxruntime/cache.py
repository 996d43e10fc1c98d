"""Compiled packages by content of the model, so that a second session opens in milliseconds.

In $SLUICE_CACHE_DIR, else $XDG_CACHE_HOME/sluice, else ~/.cache/sluice; an empty SLUICE_CACHE_DIR turns
the cache off. A folder that cannot be written is no cache. The command `sluice` keeps its packages there, too,
and bounds the folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pathlib
import tempfile

from .. import _native, loading
from ..errors import Error
from ..model import Model


def folder() -> pathlib.Path | None:
    named = os.environ.get("SLUICE_CACHE_DIR")
    if named is not None:
        return pathlib.Path(named) if named else None
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return pathlib.Path(base) / "sluice"


def compile_cached(source: str | bytes, options: list[str], threads: int, beside: str = "") -> Model:
    """Loads the package of a model, compiled now or before with the same options and version.

    `beside`: where bytes have their external data; "" for nowhere.
    """
    if isinstance(source, bytes) and source.startswith(b"SLUICE\r\n"):
        return loading.load(source, threads=threads)
    if isinstance(source, str):
        with open(source, "rb") as file:
            if file.read(8) == b"SLUICE\r\n":
                return loading.load(source, threads=threads)
    place = _place(source, options, beside)
    if place is None:
        return loading.compile(source, options=options, threads=threads, folder=beside or None)
    if place.exists():
        try:
            model = loading.load(place, threads=threads)
            with contextlib.suppress(OSError):
                os.utime(place)  # `sluice run` removes the least recently used packages of the folder
            return model
        except Error:
            place.unlink(missing_ok=True)  # of another version, or damaged
    return _compile_to(place, source, options, threads, beside)


def _place(source: str | bytes, options: list[str], beside: str) -> pathlib.Path | None:
    """None without a cache. A model with external data is keyed by the sizes and times of its folder."""
    cache = folder()
    if cache is None:
        return None
    digest = hashlib.sha256(repr((_native.version(), options)).encode())
    digest.update(source if isinstance(source, bytes) else pathlib.Path(source).read_bytes())
    data = pathlib.Path(beside) if isinstance(source, bytes) else pathlib.Path(source).parent
    for file in sorted(data.iterdir()) if beside or isinstance(source, str) else []:
        if file.suffix in (".data", ".onnx_data", ".bin", ".weight"):
            status = file.stat()
            digest.update(repr((file.name, status.st_size, status.st_mtime_ns)).encode())
    return cache / f"{digest.hexdigest()[:32]}.sluice"


def _compile_to(place: pathlib.Path, source: str | bytes, options: list[str], threads: int,
                beside: str) -> Model:
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=place.parent):
            pass
    except OSError:
        return loading.compile(source, options=options, threads=threads, folder=beside or None)
    return loading.compile(source, place, options=options, threads=threads, folder=beside or None)
