#!/usr/bin/env python3
"""HTTP over TLS: the certificates of gRPC's port on the ports of HTTP and of the metrics.

    tests/daemon/doors/https.py BUILD_FOLDER

The certificates are made by openssl here; without it the test is skipped.
"""

import contextlib
import http.client
import json
import shutil
import signal
import socket
import ssl
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import HANG_S, Authority, Daemon, Sluice, at, compile_digits, eventually, holds, prove, same  # noqa: E402


def serving(folder: Path, certificate: tuple[str, str], *flags: str) -> Daemon:
    return Daemon(folder / "d", "--http", "localhost:0", "--metrics", "localhost:0", "--tls-certificate", certificate[0],
                  "--tls-key", certificate[1], *flags)


def port_of(daemon: Daemon, door: str = "http") -> int:
    return int(daemon.door(door).rpartition(":")[2])


def trusting(authority: Authority, own: tuple[str, str] | None = None) -> ssl.SSLContext:
    """The context of a client that trusts the authority, perhaps with a certificate of its own."""
    context = ssl.create_default_context(cafile=str(authority.ca))
    if own is not None:
        context.load_cert_chain(*own)
    return context


def connected(port: int) -> socket.socket:
    return socket.create_connection(("localhost", port), timeout=HANG_S)


def ask(port: int, context: ssl.SSLContext, path: str = "/v2/health/live") -> tuple[int, bytes]:
    client = http.client.HTTPSConnection("localhost", port, timeout=HANG_S, context=context)
    try:
        client.request("GET", path)
        reply = client.getresponse()
        return reply.status, reply.read()
    finally:
        client.close()


def refusal(port: int, context: ssl.SSLContext) -> str:
    """A server may refuse a certificate after the client took the connection for made."""
    try:
        ask(port, context)
    except (ssl.SSLError, ConnectionError, http.client.HTTPException) as error:
        return str(error)
    raise AssertionError("it was served")


def curl(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["curl", "--silent", "--show-error", "--max-time", str(HANG_S), *arguments],
                          capture_output=True, text=True, check=False)


def pages_metrics_and_calls_come_over_tls(folder: Path) -> None:
    authority, stranger = Authority(folder, "ca"), Authority(folder, "stranger")
    with serving(folder, authority.sign("server")) as daemon:
        known = trusting(authority)
        same(ask(port_of(daemon), known)[0], 200)
        holds(ask(port_of(daemon), known, "/")[1].decode(), "<html")
        for door in ("http", "metrics"):
            holds(ask(port_of(daemon, door), known, "/metrics")[1].decode(), "sluice_")
        holds(refusal(port_of(daemon), trusting(stranger)), "certificate verify failed")
        same(ask(port_of(daemon), known)[0], 200)
        if shutil.which("curl") is not None:
            url = f"https://localhost:{port_of(daemon)}/v2/health/ready"
            good = curl("--cacert", str(authority.ca), "--write-out", "%{http_code} %{http_version}", "-o",
                        str(folder / "body"), url)
            same((good.returncode, good.stdout), (0, "200 2"))
            same(curl("--cacert", str(stranger.ca), url).returncode, 60)
            same(curl(url).returncode, 60)


def both_protocols_serve_the_same_calls(folder: Path) -> None:
    if shutil.which("curl") is None:
        print("     skipped: no curl")
        return
    authority = Authority(folder, "ca")
    with serving(folder / "tls", authority.sign("server")) as tls, Daemon(folder / "plain", "--http", "localhost:0",
                                                                          "--metrics", "localhost:0") as plain:
        for daemon, scheme, ways in (
                (tls, "https", {"2": ["--http2"], "1.1": ["--http1.1"]}),
                (plain, "http", {"2": ["--http2-prior-knowledge"], "1.1": ["--http2"]})):  # the last asks to upgrade
            at(daemon).text("load", str(compile_digits(folder)), "--name", "digits")
            body = json.dumps({"inputs": [{"name": "image", "shape": [1, 1, 8, 8], "datatype": "FP32",
                                           "data": [0.5] * 64}]})
            answers = set()
            for version, flags in ways.items():
                for door, path, data in (("http", "/v2/models/digits/infer", ["--data", body]), ("metrics", "/metrics", [])):
                    done = curl("--cacert", str(authority.ca), *flags, "--write-out", "\n%{http_code} %{http_version}", *data,
                                f"{scheme}://localhost:{port_of(daemon, door)}{path}")
                    text, _, verdict = done.stdout.rpartition("\n")
                    same((done.returncode, verdict), (0, f"200 {version}"))
                    if door == "http":
                        answers.add(text)
            same(len(answers), 1)
            if scheme == "http":
                continue  # curl 7.88 loses requests that share a connection which it began with prior knowledge
            many = curl("--cacert", str(authority.ca), *ways["2"], "--parallel", "--write-out", "\n%{http_code}\n",
                        *[f"{scheme}://localhost:{port_of(daemon)}/v2/health/ready"] * 20)
            same(many.stdout.split("\n").count("200"), 20)


def protocols_are_agreed_on(folder: Path) -> None:
    authority = Authority(folder, "ca")
    with serving(folder, authority.sign("server")) as daemon:
        def agreed(*offered: str) -> str | None:
            context = trusting(authority)
            context.set_alpn_protocols(list(offered))
            with connected(port_of(daemon)) as plain, context.wrap_socket(plain, server_hostname="localhost") as client:
                return client.selected_alpn_protocol()

        same(agreed("http/1.1", "h2"), "h2")
        same(agreed("http/1.1"), "http/1.1")
        same(agreed("http/1.0"), "http/1.0")
        try:
            raise AssertionError(agreed("h3"))
        except ssl.SSLError as error:
            holds(str(error).upper().replace(" ", "_"), "NO_APPLICATION_PROTOCOL")
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            context = trusting(authority)
            context.minimum_version = context.maximum_version = version
            same(ask(port_of(daemon), context)[0], 200)
        old = subprocess.run(["openssl", "s_client", "-connect", f"localhost:{port_of(daemon)}", "-tls1_1", "-cipher",
                              "ALL:@SECLEVEL=0"], input="", capture_output=True, text=True, check=False)
        assert old.returncode != 0, old


def renegotiation_is_refused(folder: Path) -> None:
    authority = Authority(folder, "ca")
    with serving(folder, authority.sign("server")) as daemon:
        asked = subprocess.run(["openssl", "s_client", "-connect", f"localhost:{port_of(daemon)}", "-tls1_2", "-CAfile",
                                str(authority.ca)], input="R\n", capture_output=True, text=True, check=False)
        holds(asked.stdout + asked.stderr, "RENEGOTIATING")
        holds(asked.stderr, "no renegotiation")
        same(ask(port_of(daemon), trusting(authority))[0], 200)


def expired_certificates_are_refused_on_both_sides(folder: Path) -> None:
    authority = Authority(folder, "ca")
    with serving(folder, authority.sign("server", days=-1)) as daemon:
        holds(refusal(port_of(daemon), trusting(authority)), "expired")
    with serving(folder, authority.sign("server"), "--tls-client-ca", str(authority.ca)) as daemon:
        refusal(port_of(daemon), trusting(authority, authority.sign("client", days=-1)))
        same(ask(port_of(daemon), trusting(authority, authority.sign("client")))[0], 200)


def certificates_of_clients_open_the_door_and_give_roles(folder: Path) -> None:
    (folder / "strange").mkdir()  # a certificate of the same name is another file
    authority, stranger = Authority(folder, "ca"), Authority(folder / "strange", "ca")
    with serving(folder, authority.sign("server"), "-g", "localhost:0", "--tls-client-ca", str(authority.ca), "--roles",
                 "certificate:scraper=monitor", "--roles", "certificate:sender=inference") as daemon:
        scraper, sender = authority.sign("scraper"), authority.sign("sender")
        for door in ("http", "metrics"):
            same(ask(port_of(daemon, door), trusting(authority, scraper), "/metrics")[0], 200)
            same(ask(port_of(daemon, door), trusting(authority, sender), "/metrics")[0], 403)
        refusal(port_of(daemon), trusting(authority))
        refusal(port_of(daemon), trusting(authority, stranger.sign("scraper")))
        [grpc] = [one for one in daemon.addresses if one.startswith("localhost:")]
        with_tls = ("--address", grpc, "--ca", str(authority.ca))
        Sluice(*with_tls, "--certificate", scraper[0], "--key", scraper[1]).json("sessions")
        holds(Sluice(*with_tls, "--certificate", sender[0], "--key", sender[1]).refusal("sessions"), "the role monitor")


def who_speaks_otherwise_than_the_port_is_told_so(folder: Path) -> None:
    authority = Authority(folder, "ca")
    with serving(folder, authority.sign("server")) as daemon:
        client = http.client.HTTPConnection("localhost", port_of(daemon), timeout=HANG_S)
        client.request("GET", "/v2/health/live")
        reply = client.getresponse()
        same(reply.status, 400)
        holds(reply.read().decode(), "https://")
        client.close()
    with Daemon(folder / "plain", "--http", "localhost:0") as daemon:
        holds(refusal(port_of(daemon), trusting(authority)).upper().replace(" ", "_"), "WRONG_VERSION_NUMBER")


def half_handshakes_keep_nobody_out(folder: Path) -> None:
    authority = Authority(folder, "ca")
    with serving(folder, authority.sign("server"), "--connections", "32") as daemon:
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        hello = trusting(authority).wrap_bio(incoming, outgoing, server_hostname="localhost")
        try:
            hello.do_handshake()
        except ssl.SSLWantReadError:
            pass
        bytes_of_hello = outgoing.read()
        halves = []
        for i in range(2000):
            half = connected(port_of(daemon))
            with contextlib.suppress(ConnectionError):  # one that made room for another
                half.sendall(bytes_of_hello[: i % len(bytes_of_hello)])
            halves.append(half)
            if len(halves) > 200:  # the descriptors of this process are counted, too
                halves.pop(0).close()
        same(ask(port_of(daemon), trusting(authority))[0], 200)
        for half in halves:
            half.close()
        same(ask(port_of(daemon), trusting(authority))[0], 200)


def certificates_are_replaced_without_a_restart(folder: Path) -> None:
    old, new = Authority(folder, "old"), Authority(folder, "new")
    certificate, key = old.sign("server")
    with serving(folder, (certificate, key)) as daemon:
        kept = http.client.HTTPSConnection("localhost", port_of(daemon), timeout=HANG_S, context=trusting(old))
        kept.request("GET", "/v2/health/live")
        kept.getresponse().read()
        for source, target in zip(new.sign("renewed"), (certificate, key), strict=True):
            shutil.copy(source, target)
        daemon.process.send_signal(signal.SIGHUP)
        eventually(lambda: "daemon.reload changed" in daemon.said(), why=daemon.said)
        for door in ("http", "metrics"):
            same(ask(port_of(daemon, door), trusting(new), "/metrics")[0], 200)
        holds(refusal(port_of(daemon), trusting(old)), "certificate verify failed")
        kept.request("GET", "/v2/health/live")
        same(kept.getresponse().status, 200)
        kept.close()


def perf_drives_models_over_https(folder: Path) -> None:
    authority, stranger = Authority(folder, "ca"), Authority(folder, "stranger")
    with serving(folder, authority.sign("server"), "--tls-client-ca", str(authority.ca)) as daemon:
        at(daemon).text("load", str(compile_digits(folder)))
        own = authority.sign("client")
        own_flags = ("--certificate", own[0], "--key", own[1])
        quick = ("--window", "0.2", "--windows", "3", "--json")

        def perf(address: str, *flags: str) -> subprocess.CompletedProcess[str]:
            return Sluice().run("perf", "digits", "--http", address, *flags, *quick)

        address = f"localhost:{port_of(daemon)}"
        for url in (f"https://{address}", address):
            done = perf(url, "--ca", str(authority.ca), *own_flags)
            [row] = json.loads(done.stdout)
            assert row["failed"] == 0 and row["answered"] > 0, row
        holds(perf(f"https://{address}", "--ca", str(stranger.ca), *own_flags).stderr, "certificate verify failed")
        holds(perf(f"https://{address}", *own_flags).stderr, "certificate verify failed")
        other_name = perf(f"https://127.1:{port_of(daemon)}", "--ca", str(authority.ca), *own_flags)
        holds(other_name.stderr, "certificate verify failed")
        holds(perf(f"http://{address}", "--ca", str(authority.ca)).stderr, "--ca is for https://")
        holds(perf(address, *own_flags).stderr, "TLS needs https:// or --ca")
        holds(perf(address).stderr, "https://")


if __name__ == "__main__":
    if shutil.which("openssl") is None:
        print("skipped: no openssl")
        sys.exit(77)
    sys.exit(prove([
        pages_metrics_and_calls_come_over_tls,
        both_protocols_serve_the_same_calls,
        protocols_are_agreed_on,
        renegotiation_is_refused,
        expired_certificates_are_refused_on_both_sides,
        certificates_of_clients_open_the_door_and_give_roles,
        who_speaks_otherwise_than_the_port_is_told_so,
        half_handshakes_keep_nobody_out,
        certificates_are_replaced_without_a_restart,
        perf_drives_models_over_https,
    ]))
