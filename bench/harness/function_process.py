"""A process of its own for a function: answers requests on the socket that it inherits.

    function_process.py [--join ROWS] onnxruntime|sluice MODEL [MODEL ...]      # the socket is descriptor 3

A message is a header of three 64-bit numbers (request, function, bytes), then the input tensors one after
another; an answer is the same with the outputs. Requests are served in order on one thread: one at a time, or
with --join up to ROWS that have arrived for one function as the rows of one run.
"""

from __future__ import annotations

import argparse
import math
import socket
import struct
from collections.abc import Callable, Iterator

import numpy as np

HEADER = struct.Struct("=QQQ")
RECEIVE_BYTES = 1 << 20
Specs = list[tuple[list[int], np.dtype]]
Compute = Callable[[list[np.ndarray]], list[np.ndarray]]


class Function:
    """A model, and the shapes of a request's inputs with 1 for symbols."""

    def __init__(self, specs: Specs, compute: Compute) -> None:
        self.specs = specs
        self.compute = compute

    def split(self, payload: bytes) -> list[np.ndarray]:
        arrays, at = [], 0
        for shape, dtype in self.specs:
            count = math.prod(shape)
            arrays.append(np.frombuffer(payload, dtype, count, at).reshape(shape))
            at += count * dtype.itemsize
        return arrays

    def answers(self, payloads: list[bytes]) -> list[bytes]:
        """The answers of one run. Several payloads have a row each."""
        requests = [self.split(payload) for payload in payloads]
        if len(requests) == 1:
            return [b"".join(np.ascontiguousarray(one).tobytes() for one in self.compute(requests[0]))]
        outputs = self.compute([np.concatenate(parts) for parts in zip(*requests)])
        return [b"".join(np.ascontiguousarray(one[row : row + 1]).tobytes() for one in outputs)
                for row in range(len(requests))]  # fmt: skip


def arrays_of(outputs: object) -> list[np.ndarray]:
    several = outputs if isinstance(outputs, (list, tuple)) else [outputs]
    return [one for one in several if isinstance(one, np.ndarray)]


def with_ones(shape: list) -> list[int]:
    return [d if isinstance(d, int) else 1 for d in shape]


def onnxruntime_function(path: str) -> Function:
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    dtypes = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(int32)": np.int32}
    names = [spec.name for spec in session.get_inputs()]
    specs = [(with_ones(spec.shape), np.dtype(dtypes[spec.type])) for spec in session.get_inputs()]
    return Function(specs, lambda arrays: arrays_of(session.run(None, dict(zip(names, arrays)))))


def sluice_function(path: str) -> Function:
    import sluice

    model = sluice.load(path, threads=1)
    specs = [(with_ones(spec.shape), np.dtype(spec.dtype)) for spec in model.inputs]
    return Function(specs, lambda arrays: arrays_of(model(*arrays)))


def messages(connection: socket.socket) -> Iterator[list[tuple[int, int, bytes]]]:
    """Request, function and payload of all messages that have arrived, at least one."""
    buffer = bytearray()
    while True:
        arrived, at = [], 0
        while len(buffer) - at >= HEADER.size:
            request, function, size = HEADER.unpack_from(buffer, at)
            if len(buffer) - at - HEADER.size < size:
                break
            at += HEADER.size
            arrived.append((request, function, bytes(buffer[at : at + size])))
            at += size
        del buffer[:at]
        if arrived:
            yield arrived
        received = connection.recv(RECEIVE_BYTES)
        if not received:
            return
        buffer += received


def serve(connection: socket.socket, functions: list[Function], most_rows: int) -> None:
    for arrived in messages(connection):
        at = 0
        while at < len(arrived):
            function = arrived[at][1]
            end = at + 1
            while end < len(arrived) and end - at < most_rows and arrived[end][1] == function:
                end += 1
            answers = functions[function].answers([payload for _, _, payload in arrived[at:end]])
            heads = [HEADER.pack(request, function, len(answer))
                     for (request, _, _), answer in zip(arrived[at:end], answers)]  # fmt: skip
            connection.sendall(b"".join(part for pair in zip(heads, answers) for part in pair))
            at = end


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--join", type=int, default=1, metavar="ROWS")
    parser.add_argument("engine", choices=["onnxruntime", "sluice"])
    parser.add_argument("models", nargs="+")
    options = parser.parse_args()
    load = onnxruntime_function if options.engine == "onnxruntime" else sluice_function
    with socket.socket(fileno=3) as connection:
        serve(connection, [load(path) for path in options.models], options.join)


if __name__ == "__main__":
    main()
