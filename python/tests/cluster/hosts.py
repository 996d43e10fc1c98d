"""Hosts of one machine: network namespaces on a bridge, whose links a test cuts."""

from __future__ import annotations

import contextlib
import dataclasses
import ipaddress
import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest


#: Addresses for tests of networks (RFC 2544), which no network of this machine should have.
_NETS = list(ipaddress.IPv4Network("198.18.0.0/15").subnets(new_prefix=24))


def _ip(*words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(["ip", *words], capture_output=True, text=True)
    assert not check or done.returncode == 0, f"ip {' '.join(words)}: {done.stderr}"
    return done


def _ip_or_skip(*words: str) -> None:
    """Runs `ip`; skips the test where a kernel or a container has no such thing."""
    done = _ip(*words, check=False)
    if done.returncode != 0:
        pytest.skip(f"ip {' '.join(words)}: {done.stderr.strip()}")


def _bridge(number: int) -> str:
    return f"sluice-br{number}"


def _take_net() -> tuple[int, socket.socket]:
    """The number of a net that no route of this machine leads to. It is the caller's while the socket is open."""
    for number, net in enumerate(_NETS):
        held = socket.socket(socket.AF_UNIX)
        try:
            held.bind(f"\0sluice-hosts-{number}")  # the kernel frees the name when its process ends, however that is
        except OSError:
            held.close()
            continue
        _ip("link", "del", _bridge(number), check=False)  # a killed run left it
        routes = [route["dst"] for route in json.loads(_ip("-json", "-4", "route", "show").stdout or "[]")]
        if not any(net.overlaps(ipaddress.IPv4Network(route)) for route in routes if route != "default"):
            return number, held
        held.close()
    pytest.skip("this machine has routes to all of 198.18.0.0/15")


def _remove(host: Host) -> None:
    # By name, because a namespace that is deleted keeps its end of a cable for a while.
    _ip("link", "del", host.link, check=False)
    _ip("netns", "del", host.namespace, check=False)


@dataclasses.dataclass(frozen=True)
class Host:
    """A namespace with one address. The test's own processes are at `gateway` of the same bridge."""

    namespace: str
    address: str
    gateway: str
    link: str  # the bridge's end of its cable

    def words(self, *command: object) -> list[str]:
        """The command on this host. It sees the same files and, unlike with `ip netns exec`, the same /sys."""
        return ["nsenter", f"--net=/run/netns/{self.namespace}", *map(str, command)]

    def cut(self) -> None:
        _ip("link", "set", self.link, "down")

    def mend(self) -> None:
        _ip("link", "set", self.link, "up")


#: Answers at the address of its first word as soon as it says so; another host asks.
_LISTENER = """
import socket, sys
listener = socket.create_server((sys.argv[1], 0))
print(listener.getsockname()[1], flush=True)
while True:
    listener.accept()[0].close()
"""
_ASKER = "import socket, sys; socket.create_connection((sys.argv[1], int(sys.argv[2])), 20).close()"


def _check_links(made: list[Host]) -> None:
    """Skips the test where the firewall drops what goes from host to host over a bridge, as Docker's does."""
    if len(made) < 2:
        return
    to, by = made[0], made[1]
    listening = subprocess.Popen(to.words(sys.executable, "-c", _LISTENER, to.address), stdout=subprocess.PIPE, text=True)
    try:
        assert listening.stdout is not None
        port = listening.stdout.readline().strip()
        asked = subprocess.run(by.words(sys.executable, "-c", _ASKER, to.address, port), capture_output=True, text=True)
    finally:
        listening.kill()
        listening.communicate()
    if asked.returncode != 0:
        pytest.skip(f"namespaces of one bridge do not reach each other; a firewall may drop it (iptables FORWARD, "
                    f"net.bridge.bridge-nf-call-iptables): {asked.stderr.strip().splitlines()[-1]}")


@contextlib.contextmanager
def hosts(count: int) -> Iterator[list[Host]]:
    """So many hosts. Skips the test where the system gives no namespaces."""
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    if shutil.which("ip", path=path) is None or shutil.which("nsenter", path=path) is None:
        pytest.skip("ip (iproute2) or nsenter is not installed")
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    number, held = _take_net()
    bridge, net = _bridge(number), _NETS[number]
    made: list[Host] = []
    try:
        _ip_or_skip("link", "add", bridge, "type", "bridge")
        _ip("addr", "add", f"{net[1]}/24", "dev", bridge)
        _ip("link", "set", bridge, "up")
        for i in range(count):
            host = Host(f"sluice{number}-{i}", str(net[11 + i]), str(net[1]), f"sluice{number}-{i}")
            made.append(host)
            _remove(host)  # a killed run left it
            _ip_or_skip("netns", "add", host.namespace)
            _ip_or_skip("link", "add", host.link, "type", "veth", "peer", "name", "eth0", "netns", host.namespace)
            _ip("link", "set", host.link, "master", bridge, "up")
            for words in (["link", "set", "lo", "up"], ["addr", "add", f"{host.address}/24", "dev", "eth0"],
                          ["link", "set", "eth0", "up"]):
                _ip("-n", host.namespace, *words)
        _check_links(made)
        yield made
    finally:
        for host in made:
            _remove(host)
        _ip("link", "del", bridge, check=False)
        held.close()
