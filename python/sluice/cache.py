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
from typing import Any

from . import _native
from .compiler import compile_package


def folder() -> pathlib.Path | None:
    named = os.environ.get("SLUICE_CACHE_DIR")
    if named is not None:
        return pathlib.Path(named) if named else None
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return pathlib.Path(base) / "sluice"


def cached_package(source: str | bytes, options: list[str], beside: str = "") -> str | bytes:
    """The package of an ONNX model, compiled now or before with the same options and version: a file of the cache.

    Without a cache its bytes. `beside`: where bytes have their external data; "" for nowhere.
    """
    place = _place(source, options, beside)
    if place is not None and place.exists():
        with contextlib.suppress(OSError):
            os.utime(place)  # `sluice run` removes the least recently used packages of the folder
        return str(place)
    if place is not None and not _can_write(place.parent):
        place = None
    return compile_package(source, place, options=options, folder=beside or None)


def package_of(model: Any, options: list[str]) -> str | bytes:
    """The package of what is_onnx takes; that of a ModelProto is not kept."""
    if isinstance(model, (str, os.PathLike)):
        return cached_package(os.fspath(model), options)
    if isinstance(model, (bytes, bytearray, memoryview)):
        return cached_package(bytes(model), options)
    return compile_package(model, options=options)


def holds(path: str) -> bool:
    """Whether a file is in the cache, which may remove it at any time."""
    cache = folder()
    return cache is not None and pathlib.Path(path).parent == cache


def forget(package: str | bytes) -> bool:
    """Removes a file of the cache that does not load. Whether it was one."""
    if isinstance(package, bytes):
        return False
    pathlib.Path(package).unlink(missing_ok=True)
    return True


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


def _can_write(folder: pathlib.Path) -> bool:
    """Whether the folder takes another package. Makes room for it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            _trim(folder)
            return True
    except OSError:
        return False


_DEFAULT_MIB = 4096
_MAX_MIB = 1 << 40


def _trim(folder: pathlib.Path) -> None:
    """Removes the least recently used packages beyond the limit, as the command `sluice` does.

    The newest stays, however large: somebody may be about to load it. Other processes may remove the same files.
    """
    limit_bytes = _limit_mib() << 20
    used = []
    for path in folder.glob("*.sluice"):
        with contextlib.suppress(OSError):
            facts = path.stat()
            used.append((facts.st_mtime_ns, facts.st_size, path))
    total_bytes = 0
    for i, (_, size_bytes, path) in enumerate(sorted(used, reverse=True)):
        total_bytes += size_bytes
        if i > 0 and total_bytes > limit_bytes:
            with contextlib.suppress(OSError):
                path.unlink()


def _limit_mib() -> int:
    import warnings

    text = os.environ.get("SLUICE_CACHE_MIB")
    if text is None:
        return _DEFAULT_MIB
    if text.isascii() and text.isdigit() and int(text[:20]) <= _MAX_MIB:
        return int(text[:20])
    warnings.warn(f"SLUICE_CACHE_MIB={text}: not a number of MiB; the limit is {_DEFAULT_MIB}", stacklevel=2)
    return _DEFAULT_MIB
