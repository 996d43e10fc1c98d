"""A process of its own for a function: answers requests on the socket that it inherits.

    function_process.py onnxruntime|sluice MODEL [MODEL ...]      # the socket is descriptor 3

A message is a header of three 64-bit numbers (request, function, bytes), then the input tensors one after
another; an answer is the same with the outputs. Requests are served in order, one at a time, on one thread.
"""

from __future__ import annotations

import math
import socket
import struct
import sys
from collections.abc import Callable

import numpy as np

HEADER = struct.Struct("=QQQ")
Run = Callable[[memoryview], bytes]


def split(payload: memoryview, specs: list[tuple[list[int], np.dtype]]) -> list[np.ndarray]:
    arrays, at = [], 0
    for shape, dtype in specs:
        size = math.prod(shape) * dtype.itemsize
        arrays.append(np.frombuffer(payload[at : at + size], dtype).reshape(shape))
        at += size
    return arrays


def onnxruntime_function(path: str) -> Run:
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    dtypes = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(int32)": np.int32}
    names = [spec.name for spec in session.get_inputs()]
    specs = [([d if isinstance(d, int) else 1 for d in spec.shape], np.dtype(dtypes[spec.type]))
             for spec in session.get_inputs()]  # fmt: skip

    def run(payload: memoryview) -> bytes:
        outputs = session.run(None, dict(zip(names, split(payload, specs))))
        return b"".join(np.ascontiguousarray(one).tobytes() for one in outputs
                        if isinstance(one, np.ndarray))  # fmt: skip

    return run


def sluice_function(path: str) -> Run:
    import sluice

    model = sluice.load(path, threads=1)
    specs = [([d if isinstance(d, int) else 1 for d in spec.shape], np.dtype(spec.dtype))
             for spec in model.inputs]  # fmt: skip

    def run(payload: memoryview) -> bytes:
        outputs = model(*split(payload, specs))
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        return b"".join(one.tobytes() for one in outputs if isinstance(one, np.ndarray))

    return run


def receive(connection: socket.socket, view: memoryview) -> bool:
    while len(view) > 0:
        size = connection.recv_into(view)
        if size == 0:
            return False
        view = view[size:]
    return True


def serve(connection: socket.socket, functions: list[Run]) -> None:
    head = bytearray(HEADER.size)
    buffer = bytearray()
    while receive(connection, memoryview(head)):
        request, function, size = HEADER.unpack(head)
        if len(buffer) < size:
            buffer = bytearray(size)
        payload = memoryview(buffer)[:size]
        if not receive(connection, payload):
            return
        answer = functions[function](payload)
        connection.sendall(HEADER.pack(request, function, len(answer)) + answer)


def main() -> None:
    load = {"onnxruntime": onnxruntime_function, "sluice": sluice_function}[sys.argv[1]]
    with socket.socket(fileno=3) as connection:
        serve(connection, [load(path) for path in sys.argv[2:]])


if __name__ == "__main__":
    main()
