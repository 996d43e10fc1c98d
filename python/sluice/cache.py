"""Compiled packages by content of the model, so that a second session opens in milliseconds.

In $SLUICE_CACHE_DIR, else $XDG_CACHE_HOME/sluice, else ~/.cache/sluice; an empty SLUICE_CACHE_DIR turns
the cache off. A folder that cannot be written is no cache. The command `sluice` keeps its packages there, too, and
plug-ins their kernels; all bound the folder (include/sluice/cache_folder.hpp).
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import tempfile
from collections.abc import Callable
from typing import Any, TypeVar

from . import _native
from .compiler import compile_package
from .errors import DataLoss, NotFound
from .package import is_uncompiled

T = TypeVar("T")


def folder() -> pathlib.Path | None:
    named = os.environ.get("SLUICE_CACHE_DIR")
    if named is not None:
        return pathlib.Path(named) if named else None
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return pathlib.Path(base) / "sluice"


def with_package(model: Any, options: list[str], use: Callable[[str | bytes], T], beside: str = "") -> T:
    """What `use` returns for the package of what is_uncompiled takes: a file of the cache, or bytes without a cache.

    The package is compiled now, or was before with the same options, compiler and processor; that of a ModelProto
    is not kept. A kept package that is damaged, or that somebody removes meanwhile, is compiled again, once.
    `beside`: where bytes have their external data; "" for nowhere.
    """
    if isinstance(model, os.PathLike):
        model = os.fspath(model)
    elif isinstance(model, (bytearray, memoryview)):
        model = bytes(model)
    place = _place(model, options, beside)
    if place is not None:
        with contextlib.suppress(FileNotFoundError):  # another process may remove packages at any time
            if is_uncompiled(place):  # a package that was cut at its beginning
                place.unlink()
    if place is not None and place.exists():
        with contextlib.suppress(OSError):
            os.utime(place)  # `sluice run` removes the least recently used packages of the folder
        try:
            return use(str(place))
        except (DataLoss, NotFound):
            place.unlink(missing_ok=True)
    if place is not None and not _can_write(place.parent):
        place = None
    return use(compile_package(model, place, options=options, folder=beside or None))


def holds(path: str) -> bool:
    """Whether a file is in the cache, which may remove it at any time."""
    cache = folder()
    return cache is not None and pathlib.Path(path).parent == cache


def _place(model: Any, options: list[str], beside: str) -> pathlib.Path | None:
    """None without a cache, and where the compiler writes more than a package."""
    cache = folder()
    if cache is None or not isinstance(model, (str, bytes)) or {"--emit", "--graphs"}.intersection(options):
        return None
    return cache / f"{_native.compile_key(model, options, beside)}.sluice"


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
    """Removes the least recently used packages and kernels beyond the limit, as CacheFolder::trim does.

    The newest stays, however large: somebody may be about to load it. Other processes may remove the same files.
    """
    limit_bytes = _limit_mib() << 20
    used = []
    for path in (*folder.glob("*.sluice"), *folder.glob("*.kernel")):
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
