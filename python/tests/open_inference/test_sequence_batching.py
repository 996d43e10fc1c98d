"""Models that keep sequences for Triton's clients: controls, states, the ends of sequences."""

from __future__ import annotations

import contextlib
import json
import pathlib
import queue
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from conftest import make_model
from onnx import TensorProto, helper

grpcclient = pytest.importorskip("tritonclient.grpc")
httpclient = pytest.importorskip("tritonclient.http")
from tritonclient.utils import InferenceServerException  # noqa: E402

from repositories import Repository, serving  # noqa: E402

NO_START = r"inference request for sequence {} to model 'sum' must specify the START flag on the first request"


def model(rows: bool) -> Any:
    """total' = total + x; y = total', flags = (START, END, READY), ids = ID."""
    shape = ["N", 1] if rows else [1]
    floats = lambda *names: [(name, TensorProto.FLOAT, shape) for name in names]  # noqa: E731
    nodes = [helper.make_node("Add", ["total", "x"], ["new"]), helper.make_node("Identity", ["new"], ["y"]),
             helper.make_node("Concat", ["START", "END", "READY"], ["flags"], axis=-1),
             helper.make_node("Identity", ["ID"], ["ids"])]
    flags = ("flags", TensorProto.FLOAT, ["N", 3] if rows else [3])
    return make_model(nodes, [*floats("x", "START", "END", "READY", "total"), ("ID", TensorProto.INT64, shape)],
                      [*floats("y", "new"), flags, ("ids", TensorProto.INT64, shape)], {})


def config(rows: bool = False, strategy: str = "direct { }", idle_us: int = 3_600_000_000, initial: str = "") -> str:
    def control(name: str, what: str) -> str:
        return f'control_input {{ name: "{name}" control {{ kind: CONTROL_SEQUENCE_{what} }} }}'

    flags = "\n".join(control(name, f"{name} fp32_false_true: [ 0, 1 ]") for name in ("START", "END", "READY"))
    return f"""
max_batch_size: {8 if rows else 0}
input {{ name: "x" data_type: TYPE_FP32 dims: [ 1 ] }}
sequence_batching {{
{strategy}
max_sequence_idle_microseconds: {idle_us}
{flags}
{control("ID", "CORRID data_type: TYPE_INT64")}
state {{ input_name: "total" output_name: "new" data_type: TYPE_FP32 dims: [ 1 ] {initial} }}
}}"""


def put(repository: Repository, text: str, rows: bool = False) -> None:
    repository.put("sum/config.pbtxt", text)
    repository.put("sum/1/model.onnx", model(rows))


def tensor(module: Any, x: float, rows: bool = False) -> Any:
    made = module.InferInput("x", [1, 1] if rows else [1], "FP32")
    made.set_data_from_numpy(np.full([1, 1] if rows else [1], x, np.float32))
    return made


def ask(client: Any, sequence: int | str, x: float, module: Any = grpcclient, rows: bool = False,
        **flags: bool) -> float:
    marks = {f"sequence_{name}": value for name, value in flags.items()}
    result = client.infer("sum", [tensor(module, x, rows)], sequence_id=sequence, **marks)
    return float(result.as_numpy("y").ravel()[0])


@contextlib.contextmanager
def over_both_doors(folder: pathlib.Path) -> Iterator[tuple[Any, Any]]:
    """Clients over gRPC and HTTP that are one account: both come over TCP."""
    with serving(folder, "-g", "localhost:0") as (daemon, _, _):
        address = next(one for one in daemon.addresses if not one.startswith("unix:"))
        with grpcclient.InferenceServerClient(address) as client, httpclient.InferenceServerClient(daemon.http) as other:
            yield client, other


@pytest.mark.parametrize(("rows", "strategy"), [(False, "direct { }"), (True, "direct { }"),
                                                (True, "oldest { max_candidate_sequences: 4 }")])
def test_sequences_keep_their_states_over_every_door(tmp_path: pathlib.Path, rows: bool, strategy: str) -> None:
    put(Repository(tmp_path / "models"), config(rows, strategy), rows)
    with over_both_doors(tmp_path) as (client, other):
        assert ask(client, 7, 1, rows=rows, start=True) == 1
        assert ask(other, 8, 10, httpclient, rows, start=True) == 10
        assert ask(other, 7, 2, httpclient, rows) == 3
        assert ask(client, 8, 20, rows=rows) == 30
        assert ask(client, 7, 3, rows=rows, end=True) == 6
        for sender, module in ((client, grpcclient), (other, httpclient)):
            with pytest.raises(InferenceServerException, match=NO_START.format(7)) as error:
                ask(sender, 7, 1, module, rows)
            assert error.value.status() in ("400", "StatusCode.INVALID_ARGUMENT")
        assert ask(client, 8, 5, rows=rows, start=True) == 5
        assert ask(client, 9, 5, rows=rows, start=True, end=True) == 5
        with pytest.raises(InferenceServerException, match=NO_START.format(9)):
            ask(client, 9, 1, rows=rows)


def test_metadata_and_configuration_say_it(tmp_path: pathlib.Path) -> None:
    put(Repository(tmp_path / "models"), config(True, "oldest { max_candidate_sequences: 4 }"), True)
    with serving(tmp_path) as (daemon, _, client), httpclient.InferenceServerClient(daemon.http) as other:
        metadata = client.get_model_metadata("sum")
        assert [one.name for one in metadata.inputs] == ["x"]
        assert [one.name for one in metadata.outputs] == ["y", "flags", "ids"]
        assert {"sequence", "sequence(string_id)"} <= set(client.get_server_metadata().extensions)
        rules = client.get_model_config("sum").config.sequence_batching
        assert rules.oldest.max_candidate_sequences == 4 and rules.max_sequence_idle_microseconds == 3_600_000_000
        assert [one.name for one in rules.control_input] == ["START", "END", "READY", "ID"]
        assert list(rules.control_input[0].control[0].fp32_false_true) == [0, 1]
        assert (rules.state[0].input_name, rules.state[0].output_name) == ("total", "new")
        shown = other.get_model_config("sum")
        assert "dynamic_batching" not in shown
        assert shown["sequence_batching"]["control_input"][3] == {
            "name": "ID", "control": [{"kind": "CONTROL_SEQUENCE_CORRID", "data_type": "TYPE_INT64"}]}
        assert shown["sequence_batching"]["oldest"] == {"max_candidate_sequences": 4}


def test_controls_say_where_a_request_is(tmp_path: pathlib.Path) -> None:
    put(Repository(tmp_path / "models"), config())
    with serving(tmp_path) as (_, _, client):
        seen = []
        for start, end in ((True, False), (False, False), (False, True), (True, True)):
            result = client.infer("sum", [tensor(grpcclient, 1)], sequence_id=77, sequence_start=start,
                                  sequence_end=end)
            seen.append(result.as_numpy("flags").tolist())
            assert result.as_numpy("ids").tolist() == [77]
        assert seen == [[1, 0, 1], [0, 0, 1], [0, 1, 1], [1, 1, 1]]
        with pytest.raises(InferenceServerException, match='sequence_id "a" is a text, and the model takes numbers'):
            ask(client, "a", 1, start=True)


def test_ids_may_be_texts(tmp_path: pathlib.Path) -> None:
    text = config().replace('control_input { name: "ID" control { kind: CONTROL_SEQUENCE_CORRID data_type: '
                            'TYPE_INT64 } }', "")
    repository = Repository(tmp_path / "models")
    shape = [("x", TensorProto.FLOAT, [1])]
    names = ("START", "END", "READY", "total")
    nodes = [helper.make_node("Add", ["total", "x"], ["new"]), helper.make_node("Identity", ["new"], ["y"]),
             helper.make_node("Concat", ["START", "END", "READY"], ["flags"], axis=-1)]
    repository.put("sum/config.pbtxt", text)
    repository.put("sum/1/model.onnx", make_model(
        nodes, shape + [(name, TensorProto.FLOAT, [1]) for name in names],
        [("y", TensorProto.FLOAT, [1]), ("new", TensorProto.FLOAT, [1]), ("flags", TensorProto.FLOAT, [3])], {}))
    with over_both_doors(tmp_path) as (client, other):
        assert ask(client, "user-1", 1, start=True) == 1
        assert ask(client, "7", 5, start=True) == 5
        assert ask(client, 7, 50, start=True) == 50
        assert ask(other, "user-1", 2, httpclient) == 3
        assert ask(other, "7", 2, httpclient) == 7


def test_first_values_come_from_the_configuration(tmp_path: pathlib.Path) -> None:
    repository = Repository(tmp_path / "models")
    put(repository, config(initial='initial_state { data_type: TYPE_FP32 dims: [ 1 ] data_file: "begin" }'))
    repository.put("sum/initial_state/begin", np.array([100], np.float32).tobytes())
    with serving(tmp_path) as (_, _, client):
        assert ask(client, 1, 1, start=True) == 101
        assert ask(client, 1, 1) == 102
        assert ask(client, 1, 1, start=True) == 101
        repository.put("sum/initial_state/begin", np.array([1, 2], np.float32).tobytes())
        with pytest.raises(InferenceServerException, match=r"config.pbtxt, line 11: state \"total\": data_file has 8 "
                                                           r"bytes, the first value of \[1\] has 4"):
            client.load_model("sum")
        repository.put("sum/initial_state/begin", np.array([200], np.float32).tobytes())
        client.load_model("sum")
        with pytest.raises(InferenceServerException, match=NO_START.format(1)):
            ask(client, 1, 1)  # the states were the old model's
        assert ask(client, 1, 1, start=True) == 201


def test_a_stream_keeps_the_order_of_a_sequence(tmp_path: pathlib.Path) -> None:
    put(Repository(tmp_path / "models"), config(True, "oldest { }"), True)
    answers: queue.Queue[Any] = queue.Queue()
    with serving(tmp_path) as (_, _, client):
        client.start_stream(lambda result, error: answers.put(error or (
            result.get_response().id, float(result.as_numpy("y")[0, 0]))))
        last = 50
        for i in range(1, last + 1):
            for sequence in (1, 2):
                client.async_stream_infer("sum", [tensor(grpcclient, i * sequence, True)], sequence_id=sequence,
                                          sequence_start=i == 1, sequence_end=i == last, request_id=f"{sequence}.{i}")
        got = dict(answers.get(timeout=60) for _ in range(2 * last))
        client.async_stream_infer("sum", [tensor(grpcclient, 1, True)], sequence_id=1)
        assert NO_START.format(1) in str(answers.get(timeout=60))
        client.stop_stream()
    assert got == {f"{sequence}.{i}": sequence * i * (i + 1) / 2 for i in range(1, last + 1) for sequence in (1, 2)}


def test_a_state_that_is_an_output_comes_back(tmp_path: pathlib.Path) -> None:
    put(Repository(tmp_path / "models"), 'output { name: "new" data_type: TYPE_FP32 dims: [ 1 ] }' + config())
    with serving(tmp_path) as (_, _, client):
        assert [one.name for one in client.get_model_metadata("sum").outputs] == ["y", "new", "flags", "ids"]
        for x, total in ((1, 1), (2, 3)):
            result = client.infer("sum", [tensor(grpcclient, x)], sequence_id=7, sequence_start=x == 1)
            assert result.as_numpy("new").tolist() == [total]


@pytest.mark.parametrize(("name", "value"), [("sequence_id", 3), ("sequence_start", True), ("sequence_end", True)])
def test_a_parameter_of_sequences_is_named_where_there_are_none(tmp_path: pathlib.Path, name: str, value: Any) -> None:
    Repository(tmp_path / "models").put("sum/1/model.onnx", model(False))
    inputs = [{"name": one, "shape": [1], "datatype": "INT64" if one == "ID" else "FP32", "data": [1]}
              for one in ("x", "START", "END", "READY", "total", "ID")]
    body = json.dumps({"parameters": {name: value}, "inputs": inputs}).encode()
    with serving(tmp_path) as (daemon, _, _):
        with pytest.raises(urllib.error.HTTPError) as error:
            urllib.request.urlopen(f"http://{daemon.http}/v2/models/sum/infer", body)
        assert f'parameter "{name}": the model keeps no sequences' in json.load(error.value)["error"]


def test_idle_sequences_end(tmp_path: pathlib.Path) -> None:
    put(Repository(tmp_path / "models"), config(idle_us=1))
    with serving(tmp_path) as (_, _, client):
        assert ask(client, 7, 1, start=True) == 1
        with pytest.raises(InferenceServerException, match=NO_START.format(7)):
            ask(client, 7, 1)


def test_tenants_with_one_id_do_not_mix(tmp_path: pathlib.Path) -> None:
    put(Repository(tmp_path / "models"), config())
    tokens = tmp_path / "tokens"
    tokens.write_text(f"{'1' * 32} inference one\n{'2' * 32} inference two\n")
    tokens.chmod(0o600)
    with serving(tmp_path, "--token-file", str(tokens)) as (daemon, _, _):
        def send(token: str, x: float, **parameters: Any) -> tuple[int, Any]:
            body = {"parameters": {"sequence_id": 7, **parameters},
                    "inputs": [{"name": "x", "shape": [1], "datatype": "FP32", "data": [x]}]}
            request = urllib.request.Request(f"http://{daemon.http}/v2/models/sum/infer", json.dumps(body).encode(),
                                             {"Authorization": f"Bearer {token * 32}"})
            try:
                with urllib.request.urlopen(request) as answer:
                    return answer.status, json.load(answer)["outputs"][0]["data"][0]
            except urllib.error.HTTPError as error:
                return error.code, json.load(error)["error"]

        assert send("1", 1, sequence_start=True) == (200, 1)
        status, error = send("2", 1)
        assert status == 400 and "must specify the START flag" in error
        assert send("2", 10, sequence_start=True) == (200, 10)
        assert send("1", 1) == (200, 2)
        assert send("2", 10) == (200, 20)


def test_wrong_requests_and_models_say_why(tmp_path: pathlib.Path) -> None:
    repository = Repository(tmp_path / "models")
    put(repository, config(True), True)
    with serving(tmp_path) as (_, _, client):
        with pytest.raises(InferenceServerException, match="'sum' must specify a non-zero or non-empty correlation ID"):
            client.infer("sum", [tensor(grpcclient, 1, True)])
        made = grpcclient.InferInput("x", [2, 1], "FP32")
        made.set_data_from_numpy(np.ones([2, 1], np.float32))
        with pytest.raises(InferenceServerException, match="must specify batch-size 1"):
            client.infer("sum", [made], sequence_id=1, sequence_start=True)
        with pytest.raises(InferenceServerException, match='the model has no input total; it has "x"'):
            total = grpcclient.InferInput("total", [1, 1], "FP32")
            total.set_data_from_numpy(np.ones([1, 1], np.float32))
            client.infer("sum", [tensor(grpcclient, 1, True), total], sequence_id=1, sequence_start=True)
        for old, new, expected in (
                ('name: "START"', 'name: "BEGIN"', 'line 7: control_input "BEGIN": the model has no such input'),
                ('output_name: "new"', 'output_name: "old"', 'line 11: state "total": output "old": the model has no'),
                ("fp32_false_true", "int32_false_true", 'line 7: control_input "START": the model has f32')):
            repository.put("sum/config.pbtxt", config(True).replace(old, new, 1))
            with pytest.raises(InferenceServerException, match=expected):
                client.load_model("sum")
        assert ask(client, 1, 1, rows=True, start=True) == 1  # the old one goes on


def test_an_ensemble_carries_the_sequence(tmp_path: pathlib.Path) -> None:
    repository = Repository(tmp_path / "models")
    put(repository, config())
    repository.put("outer/config.pbtxt", """
platform: "ensemble"
input { name: "a" data_type: TYPE_FP32 dims: [ 1 ] }
output { name: "b" data_type: TYPE_FP32 dims: [ 1 ] }
ensemble_scheduling { step { model_name: "sum"
  input_map { key: "x" value: "a" } output_map { key: "y" value: "b" } } }""")
    with serving(tmp_path) as (_, _, client):
        def outer(x: float, **marks: Any) -> float:
            made = grpcclient.InferInput("a", [1], "FP32")
            made.set_data_from_numpy(np.array([x], np.float32))
            return float(client.infer("outer", [made], sequence_id=3, **marks).as_numpy("b")[0])

        assert [outer(1, sequence_start=True), outer(2), outer(3, sequence_end=True)] == [1, 3, 6]
        with pytest.raises(InferenceServerException, match="START flag"):
            outer(1)
