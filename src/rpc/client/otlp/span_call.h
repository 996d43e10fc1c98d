// Spans to a collector by OTLP/gRPC: https://opentelemetry.io/docs/specs/otlp/
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>

#include "base/status.h"

namespace sluice::rpc::client {

/// A function that calls TraceService/Export of the collector at `target`, "HOST:PORT" or
/// "unix:/PATH", without TLS, with an ExportTraceServiceRequest in protobuf's encoding, and waits
/// for the answer up to `timeout_ns`, or until `stop` is requested. It keeps the connection. One
/// thread at a time.
std::function<Status(const std::string& request, const std::stop_token& stop)> otlp_span_call(
    const std::string& target, std::int64_t timeout_ns);

}  // namespace sluice::rpc::client
