"""Messages of the .proto files of this tree, as classes of Python's protobuf."""

from __future__ import annotations

import pathlib
import shutil
import subprocess
import tempfile
from typing import Any

import pytest
from conftest import ROOT
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory


class Protos:
    """`Protos("kubelet/deviceplugin.proto").message("v1beta1.Device")` is a class."""

    def __init__(self, *names: str) -> None:
        protoc = shutil.which("protoc")
        if protoc is None:
            pytest.skip("protoc is not installed")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "set"
            subprocess.run([protoc, "-I", ROOT / "proto", f"--descriptor_set_out={path}", "--include_imports", *names],
                           check=True)
            files = descriptor_pb2.FileDescriptorSet.FromString(path.read_bytes())
        self._pool = descriptor_pool.DescriptorPool()
        for file in files.file:
            self._pool.Add(file)

    def message(self, name: str) -> Any:
        return message_factory.GetMessageClass(self._pool.FindMessageTypeByName(name))
