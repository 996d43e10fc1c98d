"""A Slurm cluster of this machine: slurmctld here, and a slurmd on each of several hosts (network namespaces).

Debian's slurmctld, slurmd, slurm-client and munge; the test that asks for a lab is skipped without them.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
import socket
import subprocess
from collections.abc import Iterator, Mapping

import pytest
from conftest import PATIENCE, ROOT, eventually
from hosts import Host, hosts
from ports import free_port
from sluice.cluster.slurm import gres_conf
from sluice.commands import program

GROUPS, CORES = 4, 2  # of each node
PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"


def _conf(folder: pathlib.Path, nodes: Mapping[str, Host], port: int) -> str:
    [gateway] = {host.gateway for host in nodes.values()}
    lines = "\n".join(f"NodeName={name} NodeAddr={host.address} CPUs={GROUPS * CORES} "
                      f"Gres=coregroup:cores{CORES}:{GROUPS}" for name, host in nodes.items())
    return f"""\
ClusterName=lab
SlurmctldHost={socket.gethostname()}({gateway})
SlurmctldPort={port}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock,cred_expire=20
CredType=cred/munge
SlurmUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SlurmdTimeout=10
ReturnToService=2
MpiDefault=none
KillWait=10
SchedulerParameters=sched_interval=2,batch_sched_delay=0
GresTypes=coregroup
TaskProlog={ROOT}/deploy/slurm/task_prolog
{lines}
PartitionName=all Nodes=ALL Default=YES State=UP
"""


class Lab:
    def __init__(self, folder: pathlib.Path, nodes: dict[str, Host]) -> None:
        self.folder, self.nodes = folder, nodes
        programs = pathlib.Path(program()).parent  # sluiced is beside `sluice`
        self.environment = {**os.environ, "PATH": f"{programs}:{PATH}", "SLURM_CONF": str(folder / "slurm.conf"),
                            "SLUICE_CACHE_DIR": str(folder / "cache")}
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self) -> None:
        self.folder.chmod(0o755)
        for name in ("state", "groups"):
            (self.folder / name).mkdir()
        for unit in range(GROUPS):
            (self.folder / "groups" / f"cg{unit}").touch()
        documents = {name: {"devices": [{"kind": "cpu", "num_cores": GROUPS * CORES}]} for name in self.nodes}
        (self.folder / "gres.conf").write_text(gres_conf(documents, cores=CORES, folder=str(self.folder / "groups")))
        (self.folder / "slurm.conf").write_text(_conf(self.folder, self.nodes, free_port()))
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        self._run("munge", "munged", "--foreground", "--force", f"--key-file={key}",
                  f"--socket={self.folder}/munge.sock", f"--pid-file={self.folder}/munged.pid",
                  f"--log-file={self.folder}/munged.log", f"--seed-file={self.folder}/munged.seed")
        eventually(lambda: (self.folder / "munge.sock").exists())
        self._run("controller", "slurmctld", "-D", "-i")
        for name in self.nodes:
            self.start_node(name)
        eventually(lambda: self.states() == dict.fromkeys(self.nodes, "idle"), PATIENCE, lambda: str(self.states()))

    def start_node(self, name: str) -> None:
        """slurmd knows its node by the host's name, so each has one of its own."""
        self._run(name, *self.nodes[name].words("unshare", "--uts", "sh", "-c", f"hostname {name}; exec slurmd -D"))

    def kill_node(self, name: str) -> None:
        """With all that runs there."""
        inside = subprocess.run(["ip", "netns", "pids", self.nodes[name].namespace], capture_output=True, text=True,
                                env=self.environment, check=True).stdout.split()
        subprocess.run(["kill", "-KILL", *inside], env=self.environment)
        self.processes.pop(name).wait()

    def clear(self) -> None:
        """Ends all jobs, starts the nodes that do not run, and waits until every node is idle."""
        self.said("scancel", "--user=root")
        for name in self.nodes:
            if name not in self.processes or self.processes[name].poll() is not None:
                self.start_node(name)
        eventually(lambda: self.states() == dict.fromkeys(self.nodes, "idle"), PATIENCE, lambda: str(self.states()))

    def _run(self, name: str, *command: str) -> None:
        self.processes[name] = subprocess.Popen(command, env=self.environment)

    def said(self, *command: object) -> str:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, env=self.environment,
                              timeout=PATIENCE, cwd=self.folder)
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        return done.stdout

    def states(self) -> dict[str, str]:
        with contextlib.suppress(AssertionError):
            return dict(line.split() for line in self.said("sinfo", "-hN", "-o", "%N %t").splitlines())
        return {}

    def submit(self, script: str, *options: str) -> str:
        """The job's number."""
        path = self.folder / "job.sh"
        path.write_text(f"#!/bin/bash\n{script}\n")
        return self.said("sbatch", "--parsable", "--output", self.folder / "job-%j.txt", *options, path).strip()

    def state_of(self, job: str) -> str:
        """"RUNNING None", "PENDING Resources", "COMPLETED None"."""
        words = dict(word.split("=", 1) for word in self.said("scontrol", "show", "job", job).split() if "=" in word)
        return f"{words['JobState']} {words['Reason']}"

    def node_of(self, job: str) -> str:
        return self.said("squeue", "-h", "-j", job, "-o", "%N").strip()

    def text_of(self, job: str) -> str:
        path = self.folder / f"job-{job}.txt"
        return path.read_text() if path.exists() else ""

    def close(self) -> None:
        for name in self.nodes:
            if name in self.processes:
                self.kill_node(name)
        for process in self.processes.values():
            process.kill()
            process.wait()


@contextlib.contextmanager
def slurm(folder: pathlib.Path, num_nodes: int) -> Iterator[Lab]:
    for name in ("slurmctld", "slurmd", "sbatch", "munged", "unshare"):
        if shutil.which(name, path=PATH) is None:
            pytest.skip(f"{name} is not installed (Debian: slurmctld slurmd slurm-client munge)")
    with hosts(num_nodes) as places:
        lab = Lab(folder, {f"n{i}": host for i, host in enumerate(places, 1)})
        try:
            lab.start()
            yield lab
        finally:
            lab.close()
