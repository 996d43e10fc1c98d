"""Three daemons behind HAProxy, with the configuration that `python -m sluice.cluster haproxy` writes.

    SLUICE_REQUESTS=10000 scripts/test-python BUILD -k haproxy     as many requests as docs/scale.md reports
"""

from __future__ import annotations

import collections
import contextlib
import http.client
import pathlib
import socket
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import daemon as daemons
import pytest
from balancer import REQUESTS, Balancer, haproxy, infer_http, port_of, send_grpc, send_http, while_sending
from conftest import PATIENCE, eventually
from hosts import hosts
from sluice.cluster import __main__ as cluster
from sluice.cluster.haproxy import configuration, health_check
from sluice.cluster.nodes import Node

@pytest.fixture
def balancer(tmp_path: pathlib.Path, request: pytest.FixtureRequest) -> Iterator[Balancer]:
    made = Balancer(tmp_path, *getattr(request, "param", ()))
    try:
        haproxy()
        made.start()
        yield made
    finally:
        made.close()


def test_load_is_spread_and_a_killed_daemon_costs_no_stateless_request(balancer: Balancer) -> None:
    assert while_sending(send_http, balancer.http, lambda: None) == []
    totals = balancer.totals("http_stateless")
    # Shares follow what daemons say of their load, which other work on the machine shifts.
    assert sum(totals) >= REQUESTS and min(totals) > 0, totals

    def kill() -> None:
        before = sum(balancer.totals("http_stateless"))
        eventually(lambda: sum(balancer.totals("http_stateless")) > before + REQUESTS // 5)
        balancer.nodes[1].kill()

    assert while_sending(send_http, balancer.http, kill) == []
    eventually(lambda: balancer.states("http_stateless")[1].startswith("DOWN"))
    balancer.start_node(1)
    eventually(lambda: balancer.states("http_stateless") == ["UP"] * 3, PATIENCE)


def test_requests_are_shared_within_a_tenth_where_daemons_say_no_weight(tmp_path: pathlib.Path) -> None:
    """One client: the machine's other work makes no daemon busier than another."""
    haproxy()
    balancer = Balancer(tmp_path, doors=("grpc", "http"))
    try:
        balancer.start()
        for send, door in ((send_http, "http"), (send_grpc, "grpc")):
            assert send(getattr(balancer, door), REQUESTS // 4) == []
            totals = balancer.totals(f"{door}_stateless")
            assert sum(totals) >= REQUESTS // 4 and max(totals) - min(totals) <= sum(totals) / 30, totals
    finally:
        balancer.close()


@pytest.mark.parametrize(("send", "door", "backend"), [(send_http, "http", "http_stateless"),
                                                       (send_grpc, "grpc", "grpc_stateless")])
def test_a_drain_costs_no_request(balancer: Balancer, send: Callable[[str, int], list[str]], door: str,
                                  backend: str) -> None:
    def drain() -> None:
        before = sum(balancer.totals(backend))
        eventually(lambda: sum(balancer.totals(backend)) > before + REQUESTS // 5)
        balancer.nodes[0].terminate()
        eventually(lambda: balancer.states(backend)[0].startswith(("DRAIN", "DOWN")))

    assert while_sending(send, getattr(balancer, door), drain) == []
    eventually(lambda: balancer.states(backend)[0].startswith("DOWN"))
    balancer.nodes[0].kill()
    balancer.start_node(0)  # says "ready", which ends the drain
    eventually(lambda: balancer.states(backend)[0] == "UP", PATIENCE)


@pytest.mark.parametrize(("send", "door"), [(send_http, "http"), (send_grpc, "grpc")])
def test_a_cut_link_costs_no_request(tmp_path: pathlib.Path, send: Callable[[str, int], list[str]], door: str) -> None:
    """Each daemon on a host of its own. What was sent to the lost one is sent to another, once."""
    haproxy()
    with hosts(3) as places:
        balancer = Balancer(tmp_path, places=places)
        backend = f"{door}_stateless"

        def cut() -> None:
            before = sum(balancer.totals(backend))
            eventually(lambda: sum(balancer.totals(backend)) > before + REQUESTS // 5)
            places[2].cut()
            eventually(lambda: balancer.states(backend)[2].startswith("DOWN"))

        try:
            balancer.start()
            assert while_sending(send, getattr(balancer, door), cut) == []
            places[2].mend()
            eventually(lambda: balancer.states(backend)[2] == "UP", PATIENCE)
            assert while_sending(send, getattr(balancer, door), lambda: None) == []
        finally:
            balancer.close()


@pytest.mark.parametrize("balancer", [("--route", "model")], indirect=True)
def test_a_model_stays_with_a_daemon(balancer: Balancer) -> None:
    """By its name in the path, and by the request's first field over gRPC; one client keeps the balance."""
    assert send_http(balancer.http, 60) == [] and send_grpc(balancer.grpc, 60) == []
    for backend in ("http_stateless", "grpc_stateless"):
        totals = balancer.totals(backend)
        assert sorted(totals)[:2] == [0, 0] and sum(totals) >= 60, (backend, totals)


@pytest.mark.parametrize("balancer", [("--stateful", "m")], indirect=True)
def test_a_stateful_model_is_never_asked_twice(balancer: Balancer) -> None:
    connection = http.client.HTTPConnection(balancer.http, timeout=PATIENCE)
    assert infer_http(connection) == 200
    assert balancer.totals("http_stateless") == [0, 0, 0]
    [chosen] = [i for i, total in enumerate(balancer.totals("http_stateful")) if total]
    balancer.nodes[chosen].kill()
    with contextlib.suppress(OSError, http.client.HTTPException):
        infer_http(connection)  # 502 or 503, unless the balancer knows already
    retries = collections.Counter(int(row["wretr"]) + int(row["wredis"]) for row in balancer.rows("http_stateful"))
    assert retries == {0: 3}


@pytest.mark.parametrize("balancer", [("--stateful", "m")], indirect=True)
@pytest.mark.parametrize(("count", "compression"), [(2, None), (32768, None), (4096, "gzip")])
def test_a_stateful_model_is_one_over_grpc_too(balancer: Balancer, count: int, compression: str | None) -> None:
    """Larger than HAProxy's buffer, and compressed: its name cannot be read then."""
    assert send_grpc(balancer.grpc, 4, count, compression) == []
    assert balancer.totals("grpc_stateless") == [0, 0, 0]
    assert sorted(balancer.totals("grpc_stateful")) == [0, 0, 4], "one client stays with one daemon"


@pytest.mark.parametrize("balancer", [("--stateful", "other", "--route", "model")], indirect=True)
def test_a_large_request_of_another_model_goes_by_its_name(balancer: Balancer) -> None:
    assert send_grpc(balancer.grpc, 4, 32768) == []
    assert sorted(balancer.totals("grpc_stateless")) == [0, 0, 4]


def written(*arguments: str, capsys: Any) -> str:
    assert cluster.main(["haproxy", *arguments]) == 0
    return str(capsys.readouterr().out)


def test_the_file_is_valid_for_haproxy(tmp_path: pathlib.Path, capsys: Any) -> None:
    path = tmp_path / "haproxy.cfg"
    for more in ([], ["--route", "model", "--stateful", "m", "--stateful", "n-2.v"]):
        path.write_text(written("10.0.0.1,grpc=9000,http=8000,agent=9100", "[::1],grpc=9000,http=8000", "--http", ":8080",
                                "--grpc", "*:9090", *more, capsys=capsys))
        done = subprocess.run([haproxy(), "-c", "-f", path], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("arguments", "message"), [
    (["a b,grpc=1", "--grpc", ":1"], "no name and no address"),
    (["host\nbind :1,grpc=1", "--grpc", ":1"], "no name and no address"),
    (["host,grpc=70000", "--grpc", ":1"], "no port"),
    (["host,grpc=1,grpc=2", "--grpc", ":1"], "each once"),
    (["host,agent=1", "--grpc", ":1"], "no door"),
    (["host,grpc=1", "--http", ":1"], "no node has http"),
    (["host,grpc=1"], "nowhere to listen"),
    (["host,grpc=1", "--grpc", "9000"], "expected HOST:PORT"),
    (["host,grpc=1", "--grpc", ":1", "--stateful", "a b"], "a name has"),
    (["host,grpc=1", "--grpc", ":1", "--ca", "a.pem"], "absolute path"),
])
def test_wrong_words_are_refused_by_name(arguments: list[str], message: str, capsys: Any) -> None:
    assert cluster.main(["haproxy", *arguments]) == 1
    assert message in capsys.readouterr().err


def test_only_daemons_with_an_agent_are_asked_for_weights() -> None:
    text = configuration([Node("a", grpc=1, agent=2), Node("b", grpc=1)], grpc=":1")
    lines = [line for line in text.splitlines() if line.startswith("    server n")]
    assert ["agent-check" in line for line in lines] == [True, False] * 2


def test_daemons_with_certificates_are_asked_by_tls_alone() -> None:
    text = configuration([Node("a", grpc=1, http=2)], grpc=":1", http=":2", ca="/etc/ca.pem")
    lines = [line for line in text.splitlines() if line.startswith("    server n")]
    assert len(lines) == 4 and all(" ssl verify required ca-file /etc/ca.pem" in line for line in lines)
    assert not any("ssl" in line for line in configuration([Node("a", http=2)], http=":2").splitlines())


def test_the_health_check_is_what_a_grpc_client_sends(tmp_path: pathlib.Path) -> None:
    """The daemon answers the fixed bytes with SERVING."""
    with daemons.running(tmp_path, "-g", "localhost:0") as running:
        [address] = [one for one in running.addresses if not one.startswith("unix:")]
        with socket.create_connection(("localhost", port_of(address)), timeout=PATIENCE) as connection:
            connection.sendall(health_check())
            said = b""
            while b"\x00\x00\x00\x00\x02\x08\x01" not in said:
                piece = connection.recv(4096)
                assert piece, said
                said += piece
