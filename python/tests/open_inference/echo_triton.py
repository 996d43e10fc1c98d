"""The models of peers.py for the tritonserver that PyTriton brings, to compare its answers with ours.

    python echo_triton.py FOLDER [ARGUMENT...]    # in a Python with nvidia-pytriton==0.7.0

writes the folder and starts the server with these arguments, such as `--http-port 8000`.
"""

from __future__ import annotations

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

TYPES = {"BOOL": "TYPE_BOOL", "UINT8": "TYPE_UINT8", "UINT16": "TYPE_UINT16", "UINT32": "TYPE_UINT32",
         "UINT64": "TYPE_UINT64", "INT8": "TYPE_INT8", "INT16": "TYPE_INT16", "INT32": "TYPE_INT32",
         "INT64": "TYPE_INT64", "FP16": "TYPE_FP16", "FP32": "TYPE_FP32", "FP64": "TYPE_FP64", "BF16": "TYPE_BF16",
         "BYTES": "TYPE_STRING"}


class TritonPythonModel:
    """`pair`, `spare` and `batched`: sum and difference of a and b; others give x back as y."""

    def initialize(self, args):  # type: ignore[no-untyped-def]
        self.has_numpy_type = not args["model_name"].endswith("bf16")

    def execute(self, requests):  # type: ignore[no-untyped-def]
        return [triton.InferenceResponse(output_tensors=self.answer(request)) for request in requests]

    def answer(self, request):  # type: ignore[no-untyped-def]
        given = {tensor.name(): tensor for tensor in request.inputs()}
        if "x" in given and self.has_numpy_type:
            return [triton.Tensor("y", given["x"].as_numpy())]
        if "x" in given:
            return [triton.Tensor.from_dlpack("y", given["x"].to_dlpack())]
        a, b = given["a"].as_numpy(), given["b"].as_numpy()
        return [triton.Tensor("sum", a + b), triton.Tensor("difference", a - b)]


def config(name: str, kind: str, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> str:
    def tensors(names: tuple[str, ...]) -> str:
        return ", ".join(f'{{ name: "{one}" data_type: {kind} dims: [ 2 ] }}' for one in names)

    return (f'name: "{name}"\nbackend: "python"\nmax_batch_size: 4000000\n'
            f"input [ {tensors(inputs)} ]\noutput [ {tensors(outputs)} ]\ninstance_group [ {{ kind: KIND_CPU }} ]\n")


def main(folder: pathlib.Path, arguments: list[str]) -> None:
    packages = pathlib.Path(sysconfig.get_path("purelib"))
    server = packages / "pytriton" / "tritonserver"
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    backends = folder.with_name(folder.name + ".backends")  # the server looks for the stub there alone
    shutil.copytree(server / "backends", backends, dirs_exist_ok=True)
    shutil.copy(server / "python_backend_stubs" / version / "triton_python_backend_stub", backends / "python")
    for name in ("numpy", "numpy.libs"):  # its Python looks nowhere else
        if not (backends / "python" / name).exists():
            (backends / "python" / name).symlink_to(packages / name)
    configs = {name: config(name, "TYPE_FP32", ("a", "b"), ("sum", "difference")) for name in ("pair", "spare", "batched")}
    for datatype, kind in TYPES.items():
        name = f"echo_{datatype.lower()}"
        configs[name] = config(name, kind, ("x",), ("y",))
    for name, text in configs.items():
        (folder / name / "1").mkdir(parents=True, exist_ok=True)
        (folder / name / "config.pbtxt").write_text(text)
        shutil.copy(__file__, folder / name / "1" / "model.py")
    libraries = [sysconfig.get_config_var("LIBDIR"), str(packages / "nvidia_pytriton.libs"), os.environ.get("LD_LIBRARY_PATH", "")]
    environment = {**os.environ, "LD_LIBRARY_PATH": ":".join(filter(None, libraries))}
    command = [str(server / "bin" / "tritonserver"), f"--model-repository={folder}",
               f"--backend-directory={backends}", "--model-control-mode=explicit", "--load-model=*",
               "--allow-metrics=false", *arguments]
    os.execve(command[0], command, environment)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:])
