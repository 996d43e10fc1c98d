"""Texts of a `sluiced`, over its HTTP."""

from __future__ import annotations

import http.client
import json
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from harness import sluice_cli
from harness.daemon import Daemon

PATIENCE = 600


def events(address: str, path: str, fields: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The events of an answer that a server streams. `address`: HOST:PORT."""
    connection = http.client.HTTPConnection(address, timeout=PATIENCE)
    try:
        connection.request("POST", path, json.dumps({**fields, "stream": True}), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        if answer.status != 200:
            raise sluice_cli.SluiceError(f"{address}{path}: {answer.status} {answer.read(2000).decode(errors='replace')}")
        for line in answer:
            if line.startswith(b"data: ") and line.strip() != b"data: [DONE]":
                yield json.loads(line[6:])
    finally:
        connection.close()


def is_ready(address: str, path: str) -> bool:
    connection = http.client.HTTPConnection(address, timeout=PATIENCE)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


def wait_until_ready(address: str, path: str, what_is_wrong: Callable[[], str]) -> None:
    """`what_is_wrong`: says why to wait no longer."""
    end = time.monotonic() + PATIENCE
    while not is_ready(address, path):
        wrong = what_is_wrong()
        if wrong or time.monotonic() > end:
            raise sluice_cli.SluiceError(f"{address}{path} is not ready: {wrong}")
        time.sleep(0.05)


@contextmanager
def serving(models: dict[str, Path], before: Sequence[str] = ()) -> Iterator[str]:
    """HTTP's HOST:PORT of a daemon that has these packages by their names. `before`: words of its command line."""
    place = next(iter(models.values())).parent  # where packages can have a second name
    with tempfile.TemporaryDirectory(dir=place) as scratch:
        folder = Path(scratch)
        (folder / "models").mkdir()
        for name, package in models.items():
            (folder / f"models/{name}.sluice").hardlink_to(package)
        with Daemon(sluice_cli.binary().parents[1], folder / "d", "--http", "localhost:0", "--repository", folder / "models",
                    before=before):
            log = folder / "d/log"
            address = log.read_text().partition("http on ")[2].split()[0]
            for name in models:
                wait_until_ready(address, f"/v2/models/{name}/ready",
                                 lambda: log.read_text() if "failed" in log.read_text() else "")
            yield address


def tokens_at_once(model: Path, before: Sequence[str], prompt: int, tokens: int, sequences: int) -> float:
    """Tokens per second of all texts, from when the last of them begins to when the first ends."""

    def ask(address: str, place: int, length: int, count: int) -> list[float]:
        ids = np.random.default_rng(1000 * length + place).integers(3, 1000, length).tolist()
        fields = {"model": "text", "prompt": ids, "max_tokens": count, "temperature": 0}
        return [time.perf_counter() for _ in events(address, "/v1/completions", fields)]

    with serving({"text": model}, before) as address, ThreadPoolExecutor(sequences) as pool:
        for length, count in ((16, 2), (prompt, tokens + 1)):
            times = list(pool.map(lambda place: ask(address, place, length, count), range(sequences)))
    begin, end = max(mine[0] for mine in times), min(mine[-1] for mine in times)
    return sum(begin < at <= end for mine in times for at in mine) / (end - begin)
