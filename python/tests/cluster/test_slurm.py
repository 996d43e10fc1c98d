"""gres.conf from capacity documents."""

from __future__ import annotations

import json
import pathlib
import subprocess
from typing import Any

import pytest
from sluice.cluster import __main__ as cluster
from sluice.cluster.slurm import gres_conf
from sluice.commands import program


def document(*cores: int) -> dict[str, Any]:
    """The document of a node with a GPU before its processors."""
    devices = [{"kind": "gpu", "num_cores": 132}, *({"kind": "cpu", "num_cores": count} for count in cores)]
    return {"devices": [{"device": i, **device} for i, device in enumerate(devices)]}


def test_each_whole_group_of_a_device_is_a_unit_with_its_cores() -> None:
    text = gres_conf({"n1": document(4, 5)}, cores=2)
    assert text.splitlines() == [
        "# Written by `python -m sluice.cluster slurm`.",
        "# slurm.conf:",
        "#   GresTypes=coregroup",
        "#   NodeName=n1 Gres=coregroup:cores2:4",
        "NodeName=n1 Name=coregroup Type=cores2 File=/run/sluice/coregroups/cg0 Cores=0-1",
        "NodeName=n1 Name=coregroup Type=cores2 File=/run/sluice/coregroups/cg1 Cores=2-3",
        "NodeName=n1 Name=coregroup Type=cores2 File=/run/sluice/coregroups/cg2 Cores=4-5",
        "NodeName=n1 Name=coregroup Type=cores2 File=/run/sluice/coregroups/cg3 Cores=6-7",
    ]


def test_the_command_takes_what_capacity_printed_here(tmp_path: pathlib.Path, capsys: Any) -> None:
    path = tmp_path / "capacity.json"
    path.write_text(subprocess.run([program(), "capacity", "--json"], capture_output=True, text=True, check=True).stdout)
    assert cluster.main(["slurm", f"here={path}", "--cores", "1"]) == 0
    cores = sum(device["num_cores"] for device in json.loads(path.read_text())["devices"] if device["kind"] == "cpu")
    assert capsys.readouterr().out.count("NodeName=here Name=coregroup") == cores


@pytest.mark.parametrize(("nodes", "cores", "message"), [
    ({"n1": document(2)}, 4, "no device of the kind cpu has 4 cores"),
    ({"n1": document(2)}, 0, "at least 1"),
    ({"n1\nNodeName=n2": document(2)}, 1, "no name of a node"),
    ({"n1": {}}, 1, "no list of devices"),
    ({"n1": {"devices": [{"kind": "cpu", "num_cores": -1}]}}, 1, "num_cores"),
])
def test_wrong_documents_are_refused_by_name(nodes: dict[str, Any], cores: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        gres_conf(nodes, cores=cores)
