"""Log settings over gRPC and HTTP, as Triton's client reads and changes them."""

from __future__ import annotations

import json
import pathlib
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import daemon as daemons
import pytest

grpcclient = pytest.importorskip("tritonclient.grpc")
httpclient = pytest.importorskip("tritonclient.http")
from tritonclient.utils import InferenceServerException  # noqa: E402

DEFAULT = {"log_error": True, "log_warning": True, "log_info": True, "log_verbose_level": 0, "log_file": "",
           "log_format": "ISO8601"}


@pytest.fixture
def served(tmp_path: pathlib.Path) -> Iterator[daemons.Daemon]:
    with daemons.running(tmp_path, "--http", "localhost:0") as running:
        yield running


@pytest.fixture(params=[grpcclient, httpclient], ids=["grpc", "http"])
def client(served: daemons.Daemon, request: pytest.FixtureRequest) -> Iterator[Any]:
    address = served.address if request.param is grpcclient else served.http
    with request.param.InferenceServerClient(address) as made:
        yield made


def settings(answer: Any) -> dict[str, Any]:
    if isinstance(answer, dict):
        return answer
    return {name: getattr(value, value.WhichOneof("parameter_choice")) for name, value in answer.settings.items()}


def test_settings_are_read_and_changed(client: Any) -> None:
    assert settings(client.get_log_settings()) == DEFAULT
    assert settings(client.update_log_settings({"log_verbose_level": 1})) == DEFAULT | {"log_verbose_level": 1}
    assert settings(client.get_log_settings())["log_verbose_level"] == 1
    quiet = {"log_verbose_level": 0, "log_info": False, "log_warning": False}
    assert settings(client.update_log_settings(quiet)) == DEFAULT | quiet
    assert settings(client.update_log_settings(DEFAULT)) == DEFAULT


@pytest.mark.parametrize("wrong", [
    {"log_file": "/tmp/owned"}, {"log_format": "default"}, {"log_error": False}, {"log_warning": False},
    {"log_info": False, "log_verbose_level": 1}, {"log_colour": True}])
def test_what_the_log_does_not_have_is_refused_and_changes_nothing(client: Any, wrong: dict[str, Any]) -> None:
    with pytest.raises(InferenceServerException, match=next(iter(wrong)) if len(wrong) == 1 else "log_verbose_level"):
        client.update_log_settings({"log_verbose_level": 0} | wrong)
    assert settings(client.get_log_settings()) == DEFAULT


@pytest.mark.parametrize("body", [b"[]", b"{", b'{"log_info": null}', b'{"log_info": 1}', b'{"log_verbose_level": "many"}',
                                  b'{"log_verbose_level": -1}', b'{"log_verbose_level": 4294967296}',
                                  b'{"a": ' + b"[" * 100_000, b'{"\xff": true}'])
def test_bodies_that_are_no_settings_are_refused(served: daemons.Daemon, body: bytes) -> None:
    request = urllib.request.Request(f"http://{served.http}/v2/logging", body, method="POST")
    with pytest.raises(urllib.error.HTTPError) as error:
        urllib.request.urlopen(request)
    assert error.value.code == 400
    assert json.loads(error.value.read())["error"]
