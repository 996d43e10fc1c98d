// Where the daemon's spans go.
#pragma once

#include <string>

#include "base/result.h"
#include "rpc/wire/address.h"
#include "telemetry/span_exporter.h"

namespace sluice::daemon {

/// A collector of OpenTelemetry's protocol.
struct Collector {
  bool is_grpc = false;
  rpc::wire::Address address;       ///< HOST:PORT
  std::string path = "/v1/traces";  ///< of HTTP
};

/// "http://HOST:PORT", perhaps with a path instead of /v1/traces, or "grpc://HOST:PORT".
/// Fails: kInvalidArgument with the forms there are; for https, since a collector beside the
/// daemon takes over from there.
Result<Collector> parse_collector(const std::string& text);

/// Fails: kNotFound for a host that has no address.
Result<telemetry::SendSpans> send_to(const Collector& collector);

}  // namespace sluice::daemon
