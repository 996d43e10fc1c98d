"""Where the package of a loaded model can be read, and the arguments that all loads of packages take."""

from __future__ import annotations

import contextlib
import operator
import os
import shutil
import threading
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

from .errors import FailedPrecondition, InvalidArgument

Path = str | os.PathLike[str]

MAX_THREADS = 512  #: as the command takes; more than the largest machines have processors: certainly a slip


_MAGIC = b"SLUICE\r\n"


def is_uncompiled(source: Any) -> bool:
    """Whether it can be a model to compile: a file or bytes that do not begin as a package does, a ModelProto, or a
    folder with a config.json."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        return bytes(source[: len(_MAGIC)]) != _MAGIC
    if not isinstance(source, (str, os.PathLike)):
        return hasattr(source, "SerializeToString")
    if os.path.isdir(source):
        return os.path.isfile(os.path.join(source, "config.json"))
    if not os.path.isfile(source):
        return False
    with open(source, "rb") as file:
        return file.read(len(_MAGIC)) != _MAGIC


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file that takes the place of `path` at the end of the block, and not before.

    Whoever has the old file mapped, as a loaded model has its package, goes on with it. A device or a pipe is
    written as it is.
    """
    place = os.path.realpath(path)
    if os.path.exists(place) and not os.path.isfile(place):
        with open(place, "wb") as file:
            yield file
        return
    beside = f"{place}.{os.getpid()}.{threading.get_ident()}.part"
    try:
        with open(beside, "xb") as file:
            yield file
        os.replace(beside, place)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise


def whole(value: Any, what: str) -> int:
    """A whole number of any of Python's or NumPy's types."""
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{what}: a whole number is needed, not {value!r}") from None


def whole_of(value: Any, what: str, bits: int, is_signed: bool = True) -> int:
    """A whole number that the extension's integer of so many bits holds."""
    number = whole(value, what)
    min_value = -(1 << (bits - 1)) if is_signed else 0
    max_value = min_value + (1 << bits) - 1
    if not min_value <= number <= max_value:
        raise InvalidArgument(f"{what} must be from {min_value} to {max_value}: {number}")
    return number


def core_numbers(cores: Sequence[int] | None) -> list[int]:
    """None is the same as no core."""
    try:
        return [whole_of(core, "cores", 32) for core in cores or ()]
    except TypeError:
        raise TypeError(f"cores: core numbers are needed, as in [0, 1], not {cores!r}") from None


def check_threads(threads: int) -> None:
    threads = whole(threads, "threads")
    if not 0 <= threads <= MAX_THREADS:
        raise InvalidArgument(f"threads are from 0, for all cores, to {MAX_THREADS}: {threads}")


def check_seed(seed: int | None) -> None:
    if seed is not None and not 0 <= whole(seed, "seed") < 1 << 64:
        raise InvalidArgument(f"a seed is from 0 to 2**64 - 1: {seed}")


class Package:
    """An open file of the package, which the object owns, and the path that led to it, or "" in memory.

    The path may lead to another file one day. The open file stays what was loaded.
    """

    def __init__(self, source: str, file: int | None) -> None:
        self._source = source
        self._file = file

    @property
    def path(self) -> str:
        """Where the package can be read while the model is open.

        FailedPrecondition after the close of a model that was given in memory.
        """
        if self._file is None and not self._source:
            raise FailedPrecondition("the model is closed, and its package was in memory")
        file = self.file
        return self._source if file is None else f"/proc/self/fd/{file}"

    @property
    def file(self) -> int | None:
        """The open file of a package that no path leads to: of one in memory, or whose file was replaced."""
        if self._file is None:
            return None
        with contextlib.suppress(OSError):
            if self._source and os.path.samestat(os.stat(self._source), os.fstat(self._file)):
                return None
        return self._file

    def save(self, path: Path) -> None:
        """Writes the package to a file. A package of that name is replaced: models that have it loaded keep theirs."""
        if os.path.isfile(path) and os.path.getsize(path) > 0 and is_uncompiled(path):
            raise InvalidArgument(f"{os.fspath(path)} is there and is no package: it is not replaced. Name another "
                                  "file, or remove it")
        with open(self.path, "rb") as package, replacing(path) as copy:
            shutil.copyfileobj(package, copy)

    def content(self) -> bytes:
        """The bytes of the package."""
        with open(self.path, "rb") as package:
            return package.read()

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def __del__(self) -> None:
        if getattr(self, "_file", None) is not None:
            Package.close(self)
