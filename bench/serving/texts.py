#!/usr/bin/env python3
"""Chats of many clients through `/v1/chat/completions`: tokens per second and times to the first token, of Sluice beside
llama-server; and the 99th percentile of an image network that shares a second daemon with the chats, without and with them.

    .venv/bin/python bench/serving/texts.py --llama LLAMA/bin          # as bench/generation.py makes it: 8 minutes
    .venv/bin/python bench/serving/texts.py --shape tiny --rounds 1    # Sluice alone, in seconds

llama-server is no package of PyPI; the source of llama-cpp-python has it. `llama_cpp.server` of that package answers one
request after another, so it is no peer. Both servers have the same GGUF file, the same processors and as many places as there are
clients, and run all the time; the loads take turns. A load is a list of chats of mixed lengths, the same for both and new in
each round; a client asks for the next one when its answer has ended. Percentiles are of all rounds together.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "bench/models")]

import make  # noqa: E402
from harness import document, machine, sluice_cli  # noqa: E402
from texts import at_once, engines, folder, speeds  # noqa: E402

MODEL, IMAGES = "text", "mobilenetv2"
PLACES = 512  # of a chat


@dataclass(frozen=True)
class Chat:
    words: str
    tokens: int


@dataclass(frozen=True)
class Answer:
    first_s: float  # from the request to the first text
    tokens: int


@dataclass(frozen=True)
class Load:
    answers: list[Answer]
    seconds: float

    def rate(self) -> float:
        return sum(answer.tokens for answer in self.answers) / self.seconds


def chats(count: int, seed: int) -> list[Chat]:
    """From a line to a page: words of four letters, two tokens each."""
    random = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        letters = random.integers(ord("a"), ord("z") + 1, (int(np.exp(random.uniform(np.log(4), np.log(80)))), 4))
        made.append(Chat(" ".join("".join(map(chr, word)) for word in letters), int(random.integers(8, 65))))
    return made


def ask(address: str, chat: Chat) -> Answer:
    began, first, tokens = time.perf_counter(), 0.0, 0
    fields = {"model": MODEL, "messages": [{"role": "user", "content": chat.words}], "max_tokens": chat.tokens, "temperature": 0,
              "stream_options": {"include_usage": True}}
    for event in at_once.events(address, "/v1/chat/completions", fields):
        if not first and any(choice["delta"].get("content") for choice in event["choices"]):
            first = time.perf_counter() - began
        if event.get("usage"):
            tokens = event["usage"]["completion_tokens"]
    if not tokens:
        raise sluice_cli.SluiceError(f"{address}: an answer without tokens")
    return Answer(first or time.perf_counter() - began, tokens)


def load(address: str, clients: int, of: list[Chat]) -> Load:
    began = time.perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        answers = list(pool.map(lambda chat: ask(address, chat), of))
    return Load(answers, time.perf_counter() - began)


@contextlib.contextmanager
def llama_server(options: argparse.Namespace, model: Path, log: Path) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = engines.pinned(options.threads, [
        options.llama / "llama-server", "-m", model, "-a", MODEL, "-t", options.threads, "-tb", options.threads, "-np", options.clients,
        "-c", options.clients * PLACES, "--host", "127.0.0.1", "--port", port, "--cache-ram", 0])
    with log.open("w") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
    try:
        at_once.wait_until_ready(f"127.0.0.1:{port}", "/health", lambda: log.read_text()[-3000:] if process.poll() is not None else "")
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def images_p99(options: argparse.Namespace, address: str) -> float:
    """Milliseconds, by `sluice perf`: of one load, whether its windows agreed or not."""
    done = subprocess.run(
        [sluice_cli.binary(), "perf", IMAGES, "--http", address, "--concurrency", "1", "--window", str(options.seconds / 3),
         "--windows", "3", "--stability", "1000", "--json"], capture_output=True, text=True, check=False)
    if not done.stdout:
        raise sluice_cli.SluiceError(f"sluice perf: {done.stderr}")
    return float(json.loads(done.stdout)[0]["p99_us"]) / 1000


def beside(address: str, options: argparse.Namespace, seed: int, measure: Callable[[], float]) -> float:
    """What `measure` gives while the clients chat."""
    is_over = threading.Event()

    def chat_on(client: int) -> None:
        for one in chats(1000, 1000 * seed + client):
            if is_over.is_set():
                return
            ask(address, one)

    with ThreadPoolExecutor(options.clients) as pool:
        clients = [pool.submit(chat_on, client) for client in range(options.clients)]
        try:
            time.sleep(1)  # the first prompts are in flight
            found = measure()
        finally:
            is_over.set()
        for client in clients:
            client.result()
    return found


def line(name: str, loads: list[Load]) -> str:
    firsts = [answer.first_s for one in loads for answer in one.answers]
    p50, p99 = np.percentile(firsts, [50, 99])
    return f"| {name} | {statistics.median(one.rate() for one in loads):.1f} | {p50:.2f} | {p99:.2f} |"


def measure(options: argparse.Namespace, servers: dict[str, str], shared: str) -> str:
    """`servers` have the text model alone; `shared` has the image network, too, so each of them has its part of the cores."""
    loads: dict[str, list[Load]] = {name: [] for name in servers}
    reads, alone, together = [], [], []
    for seed in range(options.rounds):
        reads.append(speeds.read_speed(options.threads))
        for name, address in servers.items():
            loads[name].append(load(address, options.clients, chats(options.chats, seed)))
            print(f"round {seed + 1}: {name}, {loads[name][-1].rate():.1f} tokens/s", file=sys.stderr, flush=True)
        alone.append(images_p99(options, shared))
        together.append(beside(shared, options, seed, lambda: images_p99(options, shared)))
        print(f"round {seed + 1}: {IMAGES}, 99th percentile {alone[-1]:.1f} and {together[-1]:.1f} ms", file=sys.stderr, flush=True)
    lines = [f"`bench/serving/texts.py`: {options.clients} clients, {options.shape} {options.weights}, {options.threads} threads:", "",
             "| server | tokens/s | first token, s: median | 99th percentile |", "|---|--:|--:|--:|",
             *(line(name, of) for name, of in loads.items()), ""]
    if len(loads) > 1:
        rates = [a.rate() / b.rate() for a, b in zip(*loads.values(), strict=True)]
        lines.append(f"Sluice writes {statistics.median(rates):.2f} times the tokens of llama-server.")
    ratio = statistics.median(b / a for a, b in zip(alone, together, strict=True))
    lines.append(f"{IMAGES} in a daemon with the text model, 99th percentile: {statistics.median(alone):.1f} ms alone, "
                 f"{statistics.median(together):.1f} ms beside the chats, ratio {ratio:.2f}.")
    lines.append(f"Memory: {min(reads):.1f} to {max(reads):.1f} GB/s. {options.rounds} rounds of {options.chats} chats. "
                 f"{machine.when_and_where()}.")
    return "\n".join(lines) + "\n"


def packages(options: argparse.Namespace) -> tuple[Path, dict[str, Path]]:
    """The GGUF file, and Sluice's packages by their names."""
    source = folder.make(options.shape, options.folder / f"texts-{options.shape}")
    model = engines.gguf_of(source, options.weights)
    text = source.with_name(f"{source.name}-{options.weights}-f16.sluice")
    networks = options.folder / "networks"
    networks.mkdir(exist_ok=True)
    return model, {MODEL: sluice_cli.compile_model(model, text, options=["--packed-only", "--kv-cache", "f16", "--weights", "int8"]),
                   IMAGES: sluice_cli.compile_model(make.write(IMAGES, networks), networks / f"{IMAGES}.sluice")}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--llama", type=Path, metavar="FOLDER", help="has llama-server")
    parser.add_argument("--shape", choices=folder.SHAPES, default="1.1b")
    parser.add_argument("--weights", choices=engines.gguf_file.ROUNDED, default="q4_0")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--chats", type=int, default=48, help="of a load")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=9, help="of a measurement of the image network")
    parser.add_argument("--write", action="store_true", help="put the table into docs/benchmarks.md")
    parser.add_argument("--folder", type=Path, default=ROOT / "build/bench")
    options = parser.parse_args()
    model, made = packages(options)
    with tempfile.TemporaryDirectory() as scratch, contextlib.ExitStack() as stack:
        pinned = engines.pinned(options.threads, [])
        servers = {"Sluice": stack.enter_context(at_once.serving({MODEL: made[MODEL]}, pinned))}
        shared = stack.enter_context(at_once.serving(made, pinned))
        if options.llama:
            servers["llama-server"] = stack.enter_context(llama_server(options, model, Path(scratch) / "llama.log"))
        for address in (*servers.values(), shared):
            load(address, options.clients, chats(options.clients, 1 << 20))
        found = measure(options, servers, shared)
    print(found)
    if options.write:
        document.write_table(document.BENCHMARKS, "chats", found)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (sluice_cli.SluiceError, RuntimeError) as error:
        sys.exit(f"texts: {error}")
