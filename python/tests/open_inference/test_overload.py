"""More requests over HTTP than a model takes: each gets one answer, its own, or is refused at once."""

from __future__ import annotations

import http.client
import json
import pathlib
import threading
from typing import Any

import numpy as np
import pytest
from conftest import make_model
from onnx import TensorProto, helper

pytest.importorskip("tritonclient.grpc")

from repositories import serving  # noqa: E402

WAITING = 14  #: in the line of the model, behind the two that run
CLIENTS = 3 * (2 + WAITING)
REQUESTS = 20  #: of each client


def slow_model() -> Any:
    """y[N, 1] = c x[N, 1], by products with a matrix: long enough for the others to come meanwhile."""
    size = 2048
    matrix = np.random.default_rng(7).uniform(0, 2 / size, (size, size)).astype(np.float32)
    nodes = [helper.make_node("Mul", ["x", "ones"], ["p0"]),
             *(helper.make_node("MatMul", [f"p{i}", "matrix"], [f"p{i + 1}"]) for i in range(4)),
             helper.make_node("ReduceMax", ["p4", "axes"], ["y"], keepdims=1)]
    return make_model(nodes, [("x", TensorProto.FLOAT, ["N", 1])], [("y", TensorProto.FLOAT, ["N", 1])],
                      {"ones": np.ones((1, size), np.float32), "matrix": matrix,
                       "axes": np.array([1], np.int64)})


class Client(threading.Thread):
    """Sends one request after the other on a connection that stays; each has an id and a number of its own."""

    def __init__(self, address: str, number: int) -> None:
        super().__init__()
        self.number = number
        self.answers: dict[str, float] = {}
        self.num_refused = 0
        self.problems: list[str] = []
        self._address = address

    def run(self) -> None:
        connection = http.client.HTTPConnection(self._address)
        try:
            for count in range(REQUESTS):
                self._ask(connection, f"{self.number}-{count}", 1 + self.number * REQUESTS + count)
        except Exception as error:  # noqa: BLE001 - a connection that breaks is one
            self.problems.append(repr(error))
        finally:
            connection.close()

    def _ask(self, connection: http.client.HTTPConnection, name: str, value: float) -> None:
        connection.request("POST", "/v2/models/slow/infer", json.dumps(
            {"id": name, "inputs": [{"name": "x", "shape": [1, 1], "datatype": "FP32", "data": [value]}]}))
        answer = connection.getresponse()
        body = json.loads(answer.read())
        if answer.status == 200:
            if body["id"] != name:
                self.problems.append(f"{name} got the answer of {body['id']}")
            self.answers[name] = body["outputs"][0]["data"][0] / value
        elif answer.status == 503 and "wait" in body["error"]:
            self.num_refused += 1
        else:
            self.problems.append(f"{answer.status}: {body}")


def statistics(address: str) -> tuple[int, int]:
    """Requests that were answered, and refused."""
    connection = http.client.HTTPConnection(address)
    connection.request("GET", "/v2/models/slow/stats")
    stats = json.loads(connection.getresponse().read())["model_stats"][0]["inference_stats"]
    connection.close()
    return stats["success"]["count"], stats["fail"]["count"]


def test_each_request_of_a_threefold_overload_has_one_answer(tmp_path: pathlib.Path) -> None:
    with serving(tmp_path) as (daemon, repository, client):
        repository.put("slow/1/model.onnx", slow_model())
        repository.put("slow/config.pbtxt", f"""max_batch_size: 2
            dynamic_batching {{ default_queue_policy {{ max_queue_size: {WAITING} }} }}""")
        client.load_model("slow")
        before = statistics(daemon.http)
        clients = [Client(daemon.http, number) for number in range(CLIENTS)]
        for one in clients:
            one.start()
        for one in clients:
            one.join()
        assert [problem for one in clients for problem in one.problems] == []
        answered, refused = (now - then for now, then in zip(statistics(daemon.http), before, strict=True))
        assert answered == sum(len(one.answers) for one in clients)
        assert refused == sum(one.num_refused for one in clients)
        assert answered + refused == CLIENTS * REQUESTS
        assert answered > 0 and refused > 0, "it was no overload"
        factors = [factor for one in clients for factor in one.answers.values()]
        np.testing.assert_allclose(factors, factors[0], rtol=1e-4)
