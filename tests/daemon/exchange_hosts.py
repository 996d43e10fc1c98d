#!/usr/bin/env python3
"""Tensors that one daemon fetches from another one: the commands, their timeout, certificates on both sides.

    tests/daemon/exchange_hosts.py BUILD_FOLDER

The certificates are made by openssl here; without it the test is skipped.
"""

import shutil
import signal
import sys
from pathlib import Path

from harness import Authority, Daemon, at, compile_digits, holds, prove, same, suspend


def tls(authority: Authority, name: str) -> list[str]:
    certificate, key = authority.sign(name)
    return ["--exchange-ca", str(authority.ca), "--tls-certificate", certificate, "--tls-key", key]


def kept_output(folder: Path, daemon: Daemon) -> str:
    """exchange:INDEX of an output of digits, which is in `folder`/plain, too."""
    sluice = at(daemon)
    sluice.text("load", str(compile_digits(folder)), "--name", "digits")
    [one] = sluice.json("models")
    source, sink = one["inputs"][0]["name"], one["outputs"][0]["name"]
    sluice.text("infer", "digits", "--input", f"{source}=zeros", "--output-dir", str(folder / "plain"))
    said = sluice.text("infer", "digits", "--input", f"{source}=zeros", "--put", sink)
    return said.strip().partition(": ")[2]


def a_host_with_a_named_certificate_fetches_what_is_offered(folder: Path) -> None:
    authority, stranger = Authority(folder, "ca"), Authority(folder, "strangers")
    with Daemon(folder / "a", *tls(authority, "giver"), "--exchange-listen", "localhost:0", "--exchange-peers",
                "certificate:taker") as giver:
        source = giver.door("exchange")
        tensor = kept_output(folder, giver)
        offered = at(giver).text("offer", tensor).strip()
        holds(offered, f"{tensor}@")
        with Daemon(folder / "b", *tls(authority, "taker"), "--exchange-sources", source) as taker:
            sluice = at(taker)
            said = sluice.json("fetch", offered, "--from", source)
            same(said["type"], "f32[1,10]")
            holds(sluice.text("fetch", offered, "--from", source, "--output-dir", str(folder / "copy")), ".npy")
            [copy], [plain] = (folder / "copy").iterdir(), (folder / "plain").iterdir()
            same(copy.read_bytes(), plain.read_bytes())
            holds(sluice.refusal("fetch", tensor, "--from", source), "exchange:INDEX@KEY")
            holds(sluice.refusal("fetch", offered[:-1], "--from", source), "offer the tensor again")
            holds(sluice.refusal("fetch", offered, "--from", "localhost:1"), "exchange_sources")
        with Daemon(folder / "c", *tls(authority, "other"), "--exchange-sources", source) as other:
            holds(at(other).refusal("fetch", offered, "--from", source), "certificate other is not in")
        with Daemon(folder / "d", *tls(stranger, "taker2"), "--exchange-sources", source) as unknown:
            holds(at(unknown).refusal("fetch", offered, "--from", source), source)
        with Daemon(folder / "e", "--exchange-plain", "--exchange-sources", source) as plain:
            holds(at(plain).refusal("fetch", offered, "--from", source), source)
        same(giver.stop(), 0)


def a_fetch_from_a_silent_host_ends_with_its_timeout(folder: Path) -> None:
    (folder / "tokens").write_text("knock inference taker\n")
    (folder / "own").write_text("knock\n")
    with Daemon(folder / "a", "--exchange-plain", "--exchange-listen", "localhost:0", "--exchange-peers",
                "token:taker", "--token-file", str(folder / "tokens")) as giver:
        source = giver.door("exchange")
        offered = at(giver).text("offer", kept_output(folder, giver)).strip()
        with Daemon(folder / "b", "--exchange-plain", "--exchange-sources", source, "--exchange-token-file",
                    str(folder / "own"), "--upload-idle-seconds", "3600") as taker:  # waiting for that is a hang
            fetch = ("fetch", offered, "--from", source, "--timeout")
            holds(at(taker).text(*fetch, "300"), "f32[1,10]")
            suspend(giver.process.pid)
            holds(at(taker).refusal(*fetch, "0.1"), "deadline")
            giver.process.send_signal(signal.SIGCONT)
            holds(at(taker).text(*fetch, "300"), "f32[1,10]")


if __name__ == "__main__":
    if shutil.which("openssl") is None:
        print("skipped: no openssl")
        sys.exit(77)
    sys.exit(prove([
        a_host_with_a_named_certificate_fetches_what_is_offered,
        a_fetch_from_a_silent_host_ends_with_its_timeout,
    ]))
