"""Models as deployments of Ray Serve, whose proxies speak the Open Inference Protocol."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any

import numpy as np

from ..cluster import open_inference as protocol
from ..errors import Error, InvalidArgument, NotFound
from ..runtime import Source
from .placed import PlacedModel
from .supervisor import RESOURCE

#: For Serve's `grpc_options={"port": 9000, "grpc_servicer_functions": [GRPC_SERVICE]}`. Needs the package tritonclient[grpc].
GRPC_SERVICE = "tritonclient.grpc.service_pb2_grpc.add_GRPCInferenceServiceServicer_to_server"


class ServedModel:
    """A replica of Serve: a model on a group of its own, under the deployment's name.

    Its threads wait for the daemon. Methods with names of the protocol's calls are those of gRPC.
    """

    def __init__(self, name: str, /, *arguments: Any, **options: Any) -> None:
        self._name = name
        self._placed = PlacedModel(*arguments, **options)

    async def __call__(self, request: Any) -> Any:
        """Outputs by name for a handle's inputs by name, and an answer for Serve's request over HTTP."""
        from starlette.requests import Request
        from starlette.responses import JSONResponse, Response

        if not isinstance(request, Request):
            return await self._infer(request)
        path = request.scope["path"].removeprefix(request.scope.get("root_path", "").rstrip("/"))
        try:
            found = await self._http(request.method, path, await request.body())
        except Error as error:
            return JSONResponse({"error": str(error)}, protocol.status_of(error))
        return Response() if found is None else JSONResponse(found)

    async def ModelInfer(self, request: Any, grpc_context: Any) -> Any:  # noqa: N802 - a call of the protocol
        return await _with_code(self._message(request), grpc_context)

    async def ModelMetadata(self, request: Any, grpc_context: Any) -> Any:  # noqa: N802
        return await _with_code(asyncio.to_thread(self._described, request), grpc_context)

    async def ServerLive(self, request: Any) -> Any:  # noqa: N802
        return _messages().ServerLiveResponse(live=True)

    async def ServerReady(self, request: Any) -> Any:  # noqa: N802
        return _messages().ServerReadyResponse(ready=True)

    async def ModelReady(self, request: Any) -> Any:  # noqa: N802
        return _messages().ModelReadyResponse(ready=request.name == self._name)

    async def _infer(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        return await asyncio.to_thread(self._placed.infer, inputs)

    async def _answer(self, request: protocol.Request) -> dict[str, Any]:
        outputs = await self._infer(request.inputs)
        unknown = [name for name in request.outputs if name not in outputs]
        if unknown:
            raise InvalidArgument(f'no output "{unknown[0]}"; there are {", ".join(outputs)}')
        return {name: np.asarray(outputs[name]) for name in request.outputs or outputs}

    def _check_name(self, name: str) -> None:
        if name != self._name:
            raise NotFound(f'no model "{name}" here; the deployment is "{self._name}"')

    async def _http(self, method: str, path: str, body: bytes) -> Any:
        """The answer's document; None: only its status counts."""
        words = path.strip("/").split("/")
        if words in (["v2", "health", "live"], ["v2", "health", "ready"]):
            return None
        if words[:2] != ["v2", "models"] or len(words) not in (3, 4):
            raise NotFound(f"nothing at {path}")
        self._check_name(words[2])
        if words[3:] == ["ready"]:
            return None
        if not words[3:] and method == "GET":
            return protocol.metadata_of(self._name, *self._placed.signature())
        if words[3:] != ["infer"] or method != "POST":
            raise NotFound(f"nothing for {method} {path}")
        request = protocol.request_of_json(body)
        return protocol.json_of(self._name, request, await self._answer(request))

    async def _message(self, request: Any) -> Any:
        self._check_name(request.model_name)
        wanted = protocol.request_of_message(request)
        response = _messages().ModelInferResponse()
        protocol.fill_response(response, self._name, wanted, await self._answer(wanted))
        return response

    def _described(self, request: Any) -> Any:
        self._check_name(request.name)
        found = protocol.metadata_of(self._name, *self._placed.signature())
        response = _messages().ModelMetadataResponse(name=found["name"], platform=found["platform"])
        for side in ("inputs", "outputs"):
            for one in found[side]:
                getattr(response, side).add(**one)
        return response


def _messages() -> Any:
    from tritonclient.grpc import service_pb2

    return service_pb2


async def _with_code(answer: Awaitable[Any], context: Any) -> Any:
    """The answer, or its error with the status code that Serve's proxy sends."""
    import grpc

    try:
        return await answer
    except Error as error:
        [code] = [code for code in grpc.StatusCode if code.value[0] == error.code]
        context.set_code(code)
        context.set_details(str(error))
        raise


def deployment(package: Source, *, name: str = "model", cores: int = 1, kind: str = "cpu", flags: Sequence[str] = (),
               load: Mapping[str, Any] | None = None, **serve_options: Any) -> Any:
    """A deployment of Ray Serve, bound to the package: each replica is a model on a group of its own.

    A call of its handle takes inputs by name and gives outputs by name. Serve's proxies give it the Open Inference
    Protocol for a model of its `name`: over HTTP with `route_prefix="/"`, and over gRPC with GRPC_SERVICE; without binary
    data over HTTP, streams, and strings. `load`: options of Runtime.load. `serve_options`: those of serve.deployment, such
    as `num_replicas`, or `autoscaling_config`, with which Serve adds replicas by the length of its queue, from
    `min_replicas=0` on.
    """
    from ray import serve

    actor = {"num_cpus": 0, "resources": {RESOURCE: 1}, **serve_options.pop("ray_actor_options", {})}
    made: Any = serve.deployment(ServedModel, name=name, ray_actor_options=actor, **serve_options)
    return made.bind(name, package, cores, flags, kind, **dict(load or {}))
