"""The server that the behaviour suite asks, and the models that it has: a `sluiced` of the build, or any other.

    SLUICE_OTHER_SERVER="localhost:8081 localhost:8080" PYTHONPATH=build/release/python \\
        .venv/bin/python -m pytest python/tests/open_inference/test_behaviour.py

asks one that is there, over gRPC and HTTP. echo_mlserver.py makes the models for an MLServer.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
from collections.abc import Iterator
from dataclasses import dataclass

import daemon as daemons
import sluice
from conftest import make_model
from onnx import TensorProto, helper

OTHER = os.environ.get("SLUICE_OTHER_SERVER", "").split()

#: Of the protocol, and ONNX's of the same.
DATATYPES = {"BOOL": TensorProto.BOOL, "UINT8": TensorProto.UINT8, "UINT16": TensorProto.UINT16,
             "UINT32": TensorProto.UINT32, "UINT64": TensorProto.UINT64, "INT8": TensorProto.INT8,
             "INT16": TensorProto.INT16, "INT32": TensorProto.INT32, "INT64": TensorProto.INT64,
             "FP16": TensorProto.FLOAT16, "FP32": TensorProto.FLOAT, "FP64": TensorProto.DOUBLE,
             "BF16": TensorProto.BFLOAT16, "BYTES": TensorProto.STRING}


@dataclass
class Server:
    grpc: str
    http: str


def echo(datatype: str) -> str:
    """The model that gives x [N, 2] back as y."""
    return f"echo_{datatype.lower()}"


def save_models(folder: pathlib.Path) -> None:
    """The echoes, and `pair`: sum and difference of a and b, FP32 [N, 2]."""
    shape = ["N", 2]
    for datatype, element in DATATYPES.items():
        sluice.compile(make_model([helper.make_node("Identity", ["x"], ["y"])], [("x", element, shape)],
                                  [("y", element, shape)])).save(folder / f"{echo(datatype)}.sluice")
    tensors = [(name, TensorProto.FLOAT, shape) for name in ("a", "b", "sum", "difference")]
    sluice.compile(make_model([helper.make_node("Add", ["a", "b"], ["sum"]),
                               helper.make_node("Sub", ["a", "b"], ["difference"])],
                              tensors[:2], tensors[2:])).save(folder / "pair.sluice")


@contextlib.contextmanager
def serving(folder: pathlib.Path) -> Iterator[Server]:
    """The other server if one is named, else a `sluiced` with the models loaded."""
    if OTHER:
        yield Server(*OTHER)
        return
    models = folder / "models"
    models.mkdir()
    save_models(models)
    flags = ["--http", "localhost:0", "--loopback-user", str(os.geteuid()), "--repository", str(models)]
    with daemons.running(folder, *flags) as daemon:
        yield Server(daemon.address, daemon.http)
