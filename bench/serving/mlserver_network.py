"""Serves ONNX files by MLServer with onnxruntime.

    python mlserver_network.py MODELS FOLDER THREADS HTTP_PORT GRPC_PORT    # in a Python with mlserver==1.7.1 and onnxruntime

writes FOLDER, a model for each MODELS/NAME.onnx, and becomes the server.
"""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import sys

import onnxruntime
from mlserver import MLModel
from mlserver.codecs import NumpyCodec
from mlserver.types import InferenceRequest, InferenceResponse


class Network(MLModel):
    async def load(self) -> bool:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = int(os.environ["NETWORK_THREADS"])
        self._session = onnxruntime.InferenceSession(self.settings.parameters.uri, options, providers=["CPUExecutionProvider"])
        self._output = self._session.get_outputs()[0].name
        return True

    async def predict(self, payload: InferenceRequest) -> InferenceResponse:
        feeds = {one.name: NumpyCodec.decode_input(one) for one in payload.inputs}
        (result,) = self._session.run([self._output], feeds)
        return InferenceResponse(model_name=self.name, id=payload.id, outputs=[NumpyCodec.encode_output(self._output, result)])


def tensors(values: list) -> list[dict[str, object]]:
    return [{"name": one.name, "datatype": "FP32", "shape": [-1, *one.shape[1:]]} for one in values]


def main(models: pathlib.Path, folder: pathlib.Path, threads: str, http: str, grpc: str) -> None:
    for file in sorted(models.glob("*.onnx")):
        session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
        place = folder / file.stem
        place.mkdir(parents=True, exist_ok=True)
        shutil.copy(__file__, place)
        (place / "model-settings.json").write_text(json.dumps(
            {"name": file.stem, "implementation": "mlserver_network.Network", "parameters": {"uri": str(file)},
             "inputs": tensors(session.get_inputs()), "outputs": tensors(session.get_outputs())}))
    # Without workers of its own: a hop to another process costs these models more than it gains.
    (folder / "settings.json").write_text(json.dumps(
        {"http_port": int(http), "grpc_port": int(grpc), "parallel_workers": 0, "metrics_endpoint": None, "debug": False}))
    os.environ["NETWORK_THREADS"] = threads
    program = pathlib.Path(sys.executable).with_name("mlserver")
    os.execv(program, [str(program), "start", str(folder)])


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve(), *sys.argv[3:6])
