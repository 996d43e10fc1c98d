"""Core groups on a Slurm cluster of three nodes, with the files that the project writes and deploy/slurm."""

from __future__ import annotations

import contextlib
import http.client
import pathlib
from collections.abc import Iterator

import pytest
from conftest import DIGITS, PATIENCE, ROOT, eventually
from slurm_lab import GROUPS, Lab, slurm
from sluice.cluster.nodes import Node

SAY = 'srun bash -c \'echo "$SLURMD_NODENAME ${SLUICE_CORE_GROUPS:-none} ${SLUICE_CORES:-none}"\''


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with slurm(tmp_path_factory.mktemp("slurm"), 3) as made:
        yield made


@pytest.fixture(autouse=True)
def idle(lab: Lab) -> Iterator[None]:
    """However a test ends, the next one gets free nodes."""
    yield
    lab.clear()


def done(lab: Lab, job: str) -> list[str]:
    eventually(lambda: lab.state_of(job).startswith("COMPLETED"), PATIENCE, lambda: lab.state_of(job) + lab.text_of(job))
    return sorted(lab.text_of(job).splitlines())


def test_a_task_knows_its_groups_and_their_cores(lab: Lab) -> None:
    assert done(lab, lab.submit(SAY, "-w", "n2", "--gres", "coregroup:3")) == ["n2 0,1,2 6"]
    assert done(lab, lab.submit(SAY, "-w", "n2")) == ["n2 none none"]


def test_each_node_of_a_job_knows_its_own_groups(lab: Lab) -> None:
    first = lab.submit("sleep 600", "-w", "n1", "--gres", "coregroup:1")
    eventually(lambda: lab.state_of(first).startswith("RUNNING"), PATIENCE)
    both = lab.submit(SAY, "-w", "n[1-2]", "-N2", "--gres", "coregroup:2")
    assert done(lab, both) == ["n1 1,2 4", "n2 0,1 4"]


def test_a_job_without_free_groups_waits_for_them(lab: Lab) -> None:
    jobs = [lab.submit("sleep 600", "--gres", f"coregroup:{GROUPS - 1}") for _ in range(3)]
    eventually(lambda: all(lab.state_of(job).startswith("RUNNING") for job in jobs), PATIENCE)
    last = lab.submit(SAY, "--gres", f"coregroup:{GROUPS - 1}")
    eventually(lambda: lab.state_of(last) == "PENDING Resources", PATIENCE, lambda: lab.state_of(last))
    lab.said("scancel", jobs[1])
    assert len(done(lab, last)) == 1


def test_a_job_of_a_lost_node_starts_again_on_another(lab: Lab) -> None:
    job = lab.submit("sleep 600", "--gres", "coregroup:2", "--requeue")
    eventually(lambda: lab.state_of(job).startswith("RUNNING"), PATIENCE)
    lost = lab.node_of(job)
    lab.kill_node(lost)
    eventually(lambda: lab.states()[lost].startswith("down"), PATIENCE, lambda: str(lab.states()))
    eventually(lambda: lab.state_of(job).startswith("RUNNING"), PATIENCE, lambda: lab.state_of(job))
    assert lab.node_of(job) not in ("", lost)
    lab.start_node(lost)
    eventually(lambda: lab.states()[lost] == "idle", PATIENCE, lambda: str(lab.states()))


def test_a_job_serves_on_its_nodes_and_names_them_in_a_file(lab: Lab, tmp_path: pathlib.Path) -> None:
    """The daemons answer at the addresses of the file, finish at the signal before the end, and leave no file."""
    models = tmp_path / "models"
    models.mkdir()
    (models / "digits.onnx").write_bytes(DIGITS.read_bytes())
    file = tmp_path / "endpoints"
    job = lab.said("sbatch", "--parsable", "--output", lab.folder / "job-%j.txt", "-N2", "--gres", "coregroup:1",
                   ROOT / "deploy" / "slurm" / "serve.sbatch", models, file).strip()
    eventually(file.exists, PATIENCE, lambda: lab.state_of(job) + lab.text_of(job))
    nodes = [Node.parse(line) for line in file.read_text().split()]
    assert len({node.host for node in nodes}) == 2 and all(node.http and node.agent for node in nodes)

    def is_ready(node: Node) -> bool:
        connection = http.client.HTTPConnection(node.host, node.http, timeout=PATIENCE)
        with contextlib.suppress(OSError):
            connection.request("GET", "/v2/models/digits/ready")
            return connection.getresponse().status == 200
        return False

    eventually(lambda: all(is_ready(node) for node in nodes), PATIENCE, lambda: lab.text_of(job))
    lab.said("scancel", "--signal=TERM", "--batch", job)
    eventually(lambda: not any(is_ready(node) for node in nodes), PATIENCE)
    eventually(lambda: not lab.state_of(job).startswith("RUNNING"), PATIENCE, lambda: lab.text_of(job))
    assert not file.exists()
    assert "daemon.end" in lab.text_of(job), lab.text_of(job)
    eventually(lambda: lab.state_of(job).startswith("COMPLETED"), PATIENCE, lambda: lab.state_of(job))


def test_a_job_whose_daemons_do_not_start_fails(lab: Lab, tmp_path: pathlib.Path) -> None:
    job = lab.said("sbatch", "--parsable", "--output", lab.folder / "job-%j.txt", "-N2", "--gres", "coregroup:1",
                   ROOT / "deploy" / "slurm" / "serve.sbatch", tmp_path / "nowhere", tmp_path / "endpoints").strip()
    eventually(lambda: lab.state_of(job).startswith("FAILED"), PATIENCE, lambda: lab.state_of(job) + lab.text_of(job))
