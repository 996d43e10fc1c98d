"""How many cores a daemon gives a model of a folder."""

from __future__ import annotations

import pathlib

import daemon as daemons
import pytest
import sluice
from conftest import DIGITS, eventually
from language import Language, language  # noqa: F401 - a fixture


def cores_of_models(folder: pathlib.Path, count: int) -> tuple[int, dict[str, int]]:
    """The cores of the daemon's processors, and of the group of each of the `count` models of `folder`/models."""
    with (daemons.running(folder, "--http", "localhost:0", "--repository", str(folder / "models")) as running,
          sluice.Runtime.connect(running.address) as runtime):
        eventually(lambda: len(runtime.models()) == count)
        groups = {group.id: len(group.cores) for group in runtime.groups()}
        all_cores = sum(device.num_cores for device in runtime.devices if device.kind == "cpu")
        return all_cores, {model.name: groups[model.group] for model in runtime.models()}


def test_language_model_has_all_cores_of_a_daemon_without_others(tmp_path: pathlib.Path, language: Language) -> None:
    language.save(tmp_path / "models" / "tiny")
    cores, of_models = cores_of_models(tmp_path, 1)
    assert of_models == {"tiny": cores}


def test_language_model_leaves_other_models_their_part(tmp_path: pathlib.Path, language: Language) -> None:  # noqa: F811
    language.save(tmp_path / "models" / "a_tiny")
    sluice.compile(DIGITS).save(tmp_path / "models" / "digits.sluice")
    cores, of_models = cores_of_models(tmp_path, 2)
    assert of_models == {"a_tiny": max(cores // 2, 1), "digits": 1}


@pytest.mark.parametrize("asked", [0, 1])
def test_configuration_gives_a_model_its_cores(tmp_path: pathlib.Path, asked: int) -> None:
    (tmp_path / "models" / "digits" / "1").mkdir(parents=True)
    sluice.compile(DIGITS).save(tmp_path / "models" / "digits" / "1" / "model.sluice")
    (tmp_path / "models" / "digits" / "config.pbtxt").write_text(
        f'parameters {{ key: "intra_op_thread_count" value {{ string_value: "{asked}" }} }}')
    cores, of_models = cores_of_models(tmp_path, 1)
    assert of_models == {"digits": asked or cores}
