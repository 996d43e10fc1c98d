"""The server that the behaviour suite asks, and the models that it has: a `sluiced` of the build, or any other.

    SLUICE_OTHER_SERVER="localhost:8081 localhost:8080" PYTHONPATH=build/release/python \\
        .venv/bin/python -m pytest python/tests/open_inference/test_behaviour.py

asks one that is there, over gRPC and HTTP. echo_mlserver.py and echo_triton.py make the models for an MLServer and
for the tritonserver of PyTriton.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import re
from collections.abc import Iterator
from dataclasses import dataclass

import daemon as daemons
import sluice
from conftest import make_model
from onnx import TensorProto, helper

OTHER = os.environ.get("SLUICE_OTHER_SERVER", "").split()

#: Names of the protocol, and ONNX's types of the same.
DATATYPES = {"BOOL": TensorProto.BOOL, "UINT8": TensorProto.UINT8, "UINT16": TensorProto.UINT16,
             "UINT32": TensorProto.UINT32, "UINT64": TensorProto.UINT64, "INT8": TensorProto.INT8,
             "INT16": TensorProto.INT16, "INT32": TensorProto.INT32, "INT64": TensorProto.INT64,
             "FP16": TensorProto.FLOAT16, "FP32": TensorProto.FLOAT, "FP64": TensorProto.DOUBLE,
             "BF16": TensorProto.BFLOAT16, "BYTES": TensorProto.STRING}


#: What tests of other servers find, by the server's name: a pattern of the test's name, and why it fails there.
#: docs/open-inference.md has them in words.
DIFFERENCES = {
    "triton": {r"any_number_of_rows\[.*-0\]": "a tensor without rows is refused",
               r"chosen_outputs": "outputs come in the order of the model"},
    "mlserver": {r"(?<!they_are)\[http|bodies_may_be_compressed|asyncio.*http": "tensors over HTTP are JSON, and errors are 422",
                 r"configuration|statistics|shared_memory|a_channel_may": "there is no such call",
                 r"chosen_outputs": "all outputs come",
                 r"classes": "`classification` is passed over",
                 r"BF16": "there is no BF16",
                 r"models_are_listed|say_what_they_are": "a model that is absent is an error of its own, UNKNOWN",
                 r"wrong_requests.*grpc-(?!model|version)": "what a model cannot take is its failure, INTERNAL",
                 r"streams_answer": "answers of streams are no ModelStreamInferResponse"},
}


def difference(server: str, test: str) -> str | None:
    """Why a server that has this name in its metadata fails a test; none: it must pass."""
    known = DIFFERENCES.get(server, {})
    return next((reason for pattern, reason in known.items() if re.search(pattern, test)), None)


@dataclass
class Server:
    grpc: str
    http: str
    name: str = ""  #: in its metadata


def echo(datatype: str) -> str:
    """The model that gives x [N, 2] back as y."""
    return f"echo_{datatype.lower()}"


def save_models(folder: pathlib.Path) -> None:
    """The echoes, and `pair`: sum and difference of a and b, FP32 [N, 2]. `spare` is another one of it,
    and `batched` one that joins requests."""
    shape = ["N", 2]
    for datatype, element in DATATYPES.items():
        sluice.compile(make_model([helper.make_node("Identity", ["x"], ["y"])], [("x", element, shape)],
                                  [("y", element, shape)])).save(folder / f"{echo(datatype)}.sluice")
    tensors = [(name, TensorProto.FLOAT, shape) for name in ("a", "b", "sum", "difference")]
    pair = sluice.compile(make_model([helper.make_node("Add", ["a", "b"], ["sum"]),
                                      helper.make_node("Sub", ["a", "b"], ["difference"])],
                                     tensors[:2], tensors[2:]))
    for name in ("pair", "spare"):
        pair.save(folder / f"{name}.sluice")
    (folder / "batched" / "1").mkdir(parents=True)
    (folder / "batched" / "config.pbtxt").write_text("max_batch_size: 64\ndynamic_batching { }\n")
    pair.save(folder / "batched" / "1" / "model.sluice")


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
