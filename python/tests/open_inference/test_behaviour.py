"""What clients of the Open Inference Protocol may count on, through Triton's client over both doors.

The server is a `sluiced`, or another one (peers.py); docs/open-inference.md lists where others differ.
"""

from __future__ import annotations

import asyncio
import os
import queue
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from conftest import PATIENCE, eventually

grpcclient = pytest.importorskip("tritonclient.grpc")
httpclient = pytest.importorskip("tritonclient.http")
regions = pytest.importorskip("tritonclient.utils.shared_memory")
import tritonclient.grpc.aio as grpc_aio  # noqa: E402
import tritonclient.http.aio as http_aio  # noqa: E402
from tritonclient.utils import InferenceServerException, triton_to_np_dtype  # noqa: E402

from peers import DATATYPES, Server, difference, echo, serving  # noqa: E402

#: Without a form in JSON.
BINARY_ONLY = ("FP16", "BF16")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("served")) as started:
        with httpclient.InferenceServerClient(started.http) as client:
            eventually(client.is_server_ready)
            started.name = client.get_server_metadata()["name"]
        yield started


@pytest.fixture(autouse=True)
def expect_known_differences(server: Server, request: pytest.FixtureRequest) -> None:
    reason = difference(server.name, request.node.name)
    if reason is not None:
        request.applymarker(pytest.mark.xfail(reason=reason, strict=False))


@pytest.fixture(params=[grpcclient, httpclient], ids=["grpc", "http"])
def module(request: pytest.FixtureRequest) -> Any:
    return request.param


def address(server: Server, module: Any) -> str:
    return server.grpc if module in (grpcclient, grpc_aio) else server.http


@pytest.fixture
def client(server: Server, module: Any) -> Iterator[Any]:
    with module.InferenceServerClient(address(server, module)) as made:
        yield made


def tensor(module: Any, name: str, value: np.ndarray, datatype: str, **options: bool) -> Any:
    made = module.InferInput(name, list(value.shape), datatype)
    made.set_data_from_numpy(value, **options)
    return made


def pair(module: Any, a: Any = ((1, 2), (3, 4)), b: Any = ((10, 20), (30, 40))) -> list[Any]:
    return [tensor(module, name, np.array(value, np.float32), "FP32") for name, value in (("a", a), ("b", b))]


def values(datatype: str) -> np.ndarray:
    """Three rows with the type's ends."""
    if datatype == "BYTES":
        return np.array([[b"", "süß".encode()], [b'"\\\n', b"a b"], [b"x" * 1000, b"1"]], np.object_)
    if datatype == "BOOL":
        return np.array([[True, False], [False, False], [True, True]])
    kind = np.dtype(ml_dtypes.bfloat16 if datatype == "BF16" else triton_to_np_dtype(datatype))
    ends = np.iinfo(kind) if kind.kind in "iu" else ml_dtypes.finfo(kind)
    return np.array([[0, 1], [ends.min, ends.max], [5, 6]], kind)


def metadata_of(client: Any, name: str) -> dict[str, Any]:
    options = {"as_json": True} if isinstance(client, grpcclient.InferenceServerClient) else {}
    return client.get_model_metadata(name, **options)


# ---- the server and its models


def test_server_and_models_say_what_they_are(client: Any) -> None:
    assert client.is_server_live() and client.is_server_ready()
    assert client.is_model_ready("pair") and not client.is_model_ready("absent")
    metadata = metadata_of(client, "pair")
    assert metadata["name"] == "pair"
    assert [entry["name"] for entry in metadata["inputs"]] == ["a", "b"]
    assert [entry["name"] for entry in metadata["outputs"]] == ["sum", "difference"]
    for entry in metadata["inputs"] + metadata["outputs"]:
        assert entry["datatype"] == "FP32"
        assert [int(dim) for dim in entry["shape"]] == [-1, 2]


def test_a_configuration_has_the_inputs(client: Any) -> None:
    config = client.get_model_config("pair")
    if not isinstance(config, dict):
        assert config.config.name == "pair"
        assert [entry.name for entry in config.config.input] == ["a", "b"]
    else:
        assert config["name"] == "pair"
        assert [entry["name"] for entry in config["input"]] == ["a", "b"]


def test_statistics_count_requests(module: Any, client: Any) -> None:
    def count() -> int:
        found = client.get_inference_statistics("pair")
        if isinstance(found, dict):
            return int(found["model_stats"][0]["inference_stats"]["success"]["count"])
        return int(found.model_stats[0].inference_stats.success.count)

    before = count()
    for _ in range(3):
        client.infer("pair", pair(module))
    eventually(lambda: count() == before + 3)  # Triton counts behind the answer


def test_statistics_tell_when_and_in_which_batches_requests_ran(module: Any, client: Any) -> None:
    def found() -> dict[str, Any]:
        form = {"as_json": True} if module is grpcclient else {}
        return client.get_inference_statistics("pair", **form)["model_stats"][0]

    def answered() -> int:
        return int(found()["inference_stats"]["success"].get("count", 0))

    alone = pair(module, [[1, 2]], [[3, 4]])
    before = answered()
    for _ in range(3):
        client.infer("pair", alone)
    eventually(lambda: answered() == before + 3)
    one = found()
    last = int(one["last_inference"])
    assert last > 1_577_836_800_000, "milliseconds since 1970, of a year after 2019"
    batches, times = one["batch_stats"], one["inference_stats"]
    assert 1 in [int(batch["batch_size"]) for batch in batches]
    assert sum(int(batch["compute_infer"]["count"]) for batch in batches) == int(one["execution_count"]) >= 3
    for name in ("compute_input", "compute_infer", "compute_output"):
        assert sum(int(batch[name].get("ns", 0)) for batch in batches) == int(times[name].get("ns", 0))
        assert int(times[name]["count"]) == int(times["success"]["count"])
    assert found() == one
    client.infer("pair", alone)
    eventually(lambda: answered() == before + 4)
    assert int(found()["last_inference"]) >= last


def test_statistics_count_the_rows_of_batches(module: Any, client: Any) -> None:
    def found() -> tuple[int, int, int]:
        form = {"as_json": True} if module is grpcclient else {}
        one = client.get_inference_statistics("batched", **form)["model_stats"][0]
        return (int(one.get("inference_count", 0)), int(one.get("execution_count", 0)),
                int(one["inference_stats"]["success"].get("count", 0)))

    before = found()
    client.infer("batched", pair(module, [[1, 2]] * 3, [[3, 4]] * 3))
    client.infer("batched", pair(module, [[1, 2]] * 5, [[3, 4]] * 5))
    eventually(lambda: [now - then for now, then in zip(found(), before, strict=True)] == [8, 2, 2])


def test_models_are_listed_unloaded_and_loaded(module: Any, client: Any) -> None:
    def listed() -> set[str]:
        found = client.get_model_repository_index()
        if isinstance(found, list):
            return {entry["name"] for entry in found}
        return {entry.name for entry in found.models}

    assert {"spare", echo("FP32")} <= listed()
    client.unload_model("spare")
    eventually(lambda: not client.is_model_ready("spare"))
    with pytest.raises(InferenceServerException):
        client.infer("spare", pair(module))
    client.load_model("spare")
    eventually(lambda: client.is_model_ready("spare"))
    client.infer("spare", pair(module))


# ---- tensors


@pytest.mark.parametrize("datatype", DATATYPES)
def test_every_datatype_comes_back(module: Any, client: Any, datatype: str) -> None:
    value = values(datatype)
    result = client.infer(echo(datatype), [tensor(module, "x", value, datatype)])
    np.testing.assert_array_equal(result.as_numpy("y"), value)


@pytest.mark.parametrize("datatype", [name for name in DATATYPES if name not in BINARY_ONLY])
def test_every_datatype_of_json_comes_back(server: Server, datatype: str) -> None:
    value = values(datatype)
    with httpclient.InferenceServerClient(server.http) as client:
        given = tensor(httpclient, "x", value, datatype, binary_data=False)
        wanted = [httpclient.InferRequestedOutput("y", binary_data=False)]
        found = client.infer(echo(datatype), [given], outputs=wanted).as_numpy("y")
    texts = [text.encode() if isinstance(text, str) else text for text in found.ravel()]
    np.testing.assert_array_equal(np.array(texts, value.dtype).reshape(found.shape), value)


def test_elements_may_come_one_by_one(server: Server) -> None:
    from tritonclient.grpc import service_pb2

    with grpcclient.InferenceServerClient(server.grpc) as client:
        request = service_pb2.ModelInferRequest(model_name=echo("INT64"))
        given = request.inputs.add(name="x", datatype="INT64", shape=[1, 2])
        given.contents.int64_contents.extend([7, -2**62])
        answer = client._client_stub.ModelInfer(request)  # the client has no call for it
        found = (np.frombuffer(answer.raw_output_contents[0], np.int64) if answer.raw_output_contents
                 else answer.outputs[0].contents.int64_contents)
        assert list(found) == [7, -2**62]


def test_strings_hold_any_bytes(module: Any, client: Any) -> None:
    value = np.array([[b"\x00\xff", bytes(range(256))]], np.object_)
    found = client.infer(echo("BYTES"), [tensor(module, "x", value, "BYTES")]).as_numpy("y")
    assert list(found.ravel()) == list(value.ravel())


@pytest.mark.parametrize("rows", [0, 1, 1_000_000])
def test_tensors_have_any_number_of_rows(module: Any, client: Any, rows: int) -> None:
    value = np.arange(2 * rows, dtype=np.float32).reshape(rows, 2)
    found = client.infer(echo("FP32"), [tensor(module, "x", value, "FP32")]).as_numpy("y")
    np.testing.assert_array_equal(found, value)
    assert found.shape == (rows, 2)


def test_chosen_outputs_come_in_their_order(module: Any, client: Any) -> None:
    wanted = [module.InferRequestedOutput(name) for name in ("difference", "sum")]
    response = client.infer("pair", pair(module), outputs=wanted).get_response()
    outputs = response["outputs"] if isinstance(response, dict) else response.outputs
    assert [one["name"] if isinstance(one, dict) else one.name for one in outputs] == ["difference", "sum"]
    one = client.infer("pair", pair(module), outputs=wanted[:1])
    assert one.as_numpy("sum") is None
    np.testing.assert_array_equal(one.as_numpy("difference"), [[-9, -18], [-27, -36]])


def test_requests_have_ids_and_parameters(module: Any, client: Any) -> None:
    result = client.infer("pair", pair(module), request_id="seven", priority=1, timeout=60_000_000)
    response = result.get_response()
    assert (response["id"] if isinstance(response, dict) else response.id) == "seven"


def test_classes_are_the_largest_values(module: Any, client: Any) -> None:
    wanted = [module.InferRequestedOutput("sum", class_count=1)]
    classes = client.infer("pair", pair(module), outputs=wanted).as_numpy("sum")
    found = [text.decode().split(":") for text in classes.ravel()]
    assert [(float(value), int(index)) for value, index in found] == [(22, 1), (44, 1)]


# ---- ways to ask


def test_many_requests_are_in_flight(module: Any, client: Any, server: Server) -> None:
    if module is grpcclient:
        answers: queue.Queue[tuple[Any, Any]] = queue.Queue()
        for number in range(40):
            client.async_infer("pair", pair(module), lambda result, error: answers.put((result, error)),
                               request_id=str(number))
        got = [answers.get(timeout=PATIENCE) for _ in range(40)]
        assert {result.get_response().id for result, error in got if error is None} == set(map(str, range(40)))
        return
    with module.InferenceServerClient(server.http, concurrency=8) as several:
        waiting = [several.async_infer("pair", pair(module), request_id=str(number)) for number in range(40)]
        assert [one.get_result().get_response()["id"] for one in waiting] == list(map(str, range(40)))


@pytest.mark.parametrize("aio", [grpc_aio, http_aio], ids=["grpc", "http"])
def test_clients_of_asyncio_are_answered(server: Server, aio: Any) -> None:
    async def ask() -> list[np.ndarray]:
        async with aio.InferenceServerClient(address(server, aio)) as client:
            assert await client.is_server_ready()
            assert (await client.get_model_metadata("pair")) is not None
            results = await asyncio.gather(*(client.infer("pair", pair(aio)) for _ in range(10)))
            value = np.zeros((1000, 2), np.float32)  # over what a reply gets a coding from
            results.append(await client.infer("pair", [tensor(aio, name, value, "FP32") for name in "ab"]))
            return [result.as_numpy("sum") for result in results]

    *small, large = asyncio.run(ask())
    for found in small:
        np.testing.assert_array_equal(found, [[11, 22], [33, 44]])
    assert large.shape == (1000, 2)


def test_streams_answer_every_request_and_outlive_errors(server: Server) -> None:
    answers: queue.Queue[tuple[Any, Any]] = queue.Queue()
    with grpcclient.InferenceServerClient(server.grpc) as client:
        client.start_stream(lambda result, error: answers.put((result, error)))
        for name in ("pair", "absent", "pair"):
            client.async_stream_infer(name, pair(grpcclient))
        got = [answers.get(timeout=PATIENCE) for _ in range(3)]
        client.stop_stream()
    assert [error is None for _, error in got].count(True) == 2
    for result, error in got:
        if error is None:
            np.testing.assert_array_equal(result.as_numpy("sum"), [[11, 22], [33, 44]])


@pytest.mark.parametrize("way_in", ["gzip", "deflate", None])
@pytest.mark.parametrize("way_out", ["gzip", "deflate", None])
def test_bodies_may_be_compressed(server: Server, way_in: str | None, way_out: str | None) -> None:
    value = np.zeros((5000, 2), np.float32)
    value[7] = 3
    with httpclient.InferenceServerClient(server.http) as client:
        for binary in (True, False):
            inputs = [tensor(httpclient, name, value, "FP32", binary_data=binary) for name in "ab"]
            result = client.infer("pair", inputs, request_compression_algorithm=way_in,
                                  response_compression_algorithm=way_out)
            np.testing.assert_array_equal(result.as_numpy("sum"), 2 * value)


@pytest.mark.parametrize("way", ["gzip", "deflate"])
def test_large_bodies_may_be_compressed(server: Server, way: str) -> None:
    value = np.zeros((2_000_000, 2), np.float32)  # so large that threads of their own take the coding off and on
    value[7] = 3
    with httpclient.InferenceServerClient(server.http) as client:
        inputs = [tensor(httpclient, name, value, "FP32") for name in "ab"]
        result = client.infer("pair", inputs, request_compression_algorithm=way, response_compression_algorithm=way)
        np.testing.assert_array_equal(result.as_numpy("sum"), 2 * value)


@pytest.mark.parametrize("algorithm", ["gzip", "deflate"])
def test_messages_may_be_compressed(server: Server, algorithm: str) -> None:
    value = np.ones((5000, 2), np.float32)
    with grpcclient.InferenceServerClient(server.grpc) as client:
        inputs = [tensor(grpcclient, name, value, "FP32") for name in "ab"]
        result = client.infer("pair", inputs, compression_algorithm=algorithm)
    np.testing.assert_array_equal(result.as_numpy("sum"), 2 * value)


def test_tensors_may_lie_in_shared_memory(module: Any, client: Any) -> None:
    value, size = np.array([[1, 2]], np.float32), 8
    memory = regions.create_shared_memory_region("all", f"/sluice-behaviour-{os.getpid()}", 4 * size)
    try:
        regions.set_shared_memory_region(memory, [value, 10 * value])
        client.register_system_shared_memory("all", f"/sluice-behaviour-{os.getpid()}", 4 * size)
        inputs = [module.InferInput(name, [1, 2], "FP32") for name in "ab"]
        outputs = [module.InferRequestedOutput(name) for name in ("sum", "difference")]
        for number, one in enumerate(inputs + outputs):
            one.set_shared_memory("all", size, offset=number * size)
        client.infer("pair", inputs, outputs=outputs)
        found = regions.get_contents_as_numpy(memory, np.float32, [2, 2], 2 * size)
        np.testing.assert_array_equal(found, [[11, 22], [-9, -18]])
    finally:
        client.unregister_system_shared_memory()
        regions.destroy_shared_memory_region(memory)


@pytest.mark.parametrize("algorithm", [1, 2], ids=["deflate", "gzip"])
def test_a_channel_may_compress_all_its_calls(server: Server, algorithm: int) -> None:
    compressing = [("grpc.default_compression_algorithm", algorithm)]
    long_name = "a" * 5000  # worth a compression
    with grpcclient.InferenceServerClient(server.grpc, channel_args=compressing) as client:
        assert client.is_server_live() and client.is_model_ready("pair") and not client.is_model_ready(long_name)
        for call in (client.get_model_metadata, client.get_model_config, client.get_inference_statistics,
                     client.load_model):
            with pytest.raises(InferenceServerException) as error:
                call(long_name)
            assert error.value.status() != "StatusCode.UNIMPLEMENTED", error.value.message()
        value = np.ones((5000, 2), np.float32)
        inputs = [tensor(grpcclient, name, value, "FP32") for name in "ab"]
        np.testing.assert_array_equal(client.infer("pair", inputs).as_numpy("sum"), 2 * value)
        answers: queue.Queue[tuple[Any, Any]] = queue.Queue()
        client.start_stream(lambda result, error: answers.put((result, error)))
        client.async_stream_infer("pair", inputs)
        result, error = answers.get(timeout=PATIENCE)
        client.stop_stream()
        assert error is None
        np.testing.assert_array_equal(result.as_numpy("sum"), 2 * value)


# ---- what cannot be


@pytest.mark.parametrize("wrong", ["model", "version", "missing input", "unknown input", "input twice", "shape",
                                   "datatype", "output"])
def test_wrong_requests_are_the_clients_fault(module: Any, client: Any, wrong: str) -> None:
    name, version, outputs = "pair", "", None
    inputs = pair(module)
    x, doubles = np.zeros((1, 2), np.float32), np.zeros((1, 2))
    if wrong == "model":
        name = "absent"
    elif wrong == "version":
        version = "77"
    elif wrong == "missing input":
        inputs.pop()
    elif wrong == "unknown input":
        inputs.append(tensor(module, "z", x, "FP32"))
    elif wrong == "input twice":
        inputs.append(tensor(module, "a", x, "FP32"))
    elif wrong == "shape":
        inputs[0] = tensor(module, "a", np.zeros((1, 3), np.float32), "FP32")
    elif wrong == "datatype":
        inputs[0] = tensor(module, "a", doubles, "FP64")
    else:
        outputs = [module.InferRequestedOutput("z")]
    with pytest.raises(InferenceServerException) as error:
        client.infer(name, inputs, model_version=version, outputs=outputs)
    is_absent = wrong in ("model", "version")
    right = (("StatusCode.NOT_FOUND",) if is_absent else ("StatusCode.INVALID_ARGUMENT",)) if module is grpcclient \
        else (("404",) if is_absent else ("400",))
    assert error.value.status() in right, error.value.message()
