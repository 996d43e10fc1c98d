"""Daemons behind HAProxy that answer late, or have another version of a model than the others."""

from __future__ import annotations

import collections
import itertools
import pathlib
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import sluice
from balancer import CLIENTS, Balancer, grpcclient, haproxy
from conftest import PATIENCE, eventually, make_model
from onnx import TensorProto, helper

DEADLINE_S = 5
NUMBERS = itertools.count(1)  #: the inputs of requests, each once: an answer shows its request


@pytest.fixture
def balancer(tmp_path: pathlib.Path) -> Iterator[Balancer]:
    haproxy()
    made = Balancer(tmp_path)
    try:
        yield made
    finally:
        made.close()


def ask(client: Any) -> str:
    """"2" for twice the input, "DEADLINE_EXCEEDED" for none in time."""
    number = float(next(NUMBERS))
    x = grpcclient.InferInput("x", [1], "FP32")
    x.set_data_from_numpy(np.array([number], np.float32))
    try:
        [answer] = client.infer("m", [x], client_timeout=DEADLINE_S).as_numpy("y")
    except grpcclient.InferenceServerException as error:
        return str(error.status()).removeprefix("StatusCode.")
    return f"{answer / number:g}"


def test_late_daemon_holds_no_request_beyond_its_deadline(balancer: Balancer) -> None:
    """A stopped daemon keeps its requests, and answers them when it goes on, after their deadlines."""
    balancer.start()
    found: collections.Counter[str] = collections.Counter()
    is_over = threading.Event()

    def send() -> None:
        with grpcclient.InferenceServerClient(balancer.grpc) as client:
            while not is_over.is_set():
                found[ask(client)] += 1

    threads = [threading.Thread(target=send) for _ in range(CLIENTS)]
    for thread in threads:
        thread.start()
    try:
        eventually(lambda: min(balancer.totals("grpc_stateless")) > 0)
        balancer.nodes[1].suspend()
        eventually(lambda: balancer.states("grpc_stateless")[1].startswith("DOWN"))
        # Others have the requests: each client holds one that the stopped daemon took, until its deadline.
        before = found["2"]
        eventually(lambda: found["2"] > before + 20 * CLIENTS)
        balancer.nodes[1].resume()
        eventually(lambda: balancer.states("grpc_stateless") == ["UP"] * 3, PATIENCE)
    finally:
        is_over.set()
        for thread in threads:
            thread.join()
    assert set(found) <= {"2", "DEADLINE_EXCEEDED"}, found


def test_half_a_rollout_gives_each_request_an_answer_of_one_version(balancer: Balancer) -> None:
    """One daemon has the next version of the model, which computes something else, and one has no model at all."""
    tripled = make_model([helper.make_node("Add", ["x", "x"], ["two"]), helper.make_node("Add", ["two", "x"], ["y"])],
                         [("x", TensorProto.FLOAT, ["N"])], [("y", TensorProto.FLOAT, ["N"])])
    (balancer.folder / "next").mkdir()
    balancer.packages[1] = balancer.folder / "next" / "m.sluice"
    sluice.compile(tripled).save(balancer.packages[1])
    balancer.packages[2] = balancer.folder / "next" / "other.sluice"
    sluice.compile(tripled).save(balancer.packages[2])
    balancer.start()
    with grpcclient.InferenceServerClient(balancer.grpc) as client:
        found = collections.Counter(ask(client) for _ in range(60))
    assert set(found) == {"2", "3", "NOT_FOUND"}, found
    row = [balancer.rows("grpc_stateless")[i] for i in range(3)]
    assert sum(int(one["stot"]) for one in row) == 60, "each request went to one daemon"
