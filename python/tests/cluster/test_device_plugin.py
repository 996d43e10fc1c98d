"""`sluice device-plugin` against a kubelet of the test's own, and a daemon of simulated devices. No cluster runs here."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import tarfile
import threading
from collections.abc import Iterator, Sequence
from concurrent import futures
from typing import Any

import daemon as daemons
import pytest
import sluice
from conftest import PATIENCE, eventually
from machine import mounted
from protos import Protos
from sluice.commands import program

grpc = pytest.importorskip("grpc")

RESOURCE = "sluice.dev/coregroup"


@pytest.fixture(scope="module")
def api() -> Protos:
    return Protos("kubelet/deviceplugin.proto")


class Kubelet:
    """Takes registrations at kubelet.sock of its folder, and calls the plugin that came last."""

    def __init__(self, folder: pathlib.Path, api: Protos) -> None:
        self.folder, self.api = folder, api
        self.raw: list[bytes] = []  # requests to register
        self.lists: list[dict[str, str]] = []  # health by id, as the plugin told it
        self.devices: list[Any] = []
        self.refusals = 0  # registrations that fail next
        self.changed = threading.Condition()
        self.start()

    def start(self) -> None:
        self.folder.mkdir(exist_ok=True)
        handler = grpc.unary_unary_rpc_method_handler(self._register)  # bytes in, bytes out
        self._server = grpc.server(futures.ThreadPoolExecutor(2))
        self._server.add_generic_rpc_handlers(
            [grpc.method_handlers_generic_handler("v1beta1.Registration", {"Register": handler})])
        assert self._server.add_insecure_port(f"unix:{self.folder / 'kubelet.sock'}")
        self._server.start()

    def stop(self) -> None:
        self._server.stop(None).wait()

    def restart(self) -> None:
        """As a kubelet does: it removes what is in the folder, and listens at a new socket."""
        self.stop()
        for path in self.folder.iterdir():
            path.unlink()
        self.lists.clear()
        self.start()

    def _register(self, request: bytes, context: Any) -> bytes:
        if self.refusals:
            self.refusals -= 1
            context.abort(grpc.StatusCode.UNAVAILABLE, "not now")
        self.raw.append(request)
        threading.Thread(target=self._watch, daemon=True).start()
        return b""

    @property
    def registered(self) -> Any:
        return self.api.message("v1beta1.RegisterRequest").FromString(self.raw[-1])

    def channel(self, authority: str = "localhost") -> Any:
        path = self.folder / self.registered.endpoint
        return grpc.insecure_channel(f"unix:{path}", options=[("grpc.default_authority", authority)])

    def _watch(self) -> None:
        answer = self.api.message("v1beta1.ListAndWatchResponse")
        with self.channel() as channel, contextlib.suppress(grpc.RpcError):
            call = channel.unary_stream("/v1beta1.DevicePlugin/ListAndWatch", lambda m: b"", answer.FromString)
            for one in call(None):
                self.devices = list(one.devices)
                self.lists.append({device.ID: device.health for device in one.devices})

    def call(self, method: str, request: dict[str, Any], authority: str = "localhost") -> Any:
        names = {"Allocate": "Allocate", "GetPreferredAllocation": "PreferredAllocation"}
        takes = self.api.message(f"v1beta1.{names[method]}Request")
        gives = self.api.message(f"v1beta1.{names[method]}Response")
        with self.channel(authority) as channel:
            call = channel.unary_unary(f"/v1beta1.DevicePlugin/{method}", takes.SerializeToString, gives.FromString)
            return call(takes(**request), timeout=PATIENCE)

    def allocate(self, *ids: str) -> Any:
        [one] = self.call("Allocate", {"container_requests": [{"devices_ids": ids}]}).container_responses
        return one

    def wait_for(self, *, healthy: Sequence[str] = (), unhealthy: Sequence[str] = ()) -> None:
        wanted = {**dict.fromkeys(healthy, "Healthy"), **dict.fromkeys(unhealthy, "Unhealthy")}
        eventually(lambda: bool(self.lists) and self.lists[-1] == wanted, PATIENCE, lambda: str(self.lists))


def groups(*counts: int) -> list[str]:
    """Ids of so many groups of the first device, the second, and so on."""
    return [f"device{device}-group{group}" for device, count in enumerate(counts) for group in range(count)]


@pytest.fixture
def kubelet(tmp_path: pathlib.Path, api: Protos) -> Iterator[Kubelet]:
    made = Kubelet(tmp_path / "kubelet", api)
    yield made
    made.stop()


@contextlib.contextmanager
def node(folder: pathlib.Path, *cores: int) -> Iterator[daemons.Daemon]:
    """A daemon with a simulated device of each number of cores."""
    path = folder / "sim.json"
    path.write_text(json.dumps({"devices": [{"cores": count} for count in cores]}))
    with daemons.running(folder, "--sim", str(path)) as running:
        yield running


@contextlib.contextmanager
def plugin(kubelet: Kubelet, folder: pathlib.Path, *flags: str) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([program(), "device-plugin", "--cores", "2", "--folder", kubelet.folder, "--address",
                                f"unix:{folder / 'sluice.sock'}", *flags])
    try:
        yield process
    finally:
        process.terminate()
        try:
            status = process.wait(PATIENCE)
        finally:
            process.kill()
    assert status == 0


def test_it_registers_in_the_published_form_and_lists_all_groups(tmp_path: pathlib.Path, kubelet: Kubelet) -> None:
    with node(tmp_path, 4, 5), plugin(kubelet, tmp_path):
        kubelet.wait_for(healthy=groups(2, 2))
        endpoint = kubelet.registered.endpoint
        assert (kubelet.folder / endpoint).is_socket() and "/" not in endpoint
        # The fields of RegisterRequest, byte by byte; of the options only GetPreferredAllocation, its field 2.
        assert kubelet.raw == [b"\x0a\x07v1beta1" + b"\x12" + bytes([len(endpoint)]) + endpoint.encode()
                               + b"\x1a" + bytes([len(RESOURCE)]) + RESOURCE.encode() + b"\x22\x02\x10\x01"]
        assert all(len(device.ID) <= 63 for device in kubelet.devices)


def test_it_waits_for_a_kubelet_and_a_daemon(tmp_path: pathlib.Path, kubelet: Kubelet) -> None:
    with plugin(kubelet, tmp_path):
        with node(tmp_path, 4):
            kubelet.wait_for(healthy=groups(2))


@pytest.mark.parametrize("authority", ["localhost", "", "{path}", "{quoted}"])
def test_it_answers_kubelets_of_every_authority(authority: str, tmp_path: pathlib.Path, kubelet: Kubelet) -> None:
    with node(tmp_path, 2), plugin(kubelet, tmp_path):
        kubelet.wait_for(healthy=groups(1))
        path = str(kubelet.folder / kubelet.registered.endpoint)
        said = authority.format(path=path, quoted=path.replace("/", "%2F"))
        request = {"container_requests": [{"devices_ids": groups(1)}]}
        assert len(kubelet.call("Allocate", request, said).container_responses) == 1


def test_it_registers_again_with_each_kubelet(tmp_path: pathlib.Path, kubelet: Kubelet) -> None:
    with node(tmp_path, 4), plugin(kubelet, tmp_path):
        kubelet.wait_for(healthy=groups(2))
        for number in (2, 3):
            kubelet.restart()
            kubelet.wait_for(healthy=groups(2))
            assert len(kubelet.raw) == number
        assert kubelet.allocate("device0-group1").envs["SLUICE_CORES"] == "2"


def test_it_registers_again_when_its_own_socket_vanishes(tmp_path: pathlib.Path, kubelet: Kubelet) -> None:
    with node(tmp_path, 2), plugin(kubelet, tmp_path):
        kubelet.wait_for(healthy=groups(1))
        (kubelet.folder / kubelet.registered.endpoint).unlink()
        eventually(lambda: len(kubelet.raw) == 2)
        eventually(lambda: (kubelet.folder / kubelet.registered.endpoint).is_socket())
        assert kubelet.allocate("device0-group0").envs


def test_a_registration_that_fails_is_repeated_for_its_new_socket(tmp_path: pathlib.Path, kubelet: Kubelet) -> None:
    with node(tmp_path, 2), plugin(kubelet, tmp_path):
        kubelet.wait_for(healthy=groups(1))
        kubelet.refusals = 1
        (kubelet.folder / kubelet.registered.endpoint).unlink()
        eventually(lambda: len(kubelet.raw) == 2, PATIENCE)
        assert kubelet.refusals == 0
        eventually(lambda: (kubelet.folder / kubelet.registered.endpoint).is_socket(), PATIENCE)
        assert kubelet.allocate("device0-group0").envs


def test_health_is_the_daemons_and_a_node_may_come_back_with_other_devices(tmp_path: pathlib.Path,
                                                                           kubelet: Kubelet) -> None:
    with plugin(kubelet, tmp_path):
        with node(tmp_path, 4):
            kubelet.wait_for(healthy=groups(2))
        kubelet.wait_for(unhealthy=groups(2))
        with pytest.raises(grpc.RpcError) as refused:
            kubelet.allocate("device0-group0")
        assert refused.value.code() == grpc.StatusCode.UNAVAILABLE
        with node(tmp_path, 2, 4):
            kubelet.wait_for(healthy=groups(1, 2))
            assert len(kubelet.raw) == 1


def test_a_daemon_that_answers_nothing_is_not_healthy(tmp_path: pathlib.Path, kubelet: Kubelet) -> None:
    with node(tmp_path, 2) as daemon, plugin(kubelet, tmp_path):
        kubelet.wait_for(healthy=groups(1))
        daemon.suspend()
        kubelet.wait_for(unhealthy=groups(1))
        daemon.resume()
        kubelet.wait_for(healthy=groups(1))


def test_a_container_reaches_the_daemon_and_makes_its_group(tmp_path: pathlib.Path, kubelet: Kubelet) -> None:
    with node(tmp_path, 4, 4) as daemon, plugin(kubelet, tmp_path):
        kubelet.wait_for(healthy=groups(2, 2))
        allocated = kubelet.allocate("device1-group0", "device1-group1")
        environment = dict(allocated.envs)
        assert environment == {"SLUICE_ADDRESS": daemon.address, "SLUICE_CORES": "4", "SLUICE_DEVICES": "1",
                               "SLUICE_CORE_GROUPS": "device1-group0,device1-group1"}
        [mount] = allocated.mounts
        assert mount.host_path == mount.container_path == str(tmp_path) and mount.read_only
        with sluice.Client(environment["SLUICE_ADDRESS"]) as client:
            devices = [int(device) for device in environment["SLUICE_DEVICES"].split(",")]
            group = client.create_group(int(environment["SLUICE_CORES"]), devices=devices)
            said = subprocess.run([program(), "capacity", "--json", "--address", daemon.address], capture_output=True,
                                  text=True, check=True).stdout
            [one] = json.loads(said)["groups"]
            assert one["group"] == group.id
            assert one["cores"] == [{"device": 1, "core": core} for core in range(4)]


def test_groups_of_one_device_are_preferred(tmp_path: pathlib.Path, kubelet: Kubelet) -> None:
    with node(tmp_path, 2, 4), plugin(kubelet, tmp_path):
        kubelet.wait_for(healthy=groups(1, 2))

        def preferred(count: int, *required: str) -> list[str]:
            one = {"available_deviceIDs": groups(1, 2), "must_include_deviceIDs": required, "allocation_size": count}
            [answer] = kubelet.call("GetPreferredAllocation", {"container_requests": [one]}).container_responses
            return list(answer.deviceIDs)

        assert preferred(2) == ["device1-group0", "device1-group1"]
        assert preferred(1) == ["device0-group0"]
        assert preferred(2, "device1-group1") == ["device1-group1", "device1-group0"]
        with pytest.raises(grpc.RpcError) as refused:
            preferred(4)
        assert refused.value.code() == grpc.StatusCode.INVALID_ARGUMENT


@pytest.mark.parametrize("unknown", ["device0-group7", "", "device0-group0 "])
def test_an_unknown_group_is_refused(unknown: str, tmp_path: pathlib.Path, kubelet: Kubelet) -> None:
    with node(tmp_path, 2), plugin(kubelet, tmp_path):
        kubelet.wait_for(healthy=groups(1))
        with pytest.raises(grpc.RpcError) as refused:
            kubelet.allocate("device0-group0", unknown)
        assert refused.value.code() == grpc.StatusCode.NOT_FOUND


def check_cdi(document: dict[str, Any]) -> None:
    """What CDI's JSON schema demands, and what its specification says of names."""
    assert set(document) == {"cdiVersion", "kind", "devices", "containerEdits"}
    assert re.fullmatch(r"0\.[3-9]\.0", document["cdiVersion"])
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.-]*/[A-Za-z0-9][A-Za-z0-9_.-]*", document["kind"])
    assert document["devices"]
    for device in document["devices"]:
        assert set(device) == {"name", "containerEdits"}
        assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.:-]*", device["name"])
    for edits in [document["containerEdits"], *(device["containerEdits"] for device in document["devices"])]:
        assert set(edits) <= {"env", "deviceNodes", "hooks", "mounts"} and edits
        assert all(re.fullmatch(r"[^=]+=.+", variable) for variable in edits.get("env", []))
        for mount in edits.get("mounts", []):
            assert {"hostPath", "containerPath"} <= set(mount) <= {"hostPath", "containerPath", "options", "type"}


def test_a_cdi_file_has_the_groups_that_allocations_name(tmp_path: pathlib.Path, kubelet: Kubelet) -> None:
    folder = tmp_path / "cdi"
    folder.mkdir()
    with node(tmp_path, 4) as daemon, plugin(kubelet, tmp_path, "--cdi", str(folder)):
        kubelet.wait_for(healthy=groups(2))
        [path] = folder.iterdir()
        document = json.loads(path.read_text())
        check_cdi(document)
        allocated = kubelet.allocate("device0-group1")
        names = [f"{document['kind']}={device['name']}" for device in document["devices"]]
        assert [device.name for device in allocated.cdi_devices] == names[1:] and not allocated.mounts
        assert document["containerEdits"]["env"] == [f"SLUICE_ADDRESS={daemon.address}"]
        [mount] = document["containerEdits"]["mounts"]
        assert mount["hostPath"] == str(tmp_path) and mount["options"] == ["ro", "rbind"]
        printed = subprocess.run([program(), "device-plugin", "--cores", "2", "--address", daemon.address,
                                  "--print-cdi"], capture_output=True, text=True, check=True).stdout
        assert printed == path.read_text()


def podman(folder: pathlib.Path, file: pathlib.Path, *words: str) -> str:
    """podman of a store of its own, in a mount namespace where the file is the only one of /run/cdi."""
    own = ["podman", "--root", f"{folder}/root", "--runroot", "/run/podman", "--storage-driver", "vfs",
           "--cgroup-manager", "cgroupfs", "--runtime", "runc", *words]
    place = mounted('mount -t tmpfs none /run; mkdir /run/cdi; cp "$1" /run/cdi/', file)
    done = subprocess.run([*place, *own], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_podman_gives_a_container_what_the_file_says(tmp_path: pathlib.Path) -> None:
    busybox = shutil.which("busybox")
    if not shutil.which("podman") or not shutil.which("runc") or busybox is None or os.geteuid() != 0:
        pytest.skip("podman, runc or busybox-static is not installed, or this is not root")
    with tarfile.open(tmp_path / "image.tar", "w") as image:
        image.add(busybox, "bin/busybox")
    with node(tmp_path, 4) as daemon:
        file = tmp_path / "sluice.json"
        file.write_text(subprocess.run([program(), "device-plugin", "--cores", "2", "--address", daemon.address,
                                        "--print-cdi"], capture_output=True, text=True, check=True).stdout)
        store = tmp_path / "podman"
        name = podman(store, file, "import", str(tmp_path / "image.tar")).strip()
        said = podman(store, file, "run", "--rm", "--network=host", "--ulimit", "nofile=1024:1024", "--ulimit",
                      "nproc=1024:1024", "--device", f"{RESOURCE}=device0-group1", name, "/bin/busybox", "sh", "-c",
                      f"busybox env; busybox ls {tmp_path}; busybox rm -f {tmp_path}/sluice.sock || echo kept"
                      ).splitlines()
        assert (tmp_path / "sluice.sock").is_socket()
    assert {f"SLUICE_ADDRESS={daemon.address}", "SLUICE_DEVICE0_GROUP1=2", "sluice.sock", "kept"} <= set(said)
    assert "SLUICE_DEVICE0_GROUP0=2" not in said


def test_a_read_only_folder_has_the_socket_and_keeps_it(tmp_path: pathlib.Path) -> None:
    """As a container mounts it."""
    folder = tmp_path / "run"
    folder.mkdir()
    mount = mounted('mount --bind "$1" "$1"; mount -o remount,bind,ro "$1"', folder)
    with daemons.running(folder) as daemon:
        seen = subprocess.run([*mount, program(), "capacity", "--json", "--address", daemon.address],
                              capture_output=True, text=True)
        assert seen.returncode == 0 and "groups" in json.loads(seen.stdout), seen.stderr
        for command in (["rm", "-f", str(folder / "sluice.sock")], ["touch", str(folder / "other.sock")]):
            refused = subprocess.run([*mount, *command], capture_output=True, text=True,
                                     env={**os.environ, "LC_ALL": "C"})
            assert refused.returncode != 0 and "Read-only file system" in refused.stderr, refused.stderr
        assert (folder / "sluice.sock").is_socket()


@pytest.mark.parametrize(("flags", "message"), [
    (["--address", "localhost:5555"], "no Unix socket"),
    (["--address", "unix:/run/sluice.sock"], "folder of its own"),
    (["--address", "unix:/run/s/s.sock", "--resource", "coregroup"], "DOMAIN/NAME"),
    (["--address", "unix:/run/s/s.sock", "--resource", "a/b/../c"], "DOMAIN/NAME"),
    (["--address", "unix:/run/s/s.sock", "--print-cdi"], "no daemon answers"),
    (["--cores", "0"], "--cores"),
])
def test_what_no_pod_could_use_is_refused_by_name(flags: list[str], message: str) -> None:
    done = subprocess.run([program(), "device-plugin", *flags], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode != 0 and message in done.stderr
