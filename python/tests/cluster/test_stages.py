"""A network cut over two daemons and a batch over three, on hosts of their own: network namespaces."""

from __future__ import annotations

import contextlib
import pathlib
import threading
import types
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import daemon as daemons
import numpy as np
import onnx
import pytest
import sluice
from conftest import DIGITS, PATIENCE, eventually, make_model
from hosts import Host, hosts
from onnx import TensorProto, helper
from sluice.cluster import stages
from sluice.cluster.cut import cut
from sluice.cluster.stages import Pipeline, Replicas, Stage

EDGE = "relu2"  # of digits.onnx
TOKEN = {"token": "knock"}


class Node:
    """A daemon that clients and daemons reach over the network, at ports that stay when it starts again."""

    def __init__(self, folder: pathlib.Path, host: Host, *sources: str, before: Sequence[str] = ()) -> None:
        self.folder, self.host, self.sources, self.before = folder, host, sources, before
        self.address, self.exchange = f"{host.address}:7000", f"{host.address}:7001"
        folder.mkdir()
        (folder / "tokens").write_text("knock inference,control,monitor peer\n")
        (folder / "own").write_text("knock\n")
        self.start()

    def start(self) -> None:
        sources = [word for source in self.sources for word in ("--exchange-sources", source)]
        self.daemon = daemons.Daemon(
            self.folder, "-g", self.address, "--listen-plain", "--token-file", str(self.folder / "tokens"),
            "--exchange-listen", self.exchange, "--exchange-plain", "--exchange-peers", "token:peer",
            "--exchange-token-file", str(self.folder / "own"), "--exchange-bytes", str(1 << 20), *sources,
            before=self.host.words(*self.before))

    def stage(self, package: Any) -> Stage:
        return Stage(self.address, package, self.exchange, TOKEN)


@contextlib.contextmanager
def nodes(folder: pathlib.Path, count: int, before: Mapping[int, Sequence[str]] | None = None) -> Iterator[list[Node]]:
    """`before`: words of the command line of some."""
    with hosts(count) as places:
        made: list[Node] = []
        try:
            for i, place in enumerate(places):
                made.append(Node(folder / f"n{i}", place, *(node.exchange for node in made), before=(before or {}).get(i, ())))
            yield made
        finally:
            for node in made:
                node.daemon.kill()


@pytest.fixture
def two(tmp_path: pathlib.Path) -> Iterator[list[Node]]:
    with nodes(tmp_path, 2) as made:
        yield made


@pytest.fixture
def parts() -> list[onnx.ModelProto]:
    return cut(DIGITS, [EDGE])


def test_a_cut_network_computes_what_the_whole_does(two: list[Node], parts: list[onnx.ModelProto], digits: sluice.Model,
                                                    image: Any) -> None:
    with Pipeline([node.stage(part) for node, part in zip(two, parts, strict=True)], depth=4) as pipeline:
        images = [np.roll(image, i, axis=3) for i in range(12)]
        futures = [pipeline.submit({"image": one}, timeout=PATIENCE) for one in images]
        for one, future in zip(images, futures, strict=True):
            answer = future.result()
            assert set(answer) == {"probabilities"}, "the edge does not come here"
            np.testing.assert_allclose(answer["probabilities"], digits(one), rtol=1e-5, atol=1e-6)


def test_edges_leave_the_exchanges_with_their_request(two: list[Node], parts: list[onnx.ModelProto], image: Any) -> None:
    """Together they would be larger than the exchanges of the daemons, which hold 1 MiB."""
    with Pipeline([node.stage(part) for node, part in zip(two, parts, strict=True)]) as pipeline:
        rows = np.concatenate([image] * 64)
        first = sluice.compile(parts[0])
        num_bytes = first.run({"image": rows})[EDGE].nbytes
        for _ in range((2 << 20) // num_bytes + 1):
            assert len(pipeline.run({"image": rows}, timeout=PATIENCE)["probabilities"]) == len(rows)


def test_a_killed_daemon_costs_its_requests_and_comes_back(two: list[Node], parts: list[onnx.ModelProto],
                                                           digits: sluice.Model, image: Any) -> None:
    with Pipeline([node.stage(part) for node, part in zip(two, parts, strict=True)]) as pipeline, \
            sluice.Client(two[0].address, **TOKEN) as other:
        neighbour = other.load(digits)
        assert pipeline.run({"image": image}, timeout=PATIENCE)
        for lost in reversed(two):
            lost.daemon.kill()
            with pytest.raises(sluice.Unavailable, match=lost.address):
                pipeline.run({"image": image}, timeout=PATIENCE)
            if lost is two[1]:
                np.testing.assert_array_equal(neighbour(image), digits(image))  # the other host serves on
            lost.start()

            def answers() -> bool:
                with contextlib.suppress(sluice.Unavailable):
                    return pipeline.run({"image": image}, timeout=PATIENCE) != {}
                return False

            eventually(answers, PATIENCE)


def test_tensor_of_a_dead_daemon_is_an_error_and_not_found_after_its_restart(two: list[Node]) -> None:
    values = np.arange(4096, dtype=np.float32)
    with sluice.Client(two[0].address, **TOKEN) as there, sluice.Client(two[1].address, **TOKEN) as here:
        offer = there.put(values).offer()
        np.testing.assert_array_equal(here.fetch(offer, two[0].exchange, timeout=PATIENCE).numpy(), values)
        two[0].daemon.kill()
        with pytest.raises(sluice.Unavailable, match=two[0].exchange):
            here.fetch(offer, two[0].exchange, timeout=PATIENCE)
        two[0].start()
        with sluice.Client(two[0].address, **TOKEN) as again:
            assert again.put(values).offer().exchange == offer.exchange, "the new daemon counts from the same number"
            with pytest.raises(sluice.NotFound):
                here.fetch(offer, two[0].exchange, timeout=PATIENCE)


def test_a_cut_link_holds_a_request_no_longer_than_its_time(two: list[Node], parts: list[onnx.ModelProto],
                                                            image: Any) -> None:
    with Pipeline([node.stage(part) for node, part in zip(two, parts, strict=True)]) as pipeline:
        assert pipeline.run({"image": image}, timeout=PATIENCE)
        two[0].host.cut()
        with pytest.raises((sluice.DeadlineExceeded, sluice.Unavailable)):
            pipeline.submit({"image": image}, timeout=2).result(PATIENCE)
        two[0].host.mend()

        def answers() -> bool:
            with contextlib.suppress(sluice.Unavailable, sluice.DeadlineExceeded):
                return pipeline.run({"image": image}, timeout=10) != {}
            return False

        eventually(answers, PATIENCE)


def test_an_error_of_the_model_is_no_lost_host(two: list[Node], parts: list[onnx.ModelProto], image: Any) -> None:
    with Pipeline([node.stage(part) for node, part in zip(two, parts, strict=True)]) as pipeline:
        with pytest.raises(sluice.InvalidArgument):
            pipeline.run({"image": image[:, :, :3]}, timeout=PATIENCE)
        assert pipeline.run({"image": image}, timeout=PATIENCE)


def test_a_stopped_daemon_holds_the_first_request_no_longer_than_its_time(two: list[Node], image: Any,
                                                                          parts: list[onnx.ModelProto]) -> None:
    with Pipeline([node.stage(part) for node, part in zip(two, parts, strict=True)]) as pipeline:
        two[0].daemon.suspend()
        with pytest.raises((sluice.DeadlineExceeded, sluice.Unavailable), match=two[0].address):
            pipeline.submit({"image": image}, timeout=2).result(PATIENCE)
        two[0].daemon.resume()

        def answers() -> bool:
            with contextlib.suppress(sluice.Unavailable):
                return pipeline.run({"image": image}, timeout=PATIENCE) != {}
            return False

        eventually(answers, PATIENCE)


class SlowClient:
    """A client, its model and its tensors. Loads end when the gate is open, and so do the calls named in `hangs`; the
    model fails with `error` while there is one, and `refusals` fetches fail."""

    gate = threading.Event()
    num_loads = 0
    refusals = 0
    error: Exception | None = None
    phase = "started"
    hangs: tuple[str, ...] = ()
    ended: list[str]
    ttls: list[float]

    def __init__(self, address: str, **options: Any) -> None:
        self.address = address
        self.inputs = (types.SimpleNamespace(name="x"),)
        self.outputs = (types.SimpleNamespace(name="x" if address == "first:1" else "y"),)

    def answer(self, call: str) -> None:
        if call in self.hangs:
            assert self.gate.wait(PATIENCE)

    def load(self, package: Any) -> SlowClient:
        type(self).num_loads += 1
        if isinstance(package, Exception):
            raise package
        assert self.gate.wait(PATIENCE)
        return self

    @property
    def info(self) -> Any:
        self.answer("info")
        if self.phase == "gone":
            raise sluice.NotFound("no such session")
        return types.SimpleNamespace(phase=self.phase)

    def run(self, feeds: Any, *, kept: Any = (), timeout: float | None = None, ttl: float | None = None) -> dict[str, Any]:
        if self.error is not None:
            raise self.error
        self.ttls.append(ttl or 0)
        return {"x": self} if kept else {"y": 1}

    def offer(self) -> str:
        self.answer("offer")
        return "key"

    def fetch(self, offer: str, source: str, **options: Any) -> SlowClient:
        if self.refusals:
            type(self).refusals -= 1
            raise sluice.ResourceExhausted("8 tensors are being fetched from other hosts")
        return self

    def remove(self) -> None:
        self.answer("remove")

    def close(self) -> None:
        self.answer("close")
        self.ended.append(self.address)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[SlowClient]]:
    made = type("Slow", (SlowClient,), {"gate": threading.Event(), "ended": [], "ttls": []})
    monkeypatch.setattr(stages, "Client", made)
    yield made
    made.gate.set()  # ends what hangs


#: Two stages with an edge, "x".
TWO_STAGES = (Stage("first:1", "x", "first:2"), Stage("second:1", "y"))


def test_a_load_counts_in_the_time_of_all_who_wait_for_it(slow: type[SlowClient]) -> None:
    with Pipeline([Stage("a:1", "x")]) as pipeline:
        futures = [pipeline.submit({}, timeout=0.05) for _ in range(2)]
        for future in futures:
            with pytest.raises(sluice.DeadlineExceeded):
                future.result(PATIENCE)
        slow.gate.set()
        assert pipeline.run({}, timeout=PATIENCE) == {"y": 1}
        assert slow.num_loads == 1, "the load went on"


def test_a_load_that_hangs_makes_way_for_another(slow: type[SlowClient], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "_PATIENCE", 0.05)
    with Pipeline([Stage("a:1", "x")]) as pipeline:
        future = pipeline.submit({})
        eventually(lambda: slow.num_loads >= 2)
        slow.gate.set()
        assert future.result(PATIENCE) == {"y": 1}


@pytest.mark.parametrize("lost", ["gone", "failed"])
@pytest.mark.parametrize("kind", [sluice.Cancelled, sluice.FailedPrecondition, sluice.NotFound])
def test_what_a_living_daemon_refuses_loads_nothing_anew(slow: type[SlowClient], kind: type[Exception],
                                                         lost: str) -> None:
    slow.gate.set()
    slow.error = kind("of the request")
    with Pipeline([Stage("a:1", "x")]) as pipeline:
        with pytest.raises(kind, match="of the request"):
            pipeline.run({}, timeout=PATIENCE)
        assert slow.num_loads == 1
        slow.phase = lost
        with pytest.raises(sluice.Unavailable, match="a:1"):
            pipeline.run({}, timeout=PATIENCE)
        slow.error = None
        assert pipeline.run({}, timeout=PATIENCE) == {"y": 1} and slow.num_loads == 2
        eventually(lambda: slow.ended == ["a:1"])  # the lost session


@pytest.mark.parametrize("call", ["offer", "info"])
def test_a_call_that_hangs_holds_a_request_no_longer_than_its_time(slow: type[SlowClient], call: str) -> None:
    slow.gate.set()
    with Pipeline(TWO_STAGES) as pipeline:
        assert pipeline.run({}, timeout=PATIENCE) == {"y": 1}
        slow.gate.clear()
        slow.hangs = (call, "remove", "close")
        if call == "info":
            slow.error = sluice.NotFound("of the request")
        with pytest.raises(sluice.DeadlineExceeded):
            pipeline.submit({}, timeout=0.05).result(PATIENCE)


def test_tensors_that_are_not_removed_and_sessions_that_do_not_end_hold_nobody(slow: type[SlowClient],
                                                                               monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "_END_PATIENCE", 0.05)
    slow.gate.set()
    pipeline = Pipeline(TWO_STAGES)
    assert pipeline.run({}, timeout=PATIENCE) == {"y": 1}
    slow.gate.clear()
    slow.hangs = ("remove", "close")
    assert pipeline.submit({}, timeout=PATIENCE).result(PATIENCE) == {"y": 1}
    pipeline.close()
    assert slow.ended == [], "the gate is shut yet"


class Clock:
    """In place of the module `time`: a sleep alone moves it forward, at once."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.mark.parametrize("timeout, waits_s", [(None, stages._FETCH_PATIENCE), (5.0, 5.0)])
def test_a_fetch_that_the_daemon_refuses_for_now_is_asked_for_again(
        slow: type[SlowClient], timeout: float | None, waits_s: float, monkeypatch: pytest.MonkeyPatch) -> None:
    slow.gate.set()
    slow.refusals = 2
    clock = Clock()
    monkeypatch.setattr(stages, "time", clock)
    with Pipeline(TWO_STAGES) as pipeline:
        assert pipeline.run({}, timeout=PATIENCE) == {"y": 1} and slow.refusals == 0
        before = clock.now
        slow.refusals = 1 << 30
        with pytest.raises(sluice.ResourceExhausted):
            pipeline.run({}, timeout=timeout)
    assert waits_s - 0.25 <= clock.now - before <= waits_s


@pytest.mark.parametrize("timeout", [None, 7200.0])
def test_tensors_of_a_request_live_no_longer_than_a_daemon_lets_them(slow: type[SlowClient],
                                                                     timeout: float | None) -> None:
    slow.gate.set()
    with Pipeline(TWO_STAGES) as pipeline:
        pipeline.run({}, timeout=timeout)
        assert slow.ttls == [3600, 3600]


def test_a_load_that_fails_ends_its_session(slow: type[SlowClient]) -> None:
    with Pipeline([Stage("a:1", sluice.InvalidArgument("no model"))]) as pipeline:  # type: ignore[arg-type]
        with pytest.raises(sluice.InvalidArgument):
            pipeline.run({}, timeout=PATIENCE)
        assert slow.ended == ["a:1"]


def test_rows_are_shared_and_those_of_a_lost_daemon_are_computed_by_others(tmp_path: pathlib.Path, digits: sluice.Model,
                                                                           image: Any) -> None:
    images = np.concatenate([np.roll(image, i, axis=3) for i in range(8)])[:15]
    with nodes(tmp_path, 3) as made, Replicas([node.stage(DIGITS) for node in made]) as replicas:
        for lost in (None, made[1], made[0]):
            if lost is not None:
                lost.daemon.kill()
            answer = replicas.run({"image": images}, timeout=PATIENCE)["probabilities"]
            np.testing.assert_allclose(answer, digits(images), rtol=1e-5, atol=1e-6)
        assert len(replicas.run({"image": images[:1]}, timeout=PATIENCE)["probabilities"]) == 1
        made[2].daemon.kill()
        with pytest.raises(sluice.Unavailable, match="every daemon failed"):
            replicas.run({"image": images}, timeout=PATIENCE)


def branching() -> onnx.ModelProto:
    """z = c ? f(x) : weight, with f in a branch, which reads the outer tensors y = |x| and x; w = y + z."""
    def body(name: str, *nodes: onnx.NodeProto) -> onnx.GraphProto:
        return helper.make_graph(list(nodes), name, [], [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2])])

    then = body("then", helper.make_node("Add", ["y", "x"], ["sum"]), helper.make_node("Neg", ["sum"], ["then"]))
    other = body("other", helper.make_node("Identity", ["weight"], ["other"]))
    made = make_model(
        [helper.make_node("Abs", ["x"], ["y"]),
         helper.make_node("If", ["c"], ["z"], then_branch=then, else_branch=other),
         helper.make_node("Add", ["y", "z"], ["w"])],
        [("x", TensorProto.FLOAT, [2]), ("c", TensorProto.BOOL, [])], [("w", TensorProto.FLOAT, [2])])
    made.graph.initializer.append(helper.make_tensor("weight", TensorProto.FLOAT, [2], [7, 8]))
    return made


@pytest.mark.parametrize(("tensors", "inputs"), [
    (["y"], [["x"], ["x", "c", "y"]]),
    (["z"], [["x", "c"], ["x", "z"]]),
    (["y", "z"], [["x"], ["x", "c", "y"], ["y", "z"]]),
])
def test_parts_take_what_their_branches_read(tensors: list[str], inputs: list[list[str]]) -> None:
    parts = cut(branching(), tensors)
    assert [[value.name for value in part.graph.input] for part in parts] == inputs
    for condition in (True, False):
        known: dict[str, Any] = {"x": np.array([1, -2], np.float32), "c": np.array(condition)}
        [expected] = sluice.compile(branching()).run(known).values()
        for part in parts:
            onnx.checker.check_model(part)
            known |= sluice.compile(part).run({value.name: known[value.name] for value in part.graph.input})
        np.testing.assert_array_equal(known["w"], expected)


@pytest.mark.parametrize(("make", "message"), [
    (lambda: Pipeline([]), "at least one stage"),
    (lambda: Pipeline([Stage("a:1", "x"), Stage("b:1", "y")]), "has no exchange"),
    (lambda: Replicas([]), "no daemon"),
    (lambda: cut(DIGITS, ["nothing"]), 'gives "nothing"'),
    (lambda: cut(branching(), ["z", "y"]), '"y" does not depend on "z"'),
    (lambda: cut(branching(), ["y", "y"]), 'behind the cut at "y"'),
    (lambda: cut(branching(), ["w"]), 'behind the cut at "w"'),
])
def test_what_cannot_be_cut_is_refused_by_name(make: Any, message: str) -> None:
    with pytest.raises(sluice.InvalidArgument, match=message):
        make()
