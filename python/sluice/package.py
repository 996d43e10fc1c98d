"""Where the package of a loaded model can be read, and the arguments that all loads of packages take."""

from __future__ import annotations

import os
import shutil
from typing import Any

from .errors import InvalidArgument

Path = str | os.PathLike[str]


_MAGIC = b"SLUICE\r\n"


def is_onnx(source: Any) -> bool:
    """Whether it can be an ONNX model: a file or bytes that do not begin as a package does, or a ModelProto."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        return bytes(source[: len(_MAGIC)]) != _MAGIC
    if not isinstance(source, (str, os.PathLike)):
        return hasattr(source, "SerializeToString")
    if not os.path.isfile(source):
        return False
    with open(source, "rb") as file:
        return file.read(len(_MAGIC)) != _MAGIC


def check_seed(seed: int | None) -> None:
    if seed is not None and not 0 <= seed < 1 << 64:
        raise InvalidArgument(f"a seed is from 0 to 2**64 - 1: {seed}")


class Package:
    """A file by its path, or an open descriptor of a package in memory, which the object owns."""

    def __init__(self, source: str, file: int | None = None) -> None:
        self._source = source
        self._file = file

    @property
    def path(self) -> str:
        """Where the package can be read while the model is open."""
        return self._source if self._file is None else f"/proc/self/fd/{self._file}"

    @property
    def file(self) -> int | None:
        """The open file of a package that was given in memory."""
        return self._file

    def save(self, path: Path) -> None:
        """Writes the package to a file."""
        if self._file is None:
            shutil.copyfile(self._source, path)
            return
        with open(os.dup(self._file), "rb") as package, open(path, "wb") as copy:
            package.seek(0)
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
