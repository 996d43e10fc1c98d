"""A collector of OpenTelemetry's protocol, made from its published protobufs, over HTTP and gRPC."""

from __future__ import annotations

import contextlib
import http.server
import threading
from collections.abc import Iterator
from concurrent import futures
from typing import Any

import pytest

grpc = pytest.importorskip("grpc")
trace_service = pytest.importorskip("opentelemetry.proto.collector.trace.v1.trace_service_pb2")
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2_grpc  # noqa: E402


class Collector:
    """The spans that came, and where it listens."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        self.services: set[str] = set()
        self.refuses = False  #: answers with an error meanwhile
        self.http = ""  #: a value of the setting `otlp`
        self.grpc = ""  #: the same

    def take(self, request: Any) -> None:
        for resource in request.resource_spans:
            self.services |= {one.value.string_value for one in resource.resource.attributes
                              if one.key == "service.name"}
            for scope in resource.scope_spans:
                self.spans += scope.spans

    def of_trace(self, trace: str) -> dict[str, Any]:
        """By name; "infer NAME" is "request"."""
        return {"request" if span.name.startswith("infer ") else span.name: span
                for span in list(self.spans) if span.trace_id.hex() == trace}


def attributes(span: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in span.attributes}


@contextlib.contextmanager
def collecting(host: str = "127.0.0.1") -> Iterator[Collector]:
    collector = Collector()

    class OverHttp(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            is_right = self.path == "/v1/traces" and self.headers["Content-Type"] == "application/x-protobuf"
            if collector.refuses or not is_right:
                self.send_error(503)
                return
            collector.take(trace_service.ExportTraceServiceRequest.FromString(body))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args: object) -> None:
            pass

    class OverGrpc(trace_service_pb2_grpc.TraceServiceServicer):
        def Export(self, request: Any, context: Any) -> Any:
            if collector.refuses:
                context.abort(grpc.StatusCode.UNAVAILABLE, "no room")
            collector.take(request)
            return trace_service.ExportTraceServiceResponse()

    web = http.server.ThreadingHTTPServer((host, 0), OverHttp)
    threading.Thread(target=web.serve_forever, daemon=True).start()
    server = grpc.server(futures.ThreadPoolExecutor(2))
    trace_service_pb2_grpc.add_TraceServiceServicer_to_server(OverGrpc(), server)
    collector.http = f"http://{host}:{web.server_port}"
    collector.grpc = f"grpc://{host}:{server.add_insecure_port(f'{host}:0')}"
    server.start()
    try:
        yield collector
    finally:
        server.stop(None)
        web.shutdown()
        web.server_close()
