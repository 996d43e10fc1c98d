"""sluice.Runtime in this process and over a daemon: the same tests for both, then tests of each alone."""

from __future__ import annotations

import json
import pathlib
import threading
from typing import Any

import numpy as np
import pytest
import sluice
from onnx import TensorProto, helper

from conftest import PATIENCE, make_model, same_type

def test_runtime_names_its_devices(runtime: sluice.Runtime) -> None:
    assert [device.kind for device in runtime.devices] == ["cpu"]
    assert runtime.devices[0].num_cores >= 1


def test_loaded_model_gives_the_model_s_answers(runtime: sluice.Runtime, digits: sluice.Model,
                                                image: Any) -> None:
    expected = digits(image)
    model = runtime.load(digits)
    assert [spec.type for spec in model.inputs] == ["f32[N,1,8,8]"]
    np.testing.assert_array_equal(model(image), expected)
    np.testing.assert_array_equal(model(image=image), expected)
    np.testing.assert_array_equal(model(image.tolist()), expected)
    np.testing.assert_array_equal(model(image[:, :, ::-1][:, :, ::-1]), expected)
    out = sluice.empty((2, 10))
    result = model.run({"image": image}, out={"probabilities": out}, timeout=PATIENCE, priority=3)
    assert result["probabilities"] is out
    np.testing.assert_array_equal(out, expected)


def test_package_comes_from_path_bytes_or_file(runtime: sluice.Runtime, digits: sluice.Model,
                                               image: Any, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "digits.sluice"
    digits.save(path)
    expected = digits(image)
    with open(path, "rb") as file:
        for source in (path, path.read_bytes(), file.fileno()):
            with runtime.load(source, name="digits") as model:
                np.testing.assert_array_equal(model(image), expected)
    assert runtime.estimate(path, depth=2).depth == 2


def test_types_that_numpy_lacks_travel(runtime: sluice.Runtime) -> None:
    import ml_dtypes
    x = np.arange(6, dtype=np.float32).reshape(2, 3).astype(ml_dtypes.bfloat16)
    model = runtime.load(same_type(TensorProto.BFLOAT16))
    y = model(x)
    assert y.dtype == x.dtype
    np.testing.assert_array_equal(y, x)
    assert (model.submit(x).result(PATIENCE) == x).all()


def test_wrong_inputs_are_explained(runtime: sluice.Runtime, digits: sluice.Model, image: Any) -> None:
    model = runtime.load(digits)
    with pytest.raises(sluice.InvalidArgument, match=r"got f64\[2,1,8,8\], model takes f32"):
        model(image.astype(np.float64))
    with pytest.raises(sluice.InvalidArgument, match="image"):
        model(image[:, :, :4])
    with pytest.raises(sluice.InvalidArgument, match="inputs are missing"):
        model.submit()
    with pytest.raises(sluice.NotFound, match='no input "picture"'):
        model.run({"picture": image})
    with pytest.raises(sluice.InvalidArgument, match="timeout must be positive"):
        model.run({"image": image}, timeout=0)
    with pytest.raises(sluice.InvalidArgument, match="'pass', 'flag', 'fail'"):
        runtime.load(digits, nan_policy="explode")
    with pytest.raises(TypeError):
        runtime.load(3.5)  # type: ignore[arg-type]


def test_load_names_the_cores_of_a_model(runtime: sluice.Runtime, digits: sluice.Model, image: Any) -> None:
    with runtime.create_group(1) as group:  # a model on a group takes at most its cores
        with group.load(digits, cores=0) as model:
            model.start()
            assert model(image).shape == (2, 10)
        with pytest.raises(sluice.ResourceExhausted, match="needs 2 cores"):
            group.load(digits, cores=2)


def test_models_of_a_group_take_turns(runtime: sluice.Runtime, digits: sluice.Model, image: Any) -> None:
    with runtime.create_group(1) as group:
        first, second = (group.load(digits, name=name) for name in ("first", "second"))
        assert first.info.phase == "loaded" and not first.info.is_implicit
        with pytest.raises(sluice.FailedPrecondition):
            first(image)
        first.start()
        with pytest.raises(sluice.FailedPrecondition):
            second.start()
        first(image)
        first.stop(drain=1)
        second.start()
        assert second(image).shape == (2, 10)
        mine = next(entry for entry in runtime.groups() if entry.id == group.id)
        assert mine.num_models == 2 and mine.active_model == "second" and len(mine.cores) == 1
        with pytest.raises(sluice.FailedPrecondition):
            group.destroy()
        first.unload()
        second.unload()
    with pytest.raises(sluice.FailedPrecondition, match="destroyed"):
        group.load(digits)


def test_function_joins_waiting_requests_and_each_gets_its_rows(runtime: sluice.Runtime, digits: sluice.Model,
                                                                image: Any) -> None:
    function = runtime.deploy(digits, batch_rows=16)
    expected = digits(image)
    replies = [function.submit(image) for _ in range(40)]
    for reply in replies:
        np.testing.assert_allclose(reply.result(), expected, rtol=1e-5)
    with pytest.raises(ValueError, match="batch_rows"):
        runtime.deploy(digits, batch_rows=-1)


def test_functions_share_a_lane_and_start_by_themselves(runtime: sluice.Runtime, digits: sluice.Model,
                                                        image: Any) -> None:
    first = runtime.deploy(digits, name="first", share=1)
    second = runtime.deploy(digits, name="second", share=3, keep_warm=None)
    assert first.info.group == second.info.group
    expected = digits(image)
    np.testing.assert_array_equal(first(image), expected)
    np.testing.assert_array_equal(second(image), expected)
    first.stop()
    np.testing.assert_array_equal(first(image), expected)  # a cold function starts with its request
    assert {"first", "second"} <= {one.name for one in runtime.models()}
    with pytest.raises(sluice.Error, match="share"):
        runtime.deploy(digits, share=5000)
    with pytest.raises(sluice.Error, match="quota"):
        runtime.deploy(digits, memory_bytes=1)
    first.unload()
    second.unload()
    assert not {"first", "second"} & {one.name for one in runtime.models()}


def test_graph_of_functions_is_deployed_run_listed_and_removed(runtime: sluice.Runtime, digits: sluice.Model,
                                                               image: Any, tmp_path: pathlib.Path) -> None:
    shape = ["N", 1, 8, 8]
    brighten = sluice.compile(make_model([helper.make_node("Add", ["x", "x"], ["y"])],
                                         [("x", TensorProto.FLOAT, shape)], [("y", TensorProto.FLOAT, shape)]))
    functions = [runtime.deploy(brighten, name="brighten"), runtime.deploy(digits, name="reader")]
    content = {"functions": ["brighten", f"read={functions[1].id}"], "edges": ["brighten.y=read.image"],
               "outputs": ["brighten.y"]}
    graph = runtime.deploy_graph(content, name="digits of the dark")
    bright, read = graph(image)
    np.testing.assert_array_equal(bright, image + image)
    np.testing.assert_allclose(read, digits(image + image), rtol=1e-5)
    assert graph.run({"brighten.x": image}, ["read.probabilities"]).keys() == {"read.probabilities"}
    assert graph.submit(image).result(PATIENCE)[1].shape == (2, 10)
    assert "digits of the dark" in {one.name for one in runtime.models()}
    with pytest.raises(sluice.FailedPrecondition, match="digits of the dark"):
        functions[0].unload()
    graph.unload()
    path = tmp_path / "again.json"
    path.write_text(json.dumps(content))
    with runtime.deploy_graph(path) as again:
        assert again.name == "again" and again(image)[1].shape == (2, 10)
    with pytest.raises(sluice.NotFound, match='"absent"'):
        runtime.deploy_graph({"functions": ["absent"]})
    with pytest.raises(sluice.InvalidArgument, match="nodes: no such key"):
        runtime.deploy_graph({"nodes": []})
    for function in functions:
        function.unload()


def test_unloaded_model_and_closed_runtime_refuse_calls(runtime: sluice.Runtime, digits: sluice.Model,
                                                        image: Any) -> None:
    model, other = runtime.load(digits, name="a"), runtime.load(digits, name="b")
    assert {info.name for info in runtime.models()} >= {"a", "b"}
    model.unload()
    for call in (lambda: model(image), lambda: model.submit(image), model.statistics, model.start,
                 lambda: model.info):
        with pytest.raises(sluice.FailedPrecondition, match="unloaded"):
            call()
    model.unload()
    runtime.close()
    with pytest.raises(sluice.FailedPrecondition):
        other(image)
    with pytest.raises(sluice.FailedPrecondition):
        runtime.load(digits)
    runtime.close()
    assert "closed" in repr(runtime)


def test_outputs_outlive_model_and_runtime(runtime: sluice.Runtime, digits: sluice.Model,
                                           image: Any) -> None:
    model = runtime.load(digits)
    results = [model(image), model.submit(image).result(PATIENCE)]
    runtime.close()
    del model
    for result in results:
        np.testing.assert_array_equal(result, digits(image))


def test_statistics_count_requests(runtime: sluice.Runtime, digits: sluice.Model, image: Any) -> None:
    model = runtime.load(digits)
    for _ in range(3):
        model(image)
    statistics = model.statistics()
    assert statistics.accepted == 3 and statistics.answered == {"ok": 3}
    assert statistics.total.requests == 3 and "of 3: median" in repr(statistics.total)
    assert model.health().state == "healthy"


def test_memory_of_the_runtime_is_used_in_place(runtime: sluice.Runtime, digits: sluice.Model,
                                                image: Any) -> None:
    model = runtime.load(digits)
    shared, out = runtime.empty(image.shape), runtime.empty((2, 10))
    assert shared.ctypes.data % 64 == 0 and not shared.any()
    shared[:] = image
    model.run({"image": shared}, out={"probabilities": out})
    np.testing.assert_array_equal(out, digits(image))
    with pytest.raises(sluice.InvalidArgument):
        runtime.empty((-1, 3))


def test_threads_share_a_model(runtime: sluice.Runtime, digits: sluice.Model, image: Any) -> None:
    model, expected = runtime.load(digits), digits(image)
    wrong: list[Any] = []

    def call() -> None:
        for _ in range(50):
            if not (model(image) == expected).all():
                wrong.append(True)

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and model.statistics().accepted == 200


def test_copies_of_a_model_serve_as_one(local: sluice.Runtime, digits: sluice.Model, image: Any) -> None:
    copies = [local.load(digits, name=f"copy{i}") for i in range(2)]
    model = local.combine(copies, is_round_robin=True, name="both")
    for _ in range(4):
        np.testing.assert_array_equal(model(image), digits(image))
    assert [copy.statistics().accepted for copy in copies] == [2, 2]
    model.unload()
    assert copies[0](image).shape == (2, 10)


def test_combined_models_batch_requests(local: sluice.Runtime, digits: sluice.Model, image: Any) -> None:
    copies = [local.load(digits, name=f"copy{i}", depth=1) for i in range(2)]
    model = local.combine(copies, batch_rows=8, max_delay=60)
    requests = [model.submit(image) for _ in range(8)]  # each of two rows
    for request in requests:
        np.testing.assert_allclose(request.result(PATIENCE), digits(image), atol=1e-6)
    assert sum(copy.statistics().joined for copy in copies) == 8


def test_loaded_model_joins_waiting_requests(runtime: sluice.Runtime, digits: sluice.Model, image: Any) -> None:
    model = runtime.load(digits, batch_rows=8, max_delay=60)
    requests = [model.submit(image) for _ in range(8)]  # each of two rows
    for request in requests:
        np.testing.assert_allclose(request.result(PATIENCE), digits(image), atol=1e-6)
    assert model.statistics().joined == 8
    with pytest.raises(sluice.InvalidArgument, match="batch_rows"):
        runtime.load(digits, batch_rows=-1)
    with pytest.raises(sluice.InvalidArgument, match="max_delay"):
        runtime.load(digits, batch_rows=8, max_delay=-1)


def test_model_on_demand_joins_requests_too(digits: sluice.Model, image: Any) -> None:
    with sluice.Runtime(demand_budget_bytes=1 << 30) as runtime:
        model = runtime.load(digits, is_on_demand=True, batch_rows=4, max_delay=60)
        requests = [model.submit(image) for _ in range(2)]
        for request in requests:
            np.testing.assert_allclose(request.result(PATIENCE), digits(image), atol=1e-6)
        assert model.statistics().joined == 2


def test_model_on_demand_is_loaded_by_its_first_request(digits: sluice.Model, image: Any) -> None:
    with sluice.Runtime(demand_budget_bytes=1 << 30) as runtime:
        model = runtime.load(digits, is_on_demand=True)
        assert model.info.is_on_demand and model.info.phase == "unloaded"
        assert model(image).shape == (2, 10)
        assert model.info.phase == "started"


def test_simulated_machine_has_its_devices(tmp_path: pathlib.Path) -> None:
    machine = tmp_path / "machine.json"
    machine.write_text('{"devices": [{"count": 2, "cores": 4}]}')
    with sluice.Runtime(simulated_machine=machine) as runtime:
        assert [device.num_cores for device in runtime.devices] == [4, 4]
    with pytest.raises(sluice.NotFound):
        sluice.Runtime(simulated_machine=tmp_path / "none.json")
