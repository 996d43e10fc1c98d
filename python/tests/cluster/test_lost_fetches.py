"""Tensors that daemons fetch from each other over connections that are lost on the way."""

from __future__ import annotations

import contextlib
import pathlib
import socket
import threading
from collections.abc import Iterator

import daemon as daemons
import numpy as np
import pytest
import sluice
from conftest import PATIENCE

MIB = 1 << 20


class LosingProxy:
    """Passes bytes on to `target`, and loses as many connections as `losses` says, each after so many bytes of answers."""

    def __init__(self, target: str, losses: list[int]) -> None:
        host, _, port = target.rpartition(":")
        self._target = (host, int(port))
        self._losses = list(losses)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self.answered: list[int] = []  #: bytes, by connection
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # closed
            while True:
                client, _ = self._listener.accept()
                limit = self._losses.pop(0) if self._losses else 1 << 60
                server = socket.create_connection(self._target)
                number = len(self.answered)
                self.answered.append(0)
                threading.Thread(target=self._ask, args=(client, server), daemon=True).start()
                threading.Thread(target=self._answer, args=(client, server, number, limit), daemon=True).start()

    @staticmethod
    def _ask(client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while piece := client.recv(1 << 16):
                server.sendall(piece)
            server.shutdown(socket.SHUT_WR)

    def _answer(self, client: socket.socket, server: socket.socket, number: int, limit: int) -> None:
        with contextlib.suppress(OSError):
            while self.answered[number] < limit and (piece := server.recv(1 << 16)):
                client.sendall(piece)
                self.answered[number] += len(piece)
        for one in (client, server):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)  # wakes the other thread, which may wait in it
            one.close()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


@contextlib.contextmanager
def giver_and_taker(folder: pathlib.Path, losses: list[int]) -> Iterator[tuple[sluice.Client, sluice.Client, LosingProxy]]:
    (folder / "tokens").write_text("knock inference guest\n")
    (folder / "own").write_text("knock\n")
    for name in ("a", "b"):
        (folder / name).mkdir()
    with daemons.running(folder / "a", "--exchange-listen", "127.0.0.1:0", "--exchange-plain", "--exchange-peers",
                         "token:guest", "--token-file", str(folder / "tokens")) as giver:
        proxy = LosingProxy(giver.exchange, losses)
        with contextlib.closing(proxy), \
                daemons.running(folder / "b", "--exchange-sources", proxy.address, "--exchange-plain",
                                "--exchange-token-file", str(folder / "own")) as taker, \
                sluice.Client(giver.address) as there, sluice.Client(taker.address) as here:
            yield there, here, proxy


def test_a_fetch_goes_on_behind_what_came(tmp_path: pathlib.Path) -> None:
    values = np.random.default_rng(1).random(8 * MIB, np.float32)  # 32 MiB
    with giver_and_taker(tmp_path, [12 * MIB, 8 * MIB]) as (there, here, proxy):
        copy = here.fetch(there.put(values).offer(), proxy.address, timeout=PATIENCE)
        np.testing.assert_array_equal(copy.numpy(), values)
        assert len(proxy.answered) == 3
        # From the front again they were 52 MiB. Sockets lose some that were on their way.
        assert sum(proxy.answered) < 48 * MIB, proxy.answered


def test_a_connection_that_brings_nothing_ends_the_fetch(tmp_path: pathlib.Path) -> None:
    values = np.zeros(4 * MIB, np.float32)
    with giver_and_taker(tmp_path, [8 * MIB, 0]) as (there, here, proxy):
        offer = there.put(values).offer()
        with pytest.raises(sluice.Unavailable, match=proxy.address):
            here.fetch(offer, proxy.address, timeout=PATIENCE)
        np.testing.assert_array_equal(here.fetch(offer, proxy.address, timeout=PATIENCE).numpy(), values)


def test_a_tensor_that_left_meanwhile_is_not_found(tmp_path: pathlib.Path) -> None:
    """Its daemon gave it up between two connections."""
    with giver_and_taker(tmp_path, []) as (there, here, proxy):
        tensor = there.put(np.zeros(4, np.float32))
        offer = tensor.offer()
        tensor.remove()
        with pytest.raises(sluice.NotFound, match="offer the tensor again"):
            here.fetch(offer, proxy.address, timeout=PATIENCE)
