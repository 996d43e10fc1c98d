"""Triton's clients over TLS: both doors of a `sluiced`, with certificates of the server and of clients."""

from __future__ import annotations

import contextlib
import pathlib
import queue
import shutil
import ssl
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from conftest import PATIENCE, Daemon, eventually, running

grpcclient = pytest.importorskip("tritonclient.grpc")
httpclient = pytest.importorskip("tritonclient.http")
from tritonclient.utils import InferenceServerException  # noqa: E402

from certificates import Authority  # noqa: E402 - conftest names its folder
from repositories import Package, Repository, ask, package  # noqa: E402, F401

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="the program openssl makes the certificates")


@pytest.fixture
def authority(tmp_path: pathlib.Path) -> Authority:
    return Authority(tmp_path, "ca")


@contextlib.contextmanager
def serving(folder: pathlib.Path, package: Package, authority: Authority, *flags: str) -> Iterator[Daemon]:  # noqa: F811
    """A daemon with the model `m`, which triples, and a certificate of the authority."""
    certificate, key = authority.sign("server")
    Repository(folder / "models").put("m.sluice", package(3))
    with running(folder, "-g", "localhost:0", "--http", "localhost:0", "--tls-certificate", certificate, "--tls-key", key,
                 "--repository", str(folder / "models"), *flags) as daemon:
        yield daemon


def grpc_of(daemon: Daemon) -> str:
    (address,) = [one for one in daemon.addresses if not one.startswith("unix:")]
    return f"localhost:{address.rpartition(':')[2]}"


def client_of(address: str, authority: Authority, own: tuple[str, str] | None = None) -> Any:
    """`own`: the client's certificate and key."""
    certificate, key = own or (None, None)
    return grpcclient.InferenceServerClient(address, ssl=True, root_certificates=str(authority.ca),
                                            certificate_chain=certificate, private_key=key)


def is_refused(client: Any) -> bool:
    with client, pytest.raises(InferenceServerException) as error:
        client.is_server_live()
    return error.value.status() == "StatusCode.UNAVAILABLE"


def test_clients_that_trust_the_authority_are_served(tmp_path: pathlib.Path, package: Package,  # noqa: F811
                                                     authority: Authority) -> None:
    stranger = Authority(tmp_path, "stranger")
    with serving(tmp_path, package, authority) as daemon:
        address = grpc_of(daemon)
        with client_of(address, authority) as client:
            eventually(client.is_server_ready)  # once the repository is read
            assert ask(client, "m") == 3
            answers: queue.Queue[tuple[Any, Any]] = queue.Queue()
            client.start_stream(lambda result, error: answers.put((result, error)))
            given = grpcclient.InferInput("x", [200_000, 2], "FP32")  # more than a record of TLS
            given.set_data_from_numpy(np.ones((200_000, 2), np.float32))
            client.async_stream_infer("m", [given])
            result, error = answers.get(timeout=PATIENCE)
            client.stop_stream()
            assert error is None
            np.testing.assert_array_equal(result.as_numpy("y"), np.full((200_000, 2), 3, np.float32))
        assert is_refused(client_of(address, stranger)), "the client does not know the server"
        assert is_refused(grpcclient.InferenceServerClient(address)), "it speaks without TLS"


def test_a_daemon_may_ask_clients_for_certificates(tmp_path: pathlib.Path, package: Package,  # noqa: F811
                                                   authority: Authority) -> None:
    stranger = Authority(tmp_path, "stranger")
    with serving(tmp_path, package, authority, "--tls-client-ca", str(authority.ca)) as daemon:
        address = grpc_of(daemon)
        with client_of(address, authority, authority.sign("client")) as client:
            eventually(client.is_server_ready)
            assert ask(client, "m") == 3
        assert is_refused(client_of(address, authority))
        assert is_refused(client_of(address, authority, stranger.sign("other")))


def test_http_has_the_same_certificates(tmp_path: pathlib.Path, package: Package,  # noqa: F811
                                        authority: Authority) -> None:
    own, stranger = authority.sign("client"), Authority(tmp_path, "stranger").sign("other")

    def http_client(daemon: Daemon, certificate: tuple[str, str] | None) -> Any:
        context = ssl.create_default_context(cafile=str(authority.ca))
        if certificate is not None:
            context.load_cert_chain(*certificate)
        return httpclient.InferenceServerClient(f"localhost:{daemon.http.rpartition(':')[2]}", ssl=True,
                                                ssl_context_factory=lambda: context, network_timeout=PATIENCE,
                                                connection_timeout=PATIENCE)

    with serving(tmp_path, package, authority, "--tls-client-ca", str(authority.ca)) as daemon:
        with http_client(daemon, own) as client:
            eventually(client.is_server_ready)
            for count in (1, 1_000_000):  # of many records of TLS
                given = httpclient.InferInput("x", [count, 2], "FP32")
                given.set_data_from_numpy(np.ones((count, 2), np.float32))
                answer = client.infer("m", [given]).as_numpy("y")
                np.testing.assert_array_equal(answer, np.full((count, 2), 3, np.float32))
        for wrong in (None, stranger):
            with http_client(daemon, wrong) as client, pytest.raises(OSError):
                client.is_server_live()
