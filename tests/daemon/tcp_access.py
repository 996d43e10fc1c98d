#!/usr/bin/env python3
"""Who may speak to a daemon over TCP: tokens, TLS, certificates of clients.

    tests/daemon/tcp_access.py BUILD_FOLDER

The certificates are made by openssl here; without it the test is skipped.
"""

import json
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from harness import BUILD, MACHINE, Authority, Daemon, Sluice, eventually, holds, prove, same


def tcp_of(daemon: Daemon) -> str:
    [address] = [one for one in daemon.addresses if one.startswith("localhost:")]
    return address


def each_is_refused(clients: list[Sluice], says: str) -> None:
    """Side by side: a client waits a while for a connection that does not come."""
    with ThreadPoolExecutor() as pool:
        for said in pool.map(lambda client: client.refusal("models"), clients):
            holds(said, says)


def token_is_required_over_tcp_only(folder: Path) -> None:
    (folder / "tokens").write_text("first-secret\n\nsecond-secret\n")
    with Daemon(folder / "d", "-g", "localhost:0", "--token-file", str(folder / "tokens")) as daemon:
        tcp = ("--address", tcp_of(daemon))
        for token in ("first-secret", "second-secret"):
            same(Sluice(*tcp, "--token", token).json("models"), [])
        same(Sluice(*tcp, environment={"SLUICE_TOKEN": "first-secret"}).json("models"), [])
        same(Sluice("--address", daemon.socket).json("models"), [])
        wrong = ["wrong", "first-secre", "first-secret1", "First-secret", "first-secret second-secret"]
        each_is_refused([Sluice(*tcp), *(Sluice(*tcp, "--token", token) for token in wrong)],
                        "the call has no token that this daemon knows")
        for command in (("server",), ("sessions",), ("stats",), ("groups",), ("groups", "--create", "1"),
                        ("unload", "1"), ("start", "1"), ("sessions", "--kill", "1")):
            holds(Sluice(*tcp).refusal(*command), "token")
        assert "first-secret" not in daemon.said(), "a secret is in the log"


def a_file_without_a_token_is_refused(folder: Path) -> None:
    (folder / "tokens").write_text("\n")
    said = start_refusal(folder, "--token-file", str(folder / "tokens"))
    holds(said, "has no token")
    holds(start_refusal(folder, "--token-file", str(folder / "missing")), "missing")


def start_refusal(folder: Path, *flags: str) -> str:
    """The error message of a daemon that does not start."""
    machine = folder / "machine.json"
    machine.write_text(json.dumps(MACHINE))
    done = subprocess.run([str(BUILD / "bin/sluiced"), "--sim", str(machine), "--lock-folder",
                           str(folder / "locks"), "-g", f"unix:{folder / 's.sock'}", *flags],
                          capture_output=True, text=True, check=False)
    same(done.returncode, 1)
    return done.stderr


def without_a_certificate_only_loopback_is_listened_on(folder: Path) -> None:
    for address in ("0.0.0.0:0", "[::]:0"):
        holds(start_refusal(folder, "-g", address), "there is no TLS certificate")


def tls_serves_clients_that_trust_the_authority(folder: Path) -> None:
    authority, stranger = Authority(folder, "ca"), Authority(folder, "stranger")
    certificate, key = authority.sign("server")
    (folder / "tokens").write_text("secret\n")
    with Daemon(folder / "d", "-g", "localhost:0", "--tls-certificate", certificate, "--tls-key", key,
                "--token-file", str(folder / "tokens")) as daemon:
        tcp = ("--address", tcp_of(daemon))
        known = ("--ca", str(authority.ca))
        same(Sluice(*tcp, *known, "--token", "secret").json("models"), [])
        holds(Sluice(*tcp, *known).refusal("models"), "token")
        each_is_refused([Sluice(*tcp, "--ca", str(stranger.ca), "--token", "secret"),
                         Sluice(*tcp, "--token", "secret")], "TLS")
        address = tcp_of(daemon).replace("localhost", "127.0.0.1")
        same(Sluice("--address", address, *known, "--token", "secret").json("models"), [])
        same(Sluice("--address", daemon.socket).json("models"), [])


def mutual_tls_refuses_clients_without_a_certificate(folder: Path) -> None:
    authority, stranger = Authority(folder, "ca"), Authority(folder, "stranger")
    certificate, key = authority.sign("server")
    with Daemon(folder / "d", "-g", "localhost:0", "--tls-certificate", certificate, "--tls-key", key,
                "--tls-client-ca", str(authority.ca)) as daemon:
        known = ("--address", tcp_of(daemon), "--ca", str(authority.ca))

        def with_certificate(signed: tuple[str, str]) -> Sluice:
            return Sluice(*known, "--certificate", signed[0], "--key", signed[1])

        same(with_certificate(authority.sign("client")).json("models"), [])
        each_is_refused([Sluice(*known), with_certificate(stranger.sign("intruder"))], "TLS")


def certificates_are_replaced_without_a_restart(folder: Path) -> None:
    old, new = Authority(folder, "old"), Authority(folder, "new")
    certificate, key = (Path(one) for one in old.sign("server"))
    with Daemon(folder / "d", "-g", "localhost:0", "--tls-certificate", str(certificate), "--tls-key",
                str(key)) as daemon:
        tcp = ("--address", tcp_of(daemon))

        def reload() -> str:
            """The log of the reload."""
            before = daemon.said().count("daemon.reload")
            daemon.process.send_signal(signal.SIGHUP)
            eventually(lambda: daemon.said().count("daemon.reload") > before and daemon.said().endswith("\n"))
            return daemon.said().splitlines()[-1]

        def serves(authority: Authority) -> None:
            same(Sluice(*tcp, "--ca", str(authority.ca)).json("models"), [])

        serves(old)
        # A certificate without its key is refused, and the old one stays.
        new_certificate, new_key = (Path(one) for one in new.sign("server2"))
        shutil.copy(new_certificate, certificate)
        holds(reload(), "cannot be used with the key")
        serves(old)
        shutil.copy(new_key, key)
        holds(reload(), "daemon.reload changed")
        serves(new)
        each_is_refused([Sluice(*tcp, "--ca", str(old.ca))], "TLS")


def invalid_tls_files_are_named(folder: Path) -> None:
    authority = Authority(folder, "ca")
    certificate, key = authority.sign("server")
    _, other_key = authority.sign("other")
    broken = folder / "broken.pem"
    broken.write_text("no certificate")
    holds(start_refusal(folder, "--tls-certificate", certificate), "tls_certificate and tls_key belong together")
    for pair in ((str(folder / "missing.pem"), key), (certificate, str(folder / "missing.pem"))):
        said = start_refusal(folder, "-g", "localhost:0", "--tls-certificate", pair[0], "--tls-key", pair[1])
        holds(said, "missing.pem")
    for pair in ((str(broken), key), (certificate, str(broken)), (certificate, other_key)):
        said = start_refusal(folder, "-g", "localhost:0", "--tls-certificate", pair[0], "--tls-key", pair[1])
        holds(said, "certificate")
    client = Sluice("--address", "localhost:1")
    holds(client.refusal("models", "--certificate", certificate, "--key", key), "without --ca there is no TLS")
    for half in (("--certificate", certificate), ("--key", key)):
        holds(client.refusal("models", "--ca", str(authority.ca), *half), "--certificate and --key belong together")
    holds(client.refusal("models", "--ca", str(folder / "missing.pem")), "missing.pem")


if __name__ == "__main__":
    if shutil.which("openssl") is None:
        print("skipped: no openssl")
        sys.exit(77)
    sys.exit(prove([
        token_is_required_over_tcp_only,
        a_file_without_a_token_is_refused,
        without_a_certificate_only_loopback_is_listened_on,
        tls_serves_clients_that_trust_the_authority,
        mutual_tls_refuses_clients_without_a_certificate,
        certificates_are_replaced_without_a_restart,
        invalid_tls_files_are_named,
    ]))
