#!/usr/bin/env python3
"""Attacks on the port where daemons fetch tensors from each other, and on a daemon that fetches. The daemon
lives, its clients are served meanwhile, and memory, descriptors and leases come back.

    tests/attack/exchange_floods.py BUILD_FOLDER [SECONDS]      # of each flood; 0.5 by default
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from fetch_peers import END_OF_ANSWER, Peer, Source, answer_of, chunk_of, giver, head_of, port_of
from flooder import PREFACE
from http2_floods import SECONDS, measured_flood
from pressure import Neighbour, Watched, closes, comes_back, descriptors, heap_kib
from harness import BUILD, HANG_S, Authority, Daemon, at, eventually, holds, is_sanitized, prove, same
from exchange_hosts import tls

FLOODS_OF_STRANGERS = ("rapid reset", "comes and goes", "half a greeting", "rubbish", "ping", "continuation")
TENSOR_BYTES = 40 << 20
MOST_MIB = 32  # that the daemon may take beside a tensor
KEY = "0" * 32


def silent(address: tuple[str, int], count: int, host: str) -> list[socket.socket]:
    return [socket.create_connection(address, timeout=HANG_S, source_address=(host, 0)) for _ in range(count)]


def strangers_take_nothing(folder: Path) -> None:
    with giver(folder, "--connections", "80", "--connections-per-peer", "50") as daemon:
        neighbour, address = Neighbour(daemon, folder), port_of(daemon)
        neighbour.p99_us(20_000)
        for name in FLOODS_OF_STRANGERS:  # tables grow to their bounds
            measured_flood(daemon, neighbour, name, port=address[1])
        fds, kib = descriptors(daemon), heap_kib(daemon)
        for name in FLOODS_OF_STRANGERS:
            measured_flood(daemon, neighbour, name, port=address[1])
        for hosts, most in ((("127.0.0.2",), 50), (("127.0.0.3", "127.0.0.4"), 80)):
            for _ in range(3):
                open_ones = [one for host in hosts for one in silent(address, 600 // len(hosts), host)]
                during_us = neighbour.p99_us()
                # Those that were refused are closing still.
                eventually(lambda most=most: descriptors(daemon) <= fds + most + 10,
                           why="there are limits of one host, and of all")
                for one in open_ones:
                    one.close()
        print(f"     3600 silent connections, neighbour's p99 {during_us:.0f} us during the last")
        comes_back(daemon, fds, kib)
        assert daemon.said().count("connection.refused") < 300, "a flood fills the log"
        same(daemon.stop(), 0)


def strangers_without_a_certificate_take_nothing(folder: Path) -> None:
    if shutil.which("openssl") is None:
        print("     skipped: no openssl")
        return
    with Watched(folder / "giver", *tls(Authority(folder, "ca"), "giver"), "--exchange-listen", "localhost:0",
                "--exchange-peers", "certificate:taker", "--connections-per-peer", "50", level="4") as daemon:
        neighbour, address = Neighbour(daemon, folder), port_of(daemon)
        neighbour.p99_us()
        fds = descriptors(daemon)
        half = silent(address, 30, "127.0.0.2")
        for i, one in enumerate(half):  # the first bytes of TLS, and what should follow them
            one.sendall([b"\x16\x03\x01\x02\x00", PREFACE, b"\x16\x03\x01\x40\x00" + b"\x01" * 100][i % 3])
        for name in ("ping", "continuation", "comes and goes"):
            measured_flood(daemon, neighbour, name, is_tls=True, port=address[1])
        measured_flood(daemon, neighbour, "rubbish", port=address[1])
        closes(daemon, fds)
        for one in half:
            one.close()
        same(daemon.stop(), 0)


class Offerer:
    """A client with an offered tensor, from `with` to its end or to `kill`."""

    def __init__(self, daemon: Daemon) -> None:
        self._command = [str(BUILD / "test/attack_offerer"), daemon.socket, str(TENSOR_BYTES)]

    def __enter__(self) -> Offerer:
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True)
        index, self.key = self._process.stdout.readline().split()
        self.index = int(index)
        return self

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def __exit__(self, *_: object) -> None:
        self.kill()


def slow_readers_end(folder: Path) -> None:
    """300 fetches whose peers take a byte now and then."""
    with giver(folder, "--upload-idle-seconds", "3") as daemon, Offerer(daemon) as offerer:
        neighbour = Neighbour(daemon, folder)
        neighbour.p99_us(20_000)
        fds, kib = descriptors(daemon), heap_kib(daemon)
        peers = [Peer(port_of(daemon), "knock") for _ in range(30)]
        for peer in peers:
            for _ in range(10):
                peer.fetch(offerer.index, offerer.key)
        during_us = neighbour.p99_us()
        more_mib = (heap_kib(daemon) - kib) / 1024

        def have_ended() -> bool:
            for peer in peers:
                peer.read()
                peer.grant(1)
            return not any(peer.open for peer in peers)

        eventually(have_ended)
        refused = sum(peer.num_refused for peer in peers)
        print(f"     300 slow readers: {refused} refused, {more_mib:.1f} MiB more, neighbour's p99 {during_us:.0f} us")
        assert refused > 0, "there is a limit of fetches"
        assert more_mib < MOST_MIB, "readers that take nothing take memory"
        for peer in peers:
            peer.close()
        comes_back(daemon, fds, kib)
        same(daemon.stop(), 0)


def a_lease_ends_with_its_peer(folder: Path) -> None:
    """And not with the tensor's owner, nor with the idle limit."""
    with giver(folder, "--upload-idle-seconds", "600") as daemon, Offerer(daemon) as offerer:
        reader, waiter = (Peer(port_of(daemon), "knock") for _ in range(2))
        for peer in (reader, waiter):
            peer.fetch(offerer.index, offerer.key)
            eventually(lambda peer=peer: peer.read() is None and peer.num_data > 0)
        offerer.kill()
        eventually(lambda: at(daemon).json("sessions") == [])

        def has_ended() -> bool:
            reader.grant(2 << 20)
            reader.read()
            waiter.read()  # answers pings, without which the daemon would end the connection
            return not reader.open

        eventually(has_ended)
        assert reader.num_data > TENSOR_BYTES, "the fetch lost its tensor"
        reader.close()
        kib = heap_kib(daemon)
        assert kib > TENSOR_BYTES >> 10 or is_sanitized(), "the waiting fetch lost its tensor"
        waiter.close()
        eventually(lambda: heap_kib(daemon) < kib - (TENSOR_BYTES >> 11) or is_sanitized())
        same(daemon.stop(), 0)


# By name: who answers, and a part of the client's error.
ONE = head_of([1], 4)
HOSTILE = {
    "a size that contradicts the shape": (lambda: Source(answer_of(head_of([4], 17))), "17"),
    "more than the quota": (lambda: Source(answer_of(head_of([1 << 29], 1 << 31))), "do not fit"),
    "dimensions that overflow": (lambda: Source(answer_of(head_of([1 << 62, 1 << 62], 4))), ""),
    "thousands of dimensions": (lambda: Source(answer_of(head_of([1] * 3000, 4))), "another form"),
    "512 MiB that never come": (lambda: Source(answer_of(head_of([1 << 27], 1 << 29))), "sent nothing"),
    "a chunk beyond the end": (lambda: Source(answer_of(ONE, chunk_of(b"x" * 100))), "another form"),
    "a chunk too many": (lambda: Source(answer_of(ONE, chunk_of(b"good"), chunk_of(b"more"))), "longer"),
    "a message of 2 GiB": (lambda: Source(answer_of(b"\x00\x7f\xff\xff\xff")), ""),
    "an end before the end": (lambda: Source(answer_of(ONE) + END_OF_ANSWER), "too early"),
    "a death in the middle": (lambda: Source(answer_of(head_of([2], 8), chunk_of(b"half")), closes=True), ""),
    "rubbish": (lambda: Source(b"", first=b"\x00" * 4096), ""),
    "silence": (lambda: Source(b"", first=b""), ""),
}


def hostile_sources_take_nothing(folder: Path) -> None:
    sources = {name: make() for name, (make, _) in HOSTILE.items()}
    good = Source(answer_of(ONE, chunk_of(b"good")) + END_OF_ANSWER)
    flags = [word for one in (good, *sources.values()) for word in ("--exchange-sources", one.address)]
    with Watched(folder / "taker", *flags, "--exchange-plain", "--upload-idle-seconds", "2", level="4") as daemon:
        neighbour, sluice = Neighbour(daemon, folder), at(daemon)

        def refusal(name: str) -> str:
            address = sources[name].address
            said = sluice.refusal("fetch", f"exchange:1@{KEY}", "--from", address)
            holds(said, address)
            holds(said, HOSTILE[name][1])
            return said

        def round_us() -> float:
            with ThreadPoolExecutor(8) as pool:  # as many as a daemon fetches at a time
                refusals = [pool.submit(refusal, name) for name in HOSTILE]
                during_us = neighbour.p99_us()
                for one in refusals:
                    one.result()
            return during_us

        neighbour.p99_us(20_000)
        round_us()  # gRPC's client has its size
        fds, kib = descriptors(daemon), heap_kib(daemon)
        during_us = round_us()
        print(f"     {len(HOSTILE)} hostile sources, neighbour's p99 {during_us:.0f} us")
        same(sluice.json("fetch", f"exchange:1@{KEY}", "--from", good.address)["type"], "f32[1]")
        comes_back(daemon, fds, kib)
        same(daemon.stop(), 0)


def a_client_that_dies_ends_its_fetch(folder: Path) -> None:
    """Long before the idle limit."""
    source = Source(answer_of(head_of([2], 8), chunk_of(b"half")))
    with Daemon(folder / "taker", "--exchange-sources", source.address, "--exchange-plain", "--upload-idle-seconds",
                "600", level="4") as daemon:
        client = subprocess.Popen([str(BUILD / "bin/sluice"), "fetch", f"exchange:1@{KEY}", "--from", source.address,
                                   "--address", daemon.socket])
        assert source.was_asked.wait(HANG_S)
        client.kill()
        client.wait()
        assert source.was_left.wait(HANG_S), "the daemon fetches for nobody"
        same(daemon.stop(), 0)


if __name__ == "__main__":
    sys.exit(prove([strangers_take_nothing, strangers_without_a_certificate_take_nothing, slow_readers_end,
                    a_lease_ends_with_its_peer, hostile_sources_take_nothing, a_client_that_dies_ends_its_fetch]))
