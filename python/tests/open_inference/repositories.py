"""A folder of models whose answers say which version made them, and updates of it under traffic.

    python/tests/open_inference/repositories.py --updates 1000

starts a daemon, updates a model so often while clients send requests, and prints how many of them failed.
"""

from __future__ import annotations

import argparse
import contextlib
import pathlib
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from typing import Any

HERE = pathlib.Path(__file__).resolve()
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parents[3] / "tests/support")]

import daemon as daemons  # noqa: E402
import numpy as np  # noqa: E402
import pytest  # noqa: E402
import sluice  # noqa: E402
import tritonclient.grpc as grpcclient  # noqa: E402
import tritonclient.http as httpclient  # noqa: E402
from conftest import eventually, make_model  # noqa: E402
from onnx import TensorProto, helper, numpy_helper  # noqa: E402


def times(factor: int) -> Any:
    """x[N, 2] times the factor."""
    constant = numpy_helper.from_array(np.array(factor, np.float32), "k")
    return make_model([helper.make_node("Mul", ["x", "k"], ["y"])], [("x", TensorProto.FLOAT, ["N", 2])],
                      [("y", TensorProto.FLOAT, ["N", 2])], {"k": numpy_helper.to_array(constant)})


Package = Callable[[int], bytes]


def packages_in(folder: pathlib.Path) -> Package:
    """Packages of `times`."""
    def make(factor: int) -> bytes:
        sluice.compile(times(factor)).save(folder / "one.sluice")
        return (folder / "one.sluice").read_bytes()

    return make


@pytest.fixture
def package(tmp_path: pathlib.Path) -> Package:
    return packages_in(tmp_path)


class Repository:
    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def put(self, path: str, contents: bytes | str | Any) -> None:
        """Text, bytes or a model, in one step: beside its place, and renamed."""
        place = self.folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        data = contents if isinstance(contents, bytes) else (
            contents.encode() if isinstance(contents, str) else contents.SerializeToString())
        beside = self.folder.parent / "being-written"
        beside.write_bytes(data)
        beside.rename(place)

    def remove(self, path: str) -> None:
        shutil.rmtree(self.folder / path)


@contextlib.contextmanager
def serving(folder: pathlib.Path, *flags: str) -> Iterator[tuple[daemons.Daemon, Repository, Any]]:
    """A daemon over `folder`/models, ready, and a client of it."""
    repository = Repository(folder / "models")
    with daemons.running(folder, "--http", "localhost:0", "--repository", str(repository.folder), *flags) as daemon:
        with grpcclient.InferenceServerClient(daemon.address) as client:
            eventually(client.is_server_ready)
            yield daemon, repository, client


def ask(client: Any, name: str, version: str = "", module: Any = grpcclient) -> int:
    """The factor by which the model multiplies."""
    made = module.InferInput("x", [1, 2], "FP32")
    made.set_data_from_numpy(np.array([[1, 2]], np.float32))
    result = client.infer(name, [made], model_version=version)
    answer = result.as_numpy("y")
    np.testing.assert_array_equal(answer, answer[0, 0] * np.array([[1, 2]]))
    return int(answer[0, 0])


class Traffic:
    """Clients that ask for a model without a pause, until the end of the block."""

    def __init__(self, daemon: daemons.Daemon, name: str, is_right: Callable[[int], bool]) -> None:
        self.num_answers = 0
        self.failures: list[str] = []
        self._is_over = threading.Event()
        doors = [(grpcclient, daemon.address), (grpcclient, daemon.address), (httpclient, daemon.http)]
        self._threads = [threading.Thread(target=self._send, args=(*door, name, is_right)) for door in doors]

    def _send(self, module: Any, address: str, name: str, is_right: Callable[[int], bool]) -> None:
        with module.InferenceServerClient(address) as client:
            while not self._is_over.is_set():
                try:
                    answer = ask(client, name, module=module)
                    if not is_right(answer):
                        self.failures.append(f"the answer is {answer}")
                except Exception as error:  # noqa: BLE001 - whatever a client may get
                    self.failures.append(str(error))
                self.num_answers += 1

    def __enter__(self) -> Traffic:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join()


def update_under_traffic(folder: pathlib.Path, package: Package, num_updates: int) -> Traffic:
    """Adds version after version and removes the one before, each followed by a load."""
    with serving(folder) as (daemon, repository, client):
        repository.put("m/1/model.sluice", package(1))
        client.load_model("m")
        traffic = Traffic(daemon, "m", lambda answer: 1 <= answer <= num_updates + 1)
        with traffic:
            for version in range(2, num_updates + 2):
                repository.put(f"m/{version}/model.sluice", package(version))
                client.load_model("m")
                if ask(client, "m") != version:
                    traffic.failures.append(f"version {version} was loaded and did not answer")
                repository.remove(f"m/{version - 1}")
        assert traffic.num_answers > 0
        return traffic


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--updates", type=int, default=1000)
    count = parser.parse_args().updates

    with tempfile.TemporaryDirectory() as name:
        traffic = update_under_traffic(pathlib.Path(name), packages_in(pathlib.Path(name)), count)
    print(f"{count} updates, {traffic.num_answers} requests, {len(traffic.failures)} failed")
    for failure in traffic.failures[:10]:
        print(failure)
    return 1 if traffic.failures else 0


if __name__ == "__main__":
    sys.exit(main())
