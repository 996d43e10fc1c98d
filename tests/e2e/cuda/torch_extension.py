#!/usr/bin/env python3
"""Extensions for PyTorch: their launches run without torch on the emulator's driver, against `reference`.

python/tests_torch/gpu/test_extension.py tests the operators. Skipped where no CUDA toolkit is installed to compile the
kernels.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import cuda_compiler  # noqa: E402
from report import ROOT, first_wrong_refusal  # noqa: E402

from harness.agreement import TOLERANCE, relative_error  # noqa: E402
from harness.sluice_cli import Arrays, binary, compile_model, run_command, run_model  # noqa: E402
from models_agree import write_cnn, write_transformer  # noqa: E402

EMULATED = "cuda-emulated"
DRIVER = binary().parents[1] / "lib/libsluice_cuda_emulated_libcuda.so"
PROGRAM = Path(__file__).resolve().parent / "launch_extension.cc"
LAUNCHER = [found] if (found := shutil.which("ccache")) else []


def emit(model: Path, folder: Path, *options: str, backend: str = EMULATED) -> Path:
    """Writes the extension of a model, and compiles its launches to FOLDER/launch_extension.

    ccache, where it is installed, knows the sources that all extensions share.
    """
    run_command("compile", model, "-o", folder.with_suffix(".sluice"), "--backend", backend, "--emit",
                f"torch-extension={folder}", *options)
    command = [*LAUNCHER, "c++", "-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", "-I."]
    sources = {"main.o": PROGRAM, "launch.o": "launch.cc", "network.o": "network.cc"}
    for made, source in sources.items():
        subprocess.run([*command, "-c", source, "-o", made], check=True, cwd=folder,
                       env={**os.environ, "CCACHE_BASEDIR": str(ROOT), "CCACHE_NOHASHDIR": "1"})
    subprocess.run(["c++", *sources, "-ldl", "-o", "launch_extension"], check=True, cwd=folder)
    return folder


def launch(folder: Path, values: list[np.ndarray | None], model: Path, *, calls: int = 1, seed: int = 1) -> Arrays:
    """The outputs by name. Raises RuntimeError with the message of an error."""
    files = []
    for i, value in enumerate(values):
        files.append("-" if value is None else str(folder / f"input_{i}"))
        if value is not None:
            Path(files[-1]).write_bytes(np.ascontiguousarray(value).tobytes())
    done = subprocess.run([folder / "launch_extension", DRIVER, folder, str(calls), *files], text=True,
                          stderr=subprocess.PIPE, check=False,
                          env={**os.environ, "SLUICE_CUDA_DRIVER": str(DRIVER), "SLUICE_CUDA_EMULATED": f"seed={seed}"})
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    results = {}
    for i, output in enumerate(onnx.load(model).graph.output):
        tensor = output.type.tensor_type
        dims = [dim.dim_value for dim in tensor.shape.dim]
        dtype = helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        results[output.name] = np.frombuffer((folder / f"output_{i}").read_bytes(), dtype).reshape(dims)
    return results


def agrees(model: Path, feeds: Arrays, folder: Path) -> str:
    names = [output.name for output in onnx.load(model).graph.output]
    expected = run_model(compile_model(model, folder / "whole.sluice", "reference"), feeds, names)
    extension = emit(model, folder / "extension")
    for seed in (1, 2, 3):
        got = launch(extension, list(feeds.values()), model, calls=2, seed=seed)
        for name in names:
            error = relative_error(got[name], expected[name])
            if error > TOLERANCE:
                return f"{name}, seed {seed}: relative error {error}"
    return ""


def transformer_agrees(folder: Path) -> str:
    model = folder / "transformer.onnx"
    return agrees(model, write_transformer(model), folder)


def cnn_agrees(folder: Path) -> str:
    model = folder / "cnn.onnx"
    return agrees(model, write_cnn(model), folder)


def save(path: Path, nodes: list[onnx.NodeProto], inputs: dict[str, list[object]], outputs: dict[str, list[object]],
         constants: dict[str, np.ndarray], integers: frozenset[str] = frozenset()) -> Path:
    def info(name: str, dims: list[object]) -> onnx.ValueInfoProto:
        kind = TensorProto.INT64 if name in integers else TensorProto.FLOAT
        return helper.make_tensor_value_info(name, kind, dims)

    graph = helper.make_graph(nodes, "g", [info(*each) for each in inputs.items()],
                              [info(*each) for each in outputs.items()],
                              [numpy_helper.from_array(value, name) for name, value in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    return path


def outputs_of_any_origin_are_there(folder: Path) -> str:
    """An output that a kernel reads too, its view, an input, and a constant."""
    table = np.arange(12, dtype=np.float32).reshape(3, 4)
    model = save(folder / "ends.onnx",
                 [helper.make_node("Mul", ["x", "table"], ["y"]), helper.make_node("Exp", ["y"], ["z"]),
                  helper.make_node("Reshape", ["y", "flat"], ["v"]), helper.make_node("Identity", ["x"], ["same"]),
                  helper.make_node("Identity", ["table"], ["fixed"])],
                 {"x": [3, 4]}, {"y": [3, 4], "z": [3, 4], "v": [12], "same": [3, 4], "fixed": [3, 4]},
                 {"table": table, "flat": np.array([12])})
    return agrees(model, {"x": np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)}, folder)


def inputs_that_are_left_out_have_their_defaults(folder: Path) -> str:
    scale = np.float32([2, 3])
    model = save(folder / "scaled.onnx", [helper.make_node("Mul", ["x", "scale"], ["y"])],
                 {"x": [3, 2], "scale": [2]}, {"y": [3, 2]}, {"scale": scale})
    extension = emit(model, folder / "extension", "--overridable", "scale")
    x = np.ones((3, 2), np.float32)
    for given, wanted in ((None, x * scale), (np.float32([5, 7]), x * np.float32([5, 7]))):
        got = launch(extension, [x, given], model)["y"]
        if not np.array_equal(got, wanted):
            return f"with {given}: {got}"
    return ""


def wrong_index_is_told_by_the_next_call(folder: Path) -> str:
    model = save(folder / "gather.onnx", [helper.make_node("Gather", ["table", "ids"], ["y"], name="embed")],
                 {"ids": [3]}, {"y": [3, 4]}, {"table": np.ones((5, 4), np.float32)}, frozenset({"ids"}))
    extension = emit(model, folder / "extension")
    launch(extension, [np.array([0, -5, 4])], model, calls=3)
    try:
        launch(extension, [np.array([0, 5, 4])], model)
    except RuntimeError as error:
        wanted = 'met index 5 at node "embed" (Gather), outside of axis 0 of size 5'
        return "" if wanted in str(error) else str(error)
    return "no error"


def constants_are_a_safetensors_file(folder: Path) -> str:
    model = folder / "cnn.onnx"
    write_cnn(model)
    extension = emit(model, folder / "extension")
    data = (extension / "constants.safetensors").read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + length])
    begin, end = header["w3"]["data_offsets"]
    weights = {each.name: numpy_helper.to_array(each) for each in onnx.load(model).graph.initializer}
    stored = np.frombuffer(data[8 + length + begin:8 + length + end], np.float32).reshape(header["w3"]["shape"])
    return "" if np.array_equal(stored, weights["w3"]) else "w3 is another"


def gpu_code_is_written_without_a_gpu(folder: Path) -> str:
    model = folder / "cnn.onnx"
    write_cnn(model)
    extension = emit(model, folder / "extension", "--arch", "sm_90", backend="cuda")
    text = (extension / "network.cc").read_text()
    missing = [kernel["name"] for kernel in json.loads((extension / "schedule.json").read_text())["kernels"]
               if kernel["images"]["sm_90"] not in text or not (extension / kernel["source"]).exists()]
    return f"{missing} are not in network.cc" if missing else ""


def models_that_a_gpu_does_not_run_alone_are_refused(folder: Path) -> str:
    summed = save(folder / "summed.onnx", [helper.make_node("CumSum", ["x", "axis"], ["y"], name="sum_up")],
                  {"x": [3, 4]}, {"y": [3, 4]}, {"axis": np.array(1)})
    rows = save(folder / "rows.onnx", [helper.make_node("Exp", ["x"], ["y"])], {"x": ["N", 4]}, {"y": ["N", 4]}, {})
    to = ("-o", folder / "x.sluice", "--emit", f"torch-extension={folder / 'refused'}")
    return first_wrong_refusal("compile", [
        ((summed, *to, "--backend", f"{EMULATED},cpu"), 'node "sum_up" (CumSum) runs on cpu'),
        ((rows, *to, "--backend", EMULATED), 'input "x" is f32[N,4]'),
        ((rows, *to, "--backend", EMULATED), "--shape fixes"),
        ((rows, *to, "--shape", "N=2"), "runs on cpu"),
    ])


def masked_kernels_are_refused(folder: Path) -> str:
    model = folder / "cnn.onnx"
    write_cnn(model)
    os.environ["SLUICE_CUDA_CONFINE"] = "masks"
    try:
        return first_wrong_refusal("compile", [
            ((model, "-o", folder / "x.sluice", "--backend", EMULATED, "--emit",
              f"torch-extension={folder / 'refused'}"), "compile without that variable")])
    finally:
        del os.environ["SLUICE_CUDA_CONFINE"]


CASES = (transformer_agrees, cnn_agrees, outputs_of_any_origin_are_there,
         inputs_that_are_left_out_have_their_defaults, wrong_index_is_told_by_the_next_call,
         constants_are_a_safetensors_file, gpu_code_is_written_without_a_gpu,
         models_that_a_gpu_does_not_run_alone_are_refused, masked_kernels_are_refused)


if __name__ == "__main__":
    sys.exit(cuda_compiler.run(*CASES))
