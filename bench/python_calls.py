#!/usr/bin/env python3
"""Microseconds per call of a 64-64-64-10 network, one thread: sluice, sluice.onnxruntime, onnxruntime.

    PYTHONPATH=build/release/python .venv/bin/python bench/python_calls.py

Rounds of all engines alternate; the table has each engine's median and least of rounds: on a machine that does
other things, too, the least is of the rounds that it left alone. `run in C` is the call of
libsluice alone: set_input, run and output by ctypes' pointers, less the cost of an empty ctypes call.
"""

import ctypes
import os
import pathlib
import statistics
import tempfile
import time

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

os.environ.setdefault("SLUICE_CACHE_DIR", "")
import sluice
import sluice.onnxruntime as shim

ROUNDS, CALLS = 31, 2000


def network():
    rng = np.random.default_rng(1)
    nodes, constants, last = [], [], "x"
    for i, (rows, columns) in enumerate([(64, 64), (64, 64), (64, 10)]):
        weight = rng.standard_normal((rows, columns), np.float32) / 8
        constants += [onnx.numpy_helper.from_array(weight, f"w{i}"),
                      onnx.numpy_helper.from_array(np.zeros(columns, np.float32), f"b{i}")]
        nodes.append(helper.make_node("Gemm", [last, f"w{i}", f"b{i}"], [f"g{i}"]))
        last = f"g{i}"
        if i < 2:
            nodes.append(helper.make_node("Relu", [last], [f"r{i}"]))
            last = f"r{i}"
    graph = helper.make_graph(
        nodes, "mlp", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 64])],
        [helper.make_tensor_value_info(last, TensorProto.FLOAT, [1, 10])], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


class Array(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("size_bytes", ctypes.c_int64),
                ("element_type", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("dims", ctypes.POINTER(ctypes.c_int64))]


class OpenOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("num_threads", ctypes.c_int32),
                ("cores", ctypes.c_void_p), ("num_cores", ctypes.c_int32),
                ("reserved", ctypes.c_int32), ("backend_dir", ctypes.c_char_p),
                ("max_loop_iterations", ctypes.c_int64)]


def c_call(package, x):
    """A function that runs the package through libsluice, which the extension has loaded."""
    library = next(line.split()[-1] for line in open("/proc/self/maps") if "libsluice.so" in line)
    sluice_c = ctypes.CDLL(library)
    options = OpenOptions(ctypes.sizeof(OpenOptions), 1)
    model, context = ctypes.c_void_p(), ctypes.c_void_p()
    assert sluice_c.sluice_model_open(str(package).encode(), ctypes.byref(options),
                                      ctypes.byref(model)) == 0
    assert sluice_c.sluice_context_create(model, ctypes.byref(context)) == 0
    dims = (ctypes.c_int64 * 2)(1, 64)
    array = Array(x.ctypes.data, x.nbytes, 1, 2, dims)
    out = Array()
    given, got = ctypes.byref(array), ctypes.byref(out)

    def call():
        sluice_c.sluice_context_set_input(context, None, given)
        sluice_c.sluice_context_run(context)
        sluice_c.sluice_context_output(context, None, got)

    def empty():
        for _ in range(3):
            sluice_c.sluice_version()

    call.keep = (dims, array, options)
    return call, empty


def microseconds(function):
    start = time.perf_counter()
    for _ in range(CALLS):
        function()
    return (time.perf_counter() - start) / CALLS * 1e6


def main():
    proto = network().SerializeToString()
    package = pathlib.Path(tempfile.mkdtemp()) / "mlp.sluice"
    model = sluice.compile(proto, package, threads=1)
    x = sluice.empty((1, 64))
    x[:] = 1
    options, theirs = shim.SessionOptions(), onnxruntime.SessionOptions()
    options.intra_op_num_threads = theirs.intra_op_num_threads = 1
    ours = shim.InferenceSession(proto, options)
    session = onnxruntime.InferenceSession(proto, theirs)
    np.testing.assert_allclose(model(x), session.run(None, {"x": x})[0], atol=1e-4)
    call, empty = c_call(package, x)
    rows = {"three empty ctypes calls": empty, "C calls by ctypes": call,
            "sluice model(x)": lambda: model(x), "sluice model.run": lambda: model.run({"x": x}),
            "sluice.onnxruntime run": lambda: ours.run(None, {"x": x}),
            "onnxruntime run": lambda: session.run(None, {"x": x})}
    times = {name: [] for name in rows}
    for _ in range(ROUNDS):
        for name, function in rows.items():
            times[name].append(microseconds(function))
    print(f"{'microseconds per call':26} {'median':>8} {'least':>8}")
    for name, values in times.items():
        print(f"{name:26} {statistics.median(values):8.2f} {min(values):8.2f}")
    for word, choose in (("median", statistics.median), ("least", min)):
        chosen = {name: choose(values) for name, values in times.items()}
        in_c = chosen["C calls by ctypes"] - chosen["three empty ctypes calls"]
        ours = chosen["sluice model(x)"]
        print(f"{word}: run in C {in_c:.2f} us; model(x) {ours - in_c:.2f} us over it, and "
              f"{ours / chosen['onnxruntime run']:.2f} of onnxruntime's run")


if __name__ == "__main__":
    main()
