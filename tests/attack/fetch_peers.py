"""The two sides of a fetch between daemons, frame by frame: who asks, and who answers what it likes."""

from __future__ import annotations

import select
import socket
import threading
from pathlib import Path

from flooder import GREETING, frame
from pressure import Daemon, Watched
from harness import HANG_S

METHOD = "/sluice.v1.Exchange/FetchTensor"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, WINDOW_UPDATE = 0, 1, 3, 4, 6, 8
END_STREAM, ACK, END_HEADERS = 1, 1, 4
F32 = 1


def giver(folder: Path, *flags: str) -> Watched:
    """A daemon that serves peers without TLS that have the token `knock`."""
    (folder / "tokens").write_text("knock inference guest\n")
    return Watched(folder / "giver", "--exchange-listen", "localhost:0", "--exchange-plain", "--exchange-peers",
                   "token:guest", "--token-file", str(folder / "tokens"), *flags, level="4")


def port_of(daemon: Daemon) -> tuple[str, int]:
    """Where it serves peers."""
    return "127.0.0.1", int(daemon.door("exchange").rpartition(":")[2])


def text(value: str) -> bytes:
    """HPACK's, without Huffman's code. Requires: less than 127 bytes."""
    return bytes([len(value)]) + value.encode()


def varint(value: int) -> bytes:
    end = b""
    while value > 127:
        end += bytes([value & 127 | 128])
        value >>= 7
    return end + bytes([value])


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def block(field: int, value: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(value)) + value


def message(payload: bytes) -> bytes:
    return b"\x00" + len(payload).to_bytes(4, "big") + payload


class Peer:
    """A daemon that fetches, with a token, and gives the other side no more room than HTTP/2 begins with."""

    def __init__(self, address: tuple[str, int], token: str) -> None:
        self._socket = socket.create_connection(address, timeout=HANG_S)
        self._socket.sendall(GREETING)
        self._token = token
        self._next = 1
        self._unread = b""
        self.open: set[int] = set()  #: streams that have not ended
        self.num_data = 0  #: bytes that came
        self.num_refused = 0  #: fetches that got a status and no head before it
        self._begun: set[int] = set()  #: streams that had a head

    def fetch(self, index: int, key: str) -> None:
        stream, self._next = self._next, self._next + 2
        # Names of RFC 7541's table: 3 POST, 6 http, 4 :path, 1 :authority, 31 content-type, 23 authorization.
        head = (b"\x83\x86\x04" + text(METHOD) + b"\x01" + text("localhost") + b"\x0f\x10"
                + text("application/grpc") + b"\x00" + text("te") + text("trailers") + b"\x0f\x08"
                + text(f"Bearer {self._token}"))
        body = message(number(1, index) + block(2, key.encode()))
        self.open.add(stream)
        self._socket.sendall(frame(HEADERS, END_HEADERS, stream, head) + frame(DATA, END_STREAM, stream, body))

    def grant(self, size: int) -> None:
        """Room for `size` more bytes of each stream."""
        more = size.to_bytes(4, "big")
        self._socket.sendall(b"".join(frame(WINDOW_UPDATE, 0, stream, more) for stream in (0, *self.open)))

    def read(self) -> None:
        """What has come."""
        while select.select([self._socket], [], [], 0)[0]:
            came = self._socket.recv(1 << 16)
            assert came, "the daemon hung up"
            self._unread += came
        while len(self._unread) >= 9:
            size = int.from_bytes(self._unread[:3], "big")
            if len(self._unread) < 9 + size:
                return
            kind, flags, stream = self._unread[3], self._unread[4], int.from_bytes(self._unread[5:9], "big")
            payload, self._unread = self._unread[9:9 + size], self._unread[9 + size:]
            if kind == PING and not flags & ACK:
                self._socket.sendall(frame(PING, ACK, 0, payload))
            self.num_data += size if kind == DATA else 0
            if kind == HEADERS:
                self.num_refused += stream not in self._begun and bool(flags & END_STREAM)
                self._begun.add(stream)
            if kind == RST_STREAM or (kind in (HEADERS, DATA) and flags & END_STREAM):
                self.open.discard(stream)

    def close(self) -> None:
        self._socket.close()


def head_of(dims: list[int], size_bytes: int) -> bytes:
    """A message about a tensor of f32."""
    tensor = number(2, F32) + b"".join(number(3, dim) for dim in dims)
    return message(block(1, tensor) + number(2, size_bytes))


def chunk_of(payload: bytes) -> bytes:
    return message(block(3, payload))


def answer_of(*messages: bytes) -> bytes:
    """The frames that begin an answer; each message in a frame of its own."""
    head = b"\x88\x0f\x10" + text("application/grpc")  # :status 200
    return frame(HEADERS, END_HEADERS, 1, head) + b"".join(frame(DATA, 0, 1, one) for one in messages)


END_OF_ANSWER = frame(HEADERS, END_HEADERS | END_STREAM, 1, b"\x00" + text("grpc-status") + text("0"))


class Source:
    """A daemon that is asked for a tensor, until the program ends. `first`: what it sends to whoever connects;
    `answer`: frames for whoever asks; `closes`: it closes the connection behind them."""

    def __init__(self, answer: bytes, first: bytes = frame(SETTINGS, 0, 0), closes: bool = False) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listening.getsockname()[1]}"
        self._answer, self._first, self._closes = answer, first, closes
        self.was_asked, self.was_left = threading.Event(), threading.Event()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            threading.Thread(target=self._talk, args=self._listening.accept()[:1], daemon=True).start()

    def _talk(self, one: socket.socket) -> None:
        asked, has_answered = b"", False
        with one:
            try:
                one.sendall(self._first)
                while came := one.recv(1 << 16):
                    asked += came
                    if METHOD.encode() not in asked or has_answered:
                        continue
                    one.sendall(frame(SETTINGS, ACK, 0) + self._answer)
                    has_answered = True
                    self.was_asked.set()
                    if self._closes:
                        break
            except OSError:
                pass  # the other side is gone
        self.was_left.set()
