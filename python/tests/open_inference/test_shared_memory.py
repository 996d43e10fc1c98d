"""System shared memory of the Open Inference Protocol, as Triton's client and curl use it."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

import daemon as daemons
import numpy as np
import pytest
import sluice
from conftest import DIGITS

grpcclient = pytest.importorskip("tritonclient.grpc")
httpclient = pytest.importorskip("tritonclient.http")
InferenceServerException = pytest.importorskip("tritonclient.utils").InferenceServerException
regions = pytest.importorskip("tritonclient.utils.shared_memory")

SHAPE = (1, 1, 8, 8)
IN_BYTES, OUT_BYTES = 8 * 8 * 4, 10 * 4
KEY = f"/sluice-test-{os.getpid()}"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[daemons.Daemon]:
    folder = tmp_path_factory.mktemp("served")
    sluice.compile(DIGITS).save(folder / "digits.sluice")
    with daemons.running(folder, "--http", "localhost:0", "--loopback-user", str(os.geteuid())) as running:
        with httpclient.InferenceServerClient(running.http) as client:
            client.load_model("digits")
        yield running


@pytest.fixture(params=[grpcclient, httpclient], ids=["grpc", "http"])
def module(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
def client(module: Any, served: daemons.Daemon) -> Iterator[Any]:
    address = served.address if module is grpcclient else served.http
    with module.InferenceServerClient(address) as made:
        yield made
        made.unregister_system_shared_memory()


def test_cuda_shared_memory_is_empty_and_refused_by_name(client: Any) -> None:
    """As by a server without a GPU. Triton's examples unregister all regions before they do anything else."""
    client.unregister_cuda_shared_memory()
    client.unregister_cuda_shared_memory("frames")
    status = client.get_cuda_shared_memory_status()
    assert len(getattr(status, "regions", status)) == 0
    with pytest.raises(InferenceServerException, match='no region "frames" is registered'):
        client.get_cuda_shared_memory_status("frames")
    with pytest.raises(InferenceServerException, match='region "frames": CUDA shared memory is not served') as error:
        client.register_cuda_shared_memory("frames", b"aGFuZGxl", 0, 64)
    assert error.value.status() in ("501", "StatusCode.UNIMPLEMENTED")


@contextlib.contextmanager
def shared(size: int) -> Iterator[pathlib.Path]:
    """Memory of this user under KEY."""
    path = pathlib.Path("/dev/shm") / KEY[1:]
    path.write_bytes(bytes(size))
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def digit() -> np.ndarray:
    return np.random.default_rng(1).random(SHAPE, dtype=np.float32)


def plain_answer(module: Any, client: Any) -> Any:
    image = module.InferInput("image", list(SHAPE), "FP32")
    image.set_data_from_numpy(digit())
    return client.infer("digits", [image]).as_numpy("probabilities")


def placed(module: Any, region: str = "all", offset: int = 0, size: int = IN_BYTES, to: int = IN_BYTES,
           room: int = OUT_BYTES) -> tuple[list[Any], list[Any]]:
    """An input and an output in a region."""
    image = module.InferInput("image", list(SHAPE), "FP32")
    image.set_shared_memory(region, size, offset=offset)
    output = module.InferRequestedOutput("probabilities")
    output.set_shared_memory(region, room, offset=to)
    return [image], [output]


def refused(call: Callable[..., Any], *arguments: Any, **named: Any) -> str:
    with pytest.raises(InferenceServerException) as error:
        call(*arguments, **named)
    return str(error.value)


def listed(client: Any, name: str = "") -> list[dict[str, Any]]:
    """What both doors say in one form."""
    options = {"as_json": True} if isinstance(client, grpcclient.InferenceServerClient) else {}
    found = client.get_system_shared_memory_status(name, **options)
    rows = found.get("regions", {}).values() if isinstance(found, dict) else found
    return [{key: str(row.get(key, 0)) for key in ("name", "key", "offset", "byte_size")} for row in rows]


def test_tensors_lie_in_regions_both_ways(module: Any, client: Any) -> None:
    expected = plain_answer(module, client)
    size = IN_BYTES + OUT_BYTES
    memory = regions.create_shared_memory_region("all", KEY, size)
    try:
        regions.set_shared_memory_region(memory, [digit()])
        client.register_system_shared_memory("all", KEY, size)
        inputs, outputs = placed(module)
        answer = client.infer("digits", inputs, outputs=outputs)
        found = regions.get_contents_as_numpy(memory, np.float32, expected.shape, IN_BYTES)
        np.testing.assert_array_equal(found, expected)
        assert "shared_memory_region" in str(answer.get_output("probabilities"))
    finally:
        regions.destroy_shared_memory_region(memory)


def test_offsets_add_to_that_of_the_region(module: Any, client: Any) -> None:
    with shared(4096) as path:
        expected = plain_answer(module, client)
        path.write_bytes(bytes(103) + digit().tobytes() + bytes(2000))
        client.register_system_shared_memory("all", KEY, 2000, offset=100)
        inputs, outputs = placed(module, offset=3, to=1001)
        client.infer("digits", inputs, outputs=outputs)
        found = np.frombuffer(path.read_bytes()[1101:1101 + OUT_BYTES], np.float32)
        np.testing.assert_array_equal(found, expected.ravel())


def test_one_tensor_may_lie_in_a_region_and_the_other_in_the_message(module: Any, client: Any) -> None:
    with shared(4096) as path:
        expected = plain_answer(module, client)
        path.write_bytes(digit().tobytes())
        client.register_system_shared_memory("all", KEY, IN_BYTES)
        inputs, _ = placed(module)
        found = client.infer("digits", inputs).as_numpy("probabilities")
        np.testing.assert_array_equal(found, expected)


def test_regions_are_listed_and_forgotten(client: Any) -> None:
    with shared(8192):
        client.register_system_shared_memory("a", KEY, 4096)
        client.register_system_shared_memory("b", KEY[1:], 100, offset=4000)  # as some clients write it
        assert {"name": "b", "key": KEY[1:], "offset": "4000", "byte_size": "100"} in listed(client)
        assert [row["name"] for row in listed(client, "a")] == ["a"]
        assert "registered already" in refused(client.register_system_shared_memory, "a", KEY, 4096)
        client.unregister_system_shared_memory("a")
        assert "no region" in refused(listed, client, "a")
        client.unregister_system_shared_memory()
        assert listed(client) == []


@pytest.mark.parametrize("key", ["/../etc/passwd", "/a/b", "..", "/", "", "/none"])
def test_keys_that_are_no_shared_memory_are_refused(client: Any, key: str) -> None:
    refused(client.register_system_shared_memory, "a", key, 4)


@pytest.mark.parametrize(("offset", "size"), [(0, 4097), (4096, 1), (4000, 97), (0, 0), (2**63, 4096), (2**64 - 1, 2)])
def test_parts_outside_of_the_memory_are_refused(client: Any, offset: int, size: int) -> None:
    with shared(4096):
        refused(client.register_system_shared_memory, "a", KEY, size, offset=offset)
        assert listed(client) == []


@pytest.mark.parametrize("wrong", [
    {"region": "none"}, {"offset": 1001 - IN_BYTES}, {"offset": -4}, {"offset": 2**63 - 1}, {"size": IN_BYTES - 4},
    {"size": IN_BYTES + 4}, {"to": 1001 - OUT_BYTES}, {"room": OUT_BYTES - 1}, {"to": -1}])
def test_places_outside_of_the_region_are_refused(module: Any, client: Any, wrong: dict[str, Any]) -> None:
    with shared(4096):
        client.register_system_shared_memory("all", KEY, 1000)
        inputs, outputs = placed(module, **wrong)
        refused(client.infer, "digits", inputs, outputs=outputs)
        inputs, outputs = placed(module, to=1000 - OUT_BYTES)
        client.infer("digits", inputs, outputs=outputs)


def test_regions_that_shrink_do_no_harm(module: Any, client: Any) -> None:
    with shared(1 << 16) as path:
        client.register_system_shared_memory("all", KEY, 1 << 16)
        inputs, outputs = placed(module, offset=4096, to=8192)
        os.truncate(path, 4096 + IN_BYTES)
        assert "do not shrink it" in refused(client.infer, "digits", inputs, outputs=outputs)  # the output
        os.truncate(path, 10)
        assert "do not shrink it" in refused(client.infer, "digits", inputs, outputs=outputs)
        assert path.stat().st_size == 10
    plain_answer(module, client)


def test_clients_over_tcp_need_the_operators_word(tmp_path: pathlib.Path) -> None:
    with daemons.running(tmp_path, "--http", "localhost:0") as running, shared(4096):
        with httpclient.InferenceServerClient(running.http) as over_tcp:
            assert "loopback_user" in refused(over_tcp.register_system_shared_memory, "a", KEY, 4096)
        with grpcclient.InferenceServerClient(running.address) as local:  # a Unix socket says who it is
            local.register_system_shared_memory("a", KEY, 4096)


@pytest.mark.parametrize("body", [
    "", "[]", "{}", '{"key": 1}', '{"key": "/a", "byte_size": -1}', '{"key": "/a", "byte_size": 1.5}',
    '{"key": "/a", "offset": "0", "byte_size": 1}', '{"key": "/a", "byte_size": 1e300}', '{"key": "/a", "offset": -1.0}',
    "[" * 3000])
def test_bodies_that_are_no_registration_are_refused(served: daemons.Daemon, body: str) -> None:
    connection = http.client.HTTPConnection(served.http)
    connection.request("POST", "/v2/systemsharedmemory/region/a/register", body)
    answer = connection.getresponse()
    assert answer.status == 400
    assert "error" in json.loads(answer.read())
