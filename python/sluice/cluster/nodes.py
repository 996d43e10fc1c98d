"""Daemons of a cluster, as a command line names them."""

from __future__ import annotations

import dataclasses
import re

#: Names and addresses alone: the text goes into a configuration file.
_HOST = re.compile(r"[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:]{2,45}\]")
_DOORS = ("grpc", "http", "agent")


@dataclasses.dataclass(frozen=True)
class Node:
    """A daemon by its host and the ports of its doors; 0 for a door that it has not."""

    host: str
    grpc: int = 0
    http: int = 0
    agent: int = 0

    @staticmethod
    def parse(text: str) -> Node:
        """`HOST,grpc=PORT,http=PORT,agent=PORT`, with at least one of the first two.

        Raises: ValueError, naming what is wrong.
        """
        host, *doors = text.split(",")
        if not _HOST.fullmatch(host):
            raise ValueError(f"node {text!r}: {host!r} is no name and no address of a host; an IPv6 address is in []")
        ports = {}
        for door in doors:
            name, _, port = door.partition("=")
            if name not in _DOORS or name in ports:
                raise ValueError(f"node {text!r}: {door!r} is not grpc=PORT, http=PORT or agent=PORT, each once")
            if not re.fullmatch(r"[0-9]{1,5}", port) or not 0 < int(port) < 1 << 16:
                raise ValueError(f"node {text!r}: {port!r} is no port; ports are 1 to 65535")
            ports[name] = int(port)
        if not ports.get("grpc") and not ports.get("http"):
            raise ValueError(f"node {text!r}: no door for requests; add grpc=PORT or http=PORT")
        return Node(host, **ports)
