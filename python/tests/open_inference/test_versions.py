"""Requests among the versions of a model: labels, shares by weight, and a shadow."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest
from conftest import PATIENCE, eventually

grpcclient = pytest.importorskip("tritonclient.grpc")
httpclient = pytest.importorskip("tritonclient.http")
from tritonclient.utils import InferenceServerException  # noqa: E402

from repositories import Package, ask, package, serving  # noqa: E402, F401


def parameters(**settings: str) -> str:
    return "".join(f'parameters {{ key: "{key}" value {{ string_value: "{value}" }} }}\n'
                   for key, value in settings.items())


def served_count(client: Any, name: str, version: int) -> int:
    """Requests that the version has answered."""
    (found,) = client.get_inference_statistics(name, str(version), as_json=True)["model_stats"]
    return int(found["inference_stats"].get("success", {}).get("count", 0))


def test_labels_lead_to_their_versions_through_every_door(tmp_path: pathlib.Path, package: Package) -> None:
    with serving(tmp_path) as (daemon, repository, client):
        for version in (1, 2):
            repository.put(f"m/{version}/model.sluice", package(10 * version))
        repository.put("m/config.pbtxt", "version_policy { all {} }\n" + parameters(version_labels="stable=1,next=2"))
        client.load_model("m")
        assert [ask(client, "m", label) for label in ("stable", "next", "")] == [10, 20, 20]
        with httpclient.InferenceServerClient(daemon.http) as other:
            assert ask(other, "m", "stable", module=httpclient) == 10
            assert other.is_model_ready("m", "next") and not other.is_model_ready("m", "old")
        with pytest.raises(InferenceServerException, match="unknown model: 'm' version old is not found"):
            ask(client, "m", "old")
        # Moving a label loads nothing: the versions keep their statistics.
        before = served_count(client, "m", 1)
        assert before > 0
        repository.put("m/config.pbtxt", "version_policy { all {} }\n" + parameters(version_labels="stable=2"))
        client.load_model("m")
        assert ask(client, "m", "stable") == 20
        assert served_count(client, "m", 1) == before


def test_a_canary_gets_its_share_and_a_shadow_copies_of_all(tmp_path: pathlib.Path, package: Package) -> None:
    with serving(tmp_path) as (_, repository, client):
        for version in (1, 2, 3):
            repository.put(f"m/{version}/model.sluice", package(10 * version))
        repository.put("m/config.pbtxt", "version_policy { all {} }\n" + parameters(
            version_weights="1=3, 2=1", shadow_version="3"))
        client.load_model("m")
        before = served_count(client, "m", 3)
        answers = [ask(client, "m") for _ in range(200)]
        assert set(answers) == {10, 20}
        assert 40 <= answers.count(20) <= 60
        # The shadow has the least priority, and leaves copies out while it is busy: a busy machine computes few.
        eventually(lambda: ask(client, "m") in (10, 20) and served_count(client, "m", 3) - before >= 20, PATIENCE)
        assert ask(client, "m", "3") == 30
        repository.put("m/config.pbtxt", "version_policy { all {} }\n")
        client.load_model("m")
        assert {ask(client, "m") for _ in range(20)} == {30}


def test_wrong_traffic_is_refused_with_its_line(tmp_path: pathlib.Path, package: Package) -> None:
    with serving(tmp_path) as (_, repository, client):
        repository.put("m/1/model.sluice", package(10))
        client.load_model("m")
        for settings, message in (({"version_labels": "1=1"}, "starts with a letter"),
                                  ({"version_weights": "1"}, "NAME=NUMBER"),
                                  ({"shadow_version": "new"}, "no whole number")):
            repository.put("m/config.pbtxt", parameters(**settings))
            with pytest.raises(InferenceServerException, match=f"line 1: {next(iter(settings))}: .*{message}"):
                client.load_model("m")
        assert ask(client, "m") == 10
