"""KServe's clients against the models of peers.py; run by a Python that has `kserve`.

    kserve_client.py GRPC-ADDRESS HTTP-ADDRESS

It cannot share a process with Triton's client: both register the protocol's messages.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import grpc
import httpx
import numpy as np
from kserve import InferenceGRPCClient, InferenceRESTClient, InferInput, InferRequest, RESTConfig


def pair(binary: bool) -> InferRequest:
    inputs = []
    for name, values in (("a", [[1, 2]]), ("b", [[10, 20]])):
        made = InferInput(name, [1, 2], "FP32")
        made.set_data_from_numpy(np.array(values, np.float32), binary_data=binary)
        inputs.append(made)
    return InferRequest("pair", inputs, request_id="seven")


def check(answer: Any) -> None:
    found = {output.name: output.as_numpy().tolist() for output in answer.outputs}
    assert found == {"sum": [[11, 22]], "difference": [[-9, -18]]}, found
    assert answer.id == "seven", answer.id


async def ask_grpc(address: str) -> None:
    client = InferenceGRPCClient(address)
    assert await client.is_server_live() and await client.is_server_ready()
    assert await client.is_model_ready("pair") and not await client.is_model_ready("absent")
    for binary in (True, False):
        check(await client.infer(pair(binary)))
    try:
        await client.infer(InferRequest("absent", pair(True).inputs))
    except grpc.RpcError as error:
        assert error.code() == grpc.StatusCode.NOT_FOUND, error
    else:
        raise AssertionError("a model that is not there answered")
    await client.close()


async def ask_http(address: str) -> None:
    client = InferenceRESTClient(RESTConfig(protocol="v2"))
    url = f"http://{address}"
    assert await client.is_server_live(url) and await client.is_server_ready(url)
    assert await client.is_model_ready(url, "pair") and not await client.is_model_ready(url, "absent")
    for binary in (True, False):
        check(await client.infer(url, pair(binary), model_name="pair"))
    try:
        await client.infer(url, pair(True), model_name="absent")
    except httpx.HTTPStatusError as error:
        assert error.response.status_code == 404, error
    else:
        raise AssertionError("a model that is not there answered")
    await client.close()


asyncio.run(ask_grpc(sys.argv[1]))
asyncio.run(ask_http(sys.argv[2]))
print("KServe's clients: gRPC and HTTP, binary and JSON, health, readiness and errors")
