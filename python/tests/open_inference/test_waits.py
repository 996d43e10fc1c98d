"""Answers that say what their requests waited for (`sluice_wait`)."""

from __future__ import annotations

import pathlib
import queue
from typing import Any

import numpy as np
import pytest
import sluice
from conftest import PATIENCE

grpcclient = pytest.importorskip("tritonclient.grpc")
httpclient = pytest.importorskip("tritonclient.http")
from tritonclient.utils import InferenceServerException  # noqa: E402

from repositories import Package, package, serving  # noqa: E402, F401

WAIT = {"sluice_wait": True}


def parameters(result: Any) -> dict[str, Any]:
    response = result.get_response()
    if isinstance(response, dict):
        return response.get("parameters", {})
    return {name: getattr(value, value.WhichOneof("parameter_choice")) for name, value in response.parameters.items()}


def given(module: Any) -> list[Any]:
    made = module.InferInput("x", [1, 2], "FP32")
    made.set_data_from_numpy(np.array([[1, 2]], np.float32))
    return [made]


@pytest.mark.parametrize("module", [grpcclient, httpclient], ids=["grpc", "http"])
def test_answers_say_where_the_time_went(tmp_path: pathlib.Path, package: Package, module: Any) -> None:  # noqa: F811
    with serving(tmp_path) as (daemon, repository, loader):
        repository.put("m/1/model.sluice", package(2))
        repository.put("m/config.pbtxt", "response_cache { enable: true }")
        loader.load_model("m")
        with module.InferenceServerClient(daemon.address if module is grpcclient else daemon.http) as client:
            computed = parameters(client.infer("m", given(module), parameters=WAIT))
            assert computed["sluice_waited_for"] == "cores" and int(computed["sluice_ahead"]) == 0
            assert all(int(computed[f"sluice_{name}_ns"]) > 0 for name in ("queue", "compute"))
            kept = parameters(client.infer("m", given(module), parameters=WAIT))
            assert kept["sluice_waited_for"] == "nothing" and int(kept["sluice_queue_ns"]) == 0
            assert not any(name.startswith("sluice") for name in parameters(client.infer("m", given(module))))
            with pytest.raises(InferenceServerException, match="sluice_wait|wrong kind"):
                client.infer("m", given(module), parameters={"sluice_wait": "yes"})


def test_requests_behind_another_one_say_so(tmp_path: pathlib.Path, slow: sluice.Model) -> None:
    def ask(name: str, steps: int) -> None:
        inputs = [grpcclient.InferInput("n", [], "INT64"), grpcclient.InferInput("x", [64], "FP32")]
        inputs[0].set_data_from_numpy(np.array(steps, np.int64))
        inputs[1].set_data_from_numpy(np.zeros(64, np.float32))
        client.async_stream_infer("slow", inputs, request_id=name, parameters=WAIT)

    with serving(tmp_path) as (_, repository, client):
        slow.save(repository.folder / "slow.sluice")
        client.load_model("slow")
        answers: queue.Queue[tuple[Any, Any]] = queue.Queue()
        client.start_stream(lambda result, error: answers.put((result, error)))
        for name in ("first", "second"):  # these have the model's two slots when the third comes
            ask(name, 300_000)
        ask("third", 1)
        got = [answers.get(timeout=PATIENCE) for _ in range(3)]
        client.stop_stream()
        assert [error for _, error in got] == [None] * 3
        waits = {result.get_response().id: parameters(result) for result, _ in got}
        assert {waits[name]["sluice_waited_for"] for name in ("first", "second")} == {"cores"}
        assert (waits["third"]["sluice_waited_for"], waits["third"]["sluice_ahead"]) == ("requests", 2)
        assert waits["third"]["sluice_queue_ns"] > waits["third"]["sluice_compute_ns"]
