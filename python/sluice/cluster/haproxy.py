"""HAProxy (2.4 and later) in front of several daemons.

Requests go to the daemon with the fewest, by weights that the daemons say themselves (`agent_check`), or to the one
that a model's name hashes to. A request is sent again only on a stateless route: a request whose answer was lost may
have been computed. Words of the file: HAProxy's configuration manual, https://docs.haproxy.org/2.6/configuration.html
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import Any

from .nodes import Node

#: A request up to this size can be sent again, and shows the name of its model. Two such buffers per connection.
BUFFER_BYTES = 65536

_ADDRESS = re.compile(r"[A-Za-z0-9.\-*\[\]:]{0,260}:[0-9]{1,5}")
_PATH = re.compile(r"/[^\s\"'\\#]{1,4000}")
_MODEL = re.compile(r"[A-Za-z0-9._~-]{1,255}")
_INFERENCE = "/inference.GRPCInferenceService"
#: Calls that change nothing in the daemon.
_GRPC_LOOKS = (*(f"{_INFERENCE}/{call}" for call in (
    "ServerLive", "ServerReady", "ModelReady", "ServerMetadata", "ModelMetadata", "ModelConfig", "ModelStatistics",
    "RepositoryIndex")), "/grpc.health.v1.Health/Check")

#: A host that is gone sends nothing: the connection ends when bytes stay unanswered, and if none were sent by the
#: probes of `srvtcpka`.
_LOST = " tcp-ut 5s"

_HEAD = f"""\
# Written by `python -m sluice.cluster haproxy`; docs/scale.md says what it does.
global
    maxconn 4096
    tune.bufsize {BUFFER_BYTES}

defaults
    mode http
    timeout connect 2s
    timeout http-request 30s
    timeout client 1h
    timeout server 1h
    timeout check 2s
    option srvtcpka
    srvtcpka-idle 2s
    srvtcpka-intvl 1s
    srvtcpka-cnt 3
"""

_STATELESS = """\
    option http-buffer-request
    option redispatch 1
    retries 3
    retry-on conn-failure empty-response 503
"""

#: Clients of one host stay with one daemon, where their sessions are.
_STATEFUL = """\
    balance source
    hash-type consistent
    retries 0
"""

_BALANCE = {
    "spread": "    balance leastconn\n",
    # A daemon with half more than its share passes requests on, so that one model can use several.
    "model": "    balance hdr(sluice-model)\n    hash-type consistent\n    hash-balance-factor 150\n",
}


def configuration(nodes: Sequence[Node], *, http: str = "", grpc: str = "", route: str = "spread",
                  stateful: Sequence[str] = (), certificate: str = "", ca: str = "") -> str:
    """The configuration file.

    `http`, `grpc`: where HAProxy listens, `HOST:PORT`; empty: not. `route`: "spread" sends a request to the daemon with
    the fewest, "model" prefers the daemon that the model's name hashes to. `stateful`: models whose requests are never
    sent again. `certificate`: PEM file with certificate and key that HAProxy shows to clients. `ca`: PEM file of the
    authority of the daemons' certificates; empty: daemons without TLS.

    Raises: ValueError for what would not be a valid file.
    """
    _check(nodes, http, grpc, route, stateful, certificate, ca)
    text = _HEAD
    if http:
        text += _http(http, certificate, [n for n in nodes if n.http], _BALANCE[route], stateful, ca)
    if grpc:
        text += _grpc(grpc, certificate, [n for n in nodes if n.grpc], _BALANCE[route], stateful, ca)
    return text


def _check(nodes: Sequence[Node], http: str, grpc: str, route: str, stateful: Sequence[str], certificate: str,
           ca: str) -> None:
    if not http and not grpc:
        raise ValueError("nowhere to listen; give --http or --grpc")
    for door, address in (("http", http), ("grpc", grpc)):
        if address and not _ADDRESS.fullmatch(address):
            raise ValueError(f"--{door} {address!r}: expected HOST:PORT, or :PORT for all addresses")
        if address and not any(getattr(node, door) for node in nodes):
            raise ValueError(f"--{door} {address}: no node has {door}=PORT")
    if route not in _BALANCE:
        raise ValueError(f"route {route!r}: expected {' or '.join(_BALANCE)}")
    for name in stateful:
        if not _MODEL.fullmatch(name):
            raise ValueError(f"--stateful {name!r}: a name has letters, digits and . _ ~ - only")
    for path in (certificate, ca):
        if path and not _PATH.fullmatch(path):
            raise ValueError(f"{path!r}: expected an absolute path without spaces, quotes and #")


def _http(address: str, certificate: str, nodes: Sequence[Node], balance: str, stateful: Sequence[str],
          ca: str) -> str:
    check = ("    option httpchk\n"
             "    http-check send meth GET uri /v2/health/ready ver HTTP/1.1 hdr Host localhost\n"
             "    http-check expect status 200\n")
    tls = f" ssl verify required ca-file {ca}" if ca else ""
    servers = "".join(_server(i, node, node.http, tls) for i, node in enumerate(nodes, 1))
    return f"""
frontend sluice_http
    bind {address}{f" ssl crt {certificate}" if certificate else ""}
    http-request del-header sluice-model
    http-request set-header sluice-model %[path,field(4,/)] if {{ path_beg /v2/models/ }}
    acl named req.hdr(sluice-model),length gt 0
    acl looks method GET HEAD
    acl infers path_reg ^/v2/models/[^/%]+(/versions/[^/]+)?/infer$
{_backends("http", stateful, balance, check + servers)}"""


def _grpc(address: str, certificate: str, nodes: Sequence[Node], balance: str, stateful: Sequence[str],
          ca: str) -> str:
    check = (f"    option tcp-check\n"
             f"    tcp-check send-binary {health_check().hex()}\n"
             f"    tcp-check expect binary 00000000020801\n")
    tls = f" ssl verify required ca-file {ca} alpn h2 check-alpn h2" if ca else " proto h2"
    servers = "".join(_server(i, node, node.grpc, tls) for i, node in enumerate(nodes, 1))
    return f"""
frontend sluice_grpc
    bind {address}{f" ssl crt {certificate} alpn h2" if certificate else " proto h2"}
    acl infers path {_INFERENCE}/ModelInfer
    acl plain req.body,bytes(0,1),hex -m str 00
    acl looks path {" ".join(_GRPC_LOOKS)}
    acl named req.hdr(sluice-model),length gt 0
    http-request wait-for-body time 30s if infers
    http-request set-header sluice-model %[req.body,bytes(5),protobuf(1),url_enc] if infers plain !named
{_backends("grpc", stateful, balance, check + servers)}"""


def _backends(door: str, stateful: Sequence[str], balance: str, servers: str) -> str:
    """The end of a frontend that knows what `looks`, `infers` and is `named`, and what it leads to.

    A request whose model HAProxy cannot read, as of a compressed message, may be for a stateful one.
    """
    names = f"req.hdr(sluice-model) -m str {' '.join(stateful)}" if stateful else "always_false"
    return f"""    acl keeps_state {names}
    use_backend {door}_stateless if looks
    use_backend {door}_stateless if infers {"named " if stateful else ""}!keeps_state
    default_backend {door}_stateful

backend {door}_stateless
{balance}{_STATELESS}{servers}
backend {door}_stateful
{_STATEFUL}{servers}"""


def _server(number: int, node: Node, port: int, options: str) -> str:
    agent = f" agent-check agent-addr {node.host.strip('[]')} agent-port {node.agent} agent-inter 1s" if node.agent else ""
    return f"    server n{number} {node.host}:{port}{options} weight 100 check inter 1s fall 2 rise 1{_LOST}{agent}\n"


def health_check() -> bytes:
    """The bytes of a client's connection that asks grpc.health.v1.Health/Check for the daemon, without a service.

    HTTP/2 frames (RFC 9113, section 4.1), and headers without compression (RFC 7541, section 6.2.2).
    """
    settings, headers, data = 4, 1, 0
    end_stream, end_headers = 1, 4

    def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
        return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload

    def text(value: bytes) -> bytes:
        return bytes([len(value)]) + value

    fields = (b"\x83\x86"  # :method POST, :scheme http
              b"\x04" + text(b"/grpc.health.v1.Health/Check") + b"\x01" + text(b"localhost")  # :path, :authority
              + b"\x0f\x10" + text(b"application/grpc") + b"\x00" + text(b"te") + text(b"trailers"))
    return (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(settings, 0, 0, b"") + frame(headers, end_headers, 1, fields)
            + frame(data, end_stream, 1, bytes(5)))


def add_to(engines: Any) -> None:
    """Adds the command `haproxy`."""
    parser: argparse.ArgumentParser = engines.add_parser(
        "haproxy", help="write HAProxy's configuration for several daemons",
        description="Writes HAProxy's configuration for several daemons to stdout.")
    parser.add_argument("nodes", nargs="+", metavar="HOST,grpc=PORT,http=PORT,agent=PORT",
                        help="a daemon and the ports that it has; agent is its agent_check")
    parser.add_argument("--http", default="", metavar="HOST:PORT", help="where HAProxy takes HTTP (default: not)")
    parser.add_argument("--grpc", default="", metavar="HOST:PORT", help="where HAProxy takes gRPC (default: not)")
    parser.add_argument("--route", choices=sorted(_BALANCE), default="spread",
                        help="spread: to the daemon with the fewest requests; model: by the model's name")
    parser.add_argument("--stateful", action="append", default=[], metavar="MODEL",
                        help="a model whose requests are never sent again; may be repeated")
    parser.add_argument("--certificate", default="", metavar="PEM", help="certificate and key of HAProxy, for clients")
    parser.add_argument("--ca", default="", metavar="PEM", help="authority of the daemons' certificates (default: no TLS)")
    parser.set_defaults(write=_write)


def _write(parsed: argparse.Namespace) -> str:
    return configuration([Node.parse(text) for text in parsed.nodes], http=parsed.http, grpc=parsed.grpc,
                         route=parsed.route, stateful=parsed.stateful, certificate=parsed.certificate, ca=parsed.ca)
