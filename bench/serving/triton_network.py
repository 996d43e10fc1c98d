"""Serves ONNX files by the tritonserver that PyTriton brings: its "python" backend with onnxruntime.

    python triton_network.py MODELS FOLDER THREADS [ARGUMENT...]    # in a Python with nvidia-pytriton==0.7.0 and onnxruntime

writes FOLDER, a model for each MODELS/NAME.onnx, and becomes the server with these arguments, such as `--http-port=8000`.
"""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import sys
import sysconfig

# The server's "python" backend runs the copies of this file; there is no package of that name elsewhere.
try:
    import triton_python_backend_utils as triton
except ImportError:
    triton = None


class TritonPythonModel:
    """A batch of requests is one run; its rows go back to their requests."""

    def initialize(self, args):  # type: ignore[no-untyped-def]
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = int(json.loads(args["model_config"])["parameters"]["threads"]["string_value"])
        file = pathlib.Path(args["model_repository"]) / args["model_version"] / "network.onnx"
        self.session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
        self.input = self.session.get_inputs()[0].name
        self.output = self.session.get_outputs()[0].name

    def execute(self, requests):  # type: ignore[no-untyped-def]
        import numpy as np

        given = [triton.get_input_tensor_by_name(request, self.input).as_numpy() for request in requests]
        (result,) = self.session.run([self.output], {self.input: given[0] if len(given) == 1 else np.concatenate(given)})
        ends = np.cumsum([len(rows) for rows in given])
        return [triton.InferenceResponse(output_tensors=[triton.Tensor(self.output, result[end - len(rows):end])])
                for rows, end in zip(given, ends)]


def config(name: str, file: pathlib.Path, threads: int) -> str:
    import onnxruntime

    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])

    def tensors(values) -> str:  # type: ignore[no-untyped-def]
        return ", ".join(f'{{ name: "{one.name}" data_type: TYPE_FP32 dims: {list(one.shape[1:])} }}' for one in values)

    return (f'name: "{name}"\nbackend: "python"\nmax_batch_size: 64\ndynamic_batching {{ }}\n'
            f"input [ {tensors(session.get_inputs())} ]\noutput [ {tensors(session.get_outputs())} ]\n"
            f'parameters {{ key: "threads" value: {{ string_value: "{threads}" }} }}\n'
            "instance_group [ { kind: KIND_CPU } ]\n")


def main(models: pathlib.Path, folder: pathlib.Path, threads: int, arguments: list[str]) -> None:
    packages = pathlib.Path(sysconfig.get_path("purelib"))
    server = packages / "pytriton" / "tritonserver"
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    backends = folder.with_name(folder.name + ".backends")  # the server looks for the stub there alone
    shutil.copytree(server / "backends", backends, dirs_exist_ok=True)
    shutil.copy(server / "python_backend_stubs" / version / "triton_python_backend_stub", backends / "python")
    for package in packages.iterdir():  # its Python looks nowhere else
        if not (backends / "python" / package.name).exists():
            (backends / "python" / package.name).symlink_to(package)
    for file in sorted(models.glob("*.onnx")):
        place = folder / file.stem
        (place / "1").mkdir(parents=True, exist_ok=True)
        (place / "config.pbtxt").write_text(config(file.stem, file, threads))
        shutil.copy(file, place / "1" / "network.onnx")
        shutil.copy(__file__, place / "1" / "model.py")
    libraries = [sysconfig.get_config_var("LIBDIR"), str(packages / "nvidia_pytriton.libs"), os.environ.get("LD_LIBRARY_PATH", "")]
    environment = {**os.environ, "LD_LIBRARY_PATH": ":".join(filter(None, libraries))}
    command = [str(server / "bin" / "tritonserver"), f"--model-repository={folder}", f"--backend-directory={backends}",
               "--allow-metrics=false", *arguments]
    os.execve(command[0], command, environment)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve(), int(sys.argv[3]), sys.argv[4:])
