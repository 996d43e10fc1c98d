"""The models of peers.py for an MLServer, to compare its answers with ours.

    python echo_mlserver.py FOLDER && mlserver start FOLDER    # in a Python with mlserver==1.7.1
"""

from __future__ import annotations

import json
import pathlib
import shutil
import sys

import numpy as np
from mlserver import MLModel
from mlserver.codecs import NumpyCodec
from mlserver.types import InferenceRequest, InferenceResponse, ResponseOutput

DATATYPES = ("BOOL", "UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16", "INT32", "INT64", "FP16", "FP32", "FP64",
             "BF16", "BYTES")


class Echo(MLModel):
    async def predict(self, payload: InferenceRequest) -> InferenceResponse:
        (given,) = payload.inputs
        output = ResponseOutput(name="y", shape=given.shape, datatype=given.datatype, data=given.data,
                                parameters=given.parameters)
        return InferenceResponse(model_name=self.name, id=payload.id, outputs=[output])


class Pair(MLModel):
    async def predict(self, payload: InferenceRequest) -> InferenceResponse:
        given = {one.name: NumpyCodec.decode_input(one) for one in payload.inputs}
        a, b = given["a"].astype(np.float32), given["b"].astype(np.float32)
        outputs = [NumpyCodec.encode_output("sum", a + b), NumpyCodec.encode_output("difference", a - b)]
        return InferenceResponse(model_name=self.name, id=payload.id, outputs=outputs)


def tensors(datatype: str, *names: str) -> list[dict[str, object]]:
    return [{"name": name, "datatype": datatype, "shape": [-1, 2]} for name in names]


def main(folder: pathlib.Path) -> None:
    settings = [("Pair", name, tensors("FP32", "a", "b"), tensors("FP32", "sum", "difference"))
                for name in ("pair", "spare", "batched")]
    settings += [("Echo", f"echo_{datatype.lower()}", tensors(datatype, "x"), tensors(datatype, "y"))
                 for datatype in DATATYPES]
    for kind, name, inputs, outputs in settings:
        (folder / name).mkdir(parents=True, exist_ok=True)
        shutil.copy(__file__, folder / name)
        (folder / name / "model-settings.json").write_text(json.dumps(
            {"name": name, "implementation": f"echo_mlserver.{kind}", "inputs": inputs, "outputs": outputs}))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
