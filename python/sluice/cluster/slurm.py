"""Core groups as a generic resource of Slurm (`coregroup`), from the documents of `sluice capacity --json`.

Words of the files: https://slurm.schedmd.com/gres.conf.html. The unit files have no content: Slurm counts them.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import re
from collections.abc import Mapping
from typing import Any

_MAX_CORES = 1 << 16  # of a device
_FOLDER = re.compile(r"/[A-Za-z0-9._/-]{1,4000}")
_NODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")


def gres_conf(nodes: Mapping[str, Mapping[str, Any]], *, cores: int, folder: str = "/run/sluice/coregroups") -> str:
    """gres.conf, and as comments the lines that slurm.conf needs.

    `nodes`: by Slurm's name of a node, its document of `sluice capacity --json`. `cores`: of one core group. A group's
    cores lie on one device of the kind "cpu", and Slurm binds a job to them.

    Raises: ValueError for a node without a whole group, or a document without devices.
    """
    if cores < 1:
        raise ValueError(f"{cores} cores per group: at least 1")
    if not _FOLDER.fullmatch(folder):
        raise ValueError(f"{folder!r}: expected an absolute path without spaces")
    lines, wanted = [], ["# slurm.conf:", "#   GresTypes=coregroup"]
    for name, document in nodes.items():
        if not _NODE.fullmatch(name):
            raise ValueError(f"{name!r} is no name of a node")
        starts = _group_starts(name, _devices(name, document), cores)
        if not starts:
            raise ValueError(f"node {name}: no device of the kind cpu has {cores} cores")
        lines += [f"NodeName={name} Name=coregroup Type=cores{cores} File={folder}/cg{unit} "
                  f"Cores={start}-{start + cores - 1}" for unit, start in enumerate(starts)]
        wanted.append(f"#   NodeName={name} Gres=coregroup:cores{cores}:{len(starts)}")
    return "\n".join(["# Written by `python -m sluice.cluster slurm`.", *wanted, *lines]) + "\n"


def _devices(name: str, document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    devices = document.get("devices") if isinstance(document, Mapping) else None
    if not isinstance(devices, list) or not all(isinstance(device, Mapping) for device in devices):
        raise ValueError(f"node {name}: no list of devices; expected the document of `sluice capacity --json`")
    return devices


def _group_starts(name: str, devices: list[Mapping[str, Any]], cores: int) -> list[int]:
    """First cores of the groups, as Slurm counts cores: through all processors of the node. Those of GPUs are not Slurm's."""
    starts: list[int] = []
    first = 0
    for device in devices:
        if device.get("kind") != "cpu":
            continue
        number = device.get("num_cores")
        if not isinstance(number, int) or not 0 <= number <= _MAX_CORES:
            raise ValueError(f"node {name}: num_cores of a device is {number!r}")
        starts += range(first, first + number - cores + 1, cores)
        first += number
    return starts


def add_to(engines: Any) -> None:
    """Adds the command `slurm`."""
    parser: argparse.ArgumentParser = engines.add_parser(
        "slurm", help="write Slurm's gres.conf, with core groups as a resource",
        description="Writes Slurm's gres.conf to stdout; core groups are a generic resource.")
    parser.add_argument("nodes", nargs="+", metavar="NODE=FILE",
                        help="a node and the document that `sluice capacity --json` printed there")
    parser.add_argument("--cores", type=int, required=True, help="cores of one group")
    parser.add_argument("--folder", default="/run/sluice/coregroups",
                        help="folder of the empty files that stand for groups (default: %(default)s)")
    parser.set_defaults(write=_write)


def _write(parsed: argparse.Namespace) -> str:
    nodes = {}
    for text in parsed.nodes:
        name, _, path = text.partition("=")
        if not path:
            raise ValueError(f"{text!r}: expected NODE=FILE")
        nodes[name] = json.loads(pathlib.Path(path).read_text())
    return gres_conf(nodes, cores=parsed.cores, folder=parsed.folder)
