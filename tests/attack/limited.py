#!/usr/bin/env python3
"""Mixed load and attacks on a sluiced in a control group of 1 GiB: the kernel kills nothing, and others are served
afterwards. Meanwhile they may be refused: gRPC resets calls while what connections hold is near the limit.

    tests/attack/limited.py BUILD_FOLDER [ROUNDS [IMAGE.tar]]     # 1 round by default; some 8 seconds each

In a round users deploy, compute, ask for outputs beyond the limit, upload, fill the exchange, flood the socket and the
port, and kill a cell, all at the same time, while a neighbour asks a function of its own. With IMAGE.tar, which
deploy/image.py writes, the daemon is that of the image, with the image as its root and as the image's user. Only root
can start clients of other users and make control groups.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import tarfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from fetch_peers import block, number
from pressure import Daemon, Flood, Watched, tcp_of
from roles import ALICE, BOB, CAROL, DAVE, User
from tenants import Keeper
from harness import DIGITS, Sluice, at, eventually, holds, prove, same

LIMIT_BYTES = 1 << 30
F32, I64 = 1, 7


def value_info(name: str, element: int, dim: bytes) -> bytes:
    tensor = number(1, element) + block(2, block(1, dim))
    return block(1, name.encode()) + block(2, block(1, tensor))


def model(nodes: list[bytes], values: list[bytes], inputs: list[bytes], outputs: list[bytes]) -> bytes:
    """An ONNX file (onnx.proto has the numbers of the fields)."""
    graph = b"".join([*(block(1, node) for node in nodes), block(2, b"g"), *(block(5, value) for value in values),
                      *(block(11, one) for one in inputs), *(block(12, one) for one in outputs)])
    return number(1, 8) + block(8, number(2, 17)) + block(7, graph)


def node(kind: str, inputs: list[str], output: str) -> bytes:
    return b"".join(block(1, one.encode()) for one in inputs) + block(2, output.encode()) + block(4, kind.encode())


def swelling() -> bytes:
    """8 bytes of input ask for an output of any size."""
    return model([node("ConstantOfShape", ["n"], "y")], [], [value_info("n", I64, number(1, 1))],
                 [value_info("y", F32, block(2, b"y"))])


def heavy(seed: int) -> bytes:
    """64 MiB of constants, of each seed others."""
    count = 16 << 20
    data = struct.pack("<f", seed + 0.5) * count
    constant = number(1, count) + number(2, F32) + block(8, b"c") + block(9, data)
    return model([node("Add", ["x", "c"], "y")], [constant], [value_info("x", F32, number(1, 1))],
                 [value_info("y", F32, number(1, count))])


def npy(value: int) -> bytes:
    header = "{'descr': '<i8', 'fortran_order': False, 'shape': (1,), }".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack("<q", value)


class ControlGroup:
    """A control group of 1 GiB, version 1 or 2, below that of this process."""

    def __init__(self) -> None:
        lines = [line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines()]
        old = [path for _, kinds, path in lines if "memory" in kinds.split(",")]
        new = [path for _, kinds, path in lines if not kinds]
        outer = Path("/sys/fs/cgroup/memory") / old[0].lstrip("/") if old else Path("/sys/fs/cgroup") / new[0].lstrip("/")
        self.path = outer / f"sluice-attack-{os.getpid()}"
        self.path.mkdir()
        self._names = (("memory.limit_in_bytes", "memory.oom_control", "memory.max_usage_in_bytes") if old else
                       ("memory.max", "memory.events", "memory.peak"))
        (self.path / self._names[0]).write_text(str(LIMIT_BYTES))

    def is_removed(self) -> bool:
        """Not before the kernel has buried its processes."""
        try:
            self.path.rmdir()
        except OSError:
            return False
        return True

    def num_killed(self) -> int:
        return int(dict(line.split() for line in (self.path / self._names[1]).read_text().splitlines())["oom_kill"])

    def peak_mib(self) -> int:
        return int((self.path / self._names[2]).read_text()) >> 20


class Limited(Watched):
    """A daemon in the control group; with `image` it is the image's, which lies at `root`."""

    def __init__(self, folder: Path, group: ControlGroup, root: Path | None) -> None:
        (folder / "tokens").write_text("knock inference guest\n")
        super().__init__(folder, "-g", "localhost:0", "--exchange-listen", "localhost:0", "--exchange-plain",
                         "--exchange-peers", "token:guest", "--token-file", str(folder / "tokens"), "--socket-mode", "0666", "--function-lanes", "1",
                         "--function-cells", "1", "--worker-restarts", "1000000", "--memory-per-tenant", "400000000",
                         "--state-file", str(folder / "state.json"), level="4")
        self._command = [word for word in self._command if word not in ("--sim", str(folder / "machine.json"))]
        enter = f'echo $$ > "{group.path}/cgroup.procs"; '
        if root:
            self._command[0] = "/usr/bin/sluiced"
            mounts = "".join(f'mkdir -p "{root}{one}"; mount --rbind {one} "{root}{one}"; '
                             for one in ("/proc", "/dev", "/sys", str(folder)))
            os.chown(folder, 10001, 10001)
            enter = f'{mounts}{enter}exec chroot --userspec=10001:10001 "{root}" "$@"'
            self._command = ["unshare", "-m", "bash", "-ec", enter, "bash", *self._command]
        else:
            self._command = ["bash", "-ec", f'{enter}exec "$@"', "bash", *self._command]


def unpack(image: Path, to: Path) -> None:
    """The files of the layers of an image archive."""
    with tarfile.open(image) as archive:
        def blob(digest: str) -> bytes:
            return archive.extractfile("blobs/" + digest.replace(":", "/")).read()

        index = json.load(archive.extractfile("index.json"))
        manifest = json.loads(blob(index["manifests"][0]["digest"]))
        for layer in manifest["layers"]:
            with tarfile.open(fileobj=io.BytesIO(gzip.decompress(blob(layer["digest"])))) as files:
                files.extractall(to, filter="fully_trusted")


def packages(folder: Path) -> dict[str, str]:
    files = {"digits": DIGITS.read_bytes(), "swelling": swelling()} | {f"heavy-{i}": heavy(i) for i in range(4)}
    made = {}
    for name, content in files.items():
        (folder / f"{name}.onnx").write_bytes(content)
        Sluice().text("compile", str(folder / f"{name}.onnx"), "-o", str(folder / f"{name}.sluice"))
        made[name] = str(folder / f"{name}.sluice")
    for name, count in (("large", 12 << 20), ("huge", 1 << 30)):
        (folder / f"{name}.npy").write_bytes(npy(count))
        made[name] = str(folder / f"{name}.npy")
    for file in folder.iterdir():
        file.chmod(0o644)
    return made


class Attacks:
    def __init__(self, daemon: Daemon, files: dict[str, str]) -> None:
        self.daemon, self.files = daemon, files
        self.all: list[Callable[[], None]] = [self.deploys, self.swells, self.swells, self.keeps, self.uploads, self.floods,
                                              self.is_silent, self.kills_a_cell]

    def deploys(self) -> None:
        alice = User(ALICE, self.daemon)
        for i in range(3):
            alice.run("deploy", self.files["digits"], "--name", f"hers-{i}", "--batch-rows", "0")
            alice.run("infer", f"hers-{i}", "--input", "image=random", "--repeat", "2000", "--in-flight", "16")
            alice.run("unload", f"hers-{i}")

    def swells(self) -> None:
        """48 MiB of output, and 4 GiB."""
        bob = User(BOB, self.daemon)
        for size in ("large", "huge", "large"):
            bob.run("infer", "swelling", "--input", f"n={self.files[size]}")

    def keeps(self) -> None:
        keepers = [Keeper(self.daemon, user) for user in (CAROL, DAVE) for _ in range(8)]
        for one in keepers:
            one.end()

    def uploads(self) -> None:
        dave = User(DAVE, self.daemon)
        names = [f"heavy-{i}" for i in range(4)]
        for name in names:
            dave.run("deploy", self.files[name], "--name", name, "--keep-warm", "0")
            dave.run("infer", name, "--input", "x=random")
        for name in names:
            dave.run("unload", name)

    def floods(self) -> None:
        for name, user in (("continuation", ALICE), ("rapid reset", None), ("settings", BOB), ("comes and goes", None)):
            with Flood(self.daemon, name, user=user):
                User(CAROL, self.daemon).run("infer", "swelling", "--input", f"n={self.files['large']}")

    def is_silent(self) -> None:
        silent = []
        for _ in range(300):
            try:
                silent.append(socket.create_connection(tcp_of(self.daemon), timeout=1))
            except OSError:
                break
        for one in silent:
            one.close()

    def kills_a_cell(self) -> None:
        for group in at(self.daemon).json("groups"):
            process = group["worker_process"]
            if process > 0:
                os.kill(process, signal.SIGKILL)


def nothing_is_killed_for_its_memory(folder: Path) -> None:
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    folder.chmod(0o755)
    root = None
    if len(sys.argv) > 3:
        root = folder / "root"
        unpack(Path(sys.argv[3]), root)
    (folder / "files").mkdir(mode=0o755)
    files = packages(folder / "files")
    (folder / "d").mkdir(mode=0o755)
    group = ControlGroup()
    try:
        with Limited(folder / "d", group, root) as daemon:
            sluice = at(daemon)
            sluice.text("deploy", files["digits"], "--name", "lane", "--always-warm")
            sluice.text("deploy", files["digits"], "--name", "cell", "--cell")
            sluice.text("deploy", files["swelling"], "--name", "swelling")
            attacks = Attacks(daemon, files)
            answered = 0
            for i in range(rounds):
                with ThreadPoolExecutor(len(attacks.all)) as pool:
                    under_way = [pool.submit(attack) for attack in attacks.all]
                    while not all(one.done() for one in under_way):
                        answered += ask(sluice, "lane")
                    for one in under_way:
                        one.result()
                refusals: list[str] = []
                eventually(lambda: ask(sluice, "lane", refusals) > 0, why=lambda: f"{refusals[-1:]} {daemon.said()}")
                same((daemon.process.poll(), group.num_killed()), (None, 0))
                print(f"     round {i + 1}: {answered} answers of the neighbour, peak {group.peak_mib()} MiB", flush=True)
            holds(sluice.text("server"), "ready")
            same(daemon.stop(), 0)
    finally:
        eventually(group.is_removed, why="processes are left in the control group")


def ask(sluice: Sluice, function: str, refusals: list[str] | None = None) -> int:
    """The answers; none if the daemon, or gRPC near its limit, refuses the client for lack of memory: `refusals` has why."""
    done = sluice.run("infer", function, "--input", "image=random", "--repeat", "200", "--json")
    if done.returncode != 0:
        # gRPC closes connections, or ends them with GOAWAY, while what all of them hold is near its limit.
        assert "resource exhausted" in done.stderr or "unavailable" in done.stderr, done.stderr
        if refusals is not None:
            refusals.append(done.stderr.strip())
        return 0
    figures = json.loads(done.stdout)
    same(figures["failed"], 0)
    return figures["answered"]


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("skipped: only root can start clients of other users")
        sys.exit(77)
    try:
        ControlGroup().path.rmdir()
    except OSError as why:
        print(f"skipped: no control group can be made: {why}")
        sys.exit(77)
    sys.exit(prove([nothing_is_killed_for_its_memory]))
