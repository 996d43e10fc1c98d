#include "daemon/telemetry/span_sender.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <stop_token>
#include <string_view>
#include <utility>

#include "http_client/http_client.h"
#include "rpc/client/otlp/span_call.h"

namespace sluice::daemon {
namespace {

/// As OpenTelemetry's exporters have it by default.
constexpr std::int64_t kTimeoutNs = 10'000'000'000;

telemetry::SendSpans send_by_http(const Collector& collector,
                                  std::unique_ptr<http_client::HttpClient> client) {
  const std::string head =
      fmt::format("POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/x-protobuf\r\n",
                  collector.path, collector.address.to_string());
  return [head, client = std::shared_ptr(std::move(client))](
             const std::string& request, const std::stop_token& stop) -> Status {
    const auto message = std::make_shared<const std::string>(
        fmt::format("{}Content-Length: {}\r\n\r\n{}", head, request.size(), request));
    const auto reply = SLUICE_TRY(http_client::ask(*client, message, stop));
    constexpr int kOk = 200;
    if (reply.status == kOk) return ok_status();
    return make_error(Code::kUnavailable, "it answered {}", reply.status);
  };
}

}  // namespace

Result<Collector> parse_collector(const std::string& text) {
  Collector collector;
  std::string_view rest = text;
  for (const auto& [scheme, is_grpc] : {std::pair{"http://", false}, std::pair{"grpc://", true}}) {
    if (!text.starts_with(scheme)) continue;
    collector.is_grpc = is_grpc;
    rest.remove_prefix(std::string_view(scheme).size());
  }
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  const bool has_scheme = rest.size() < text.size();
  const bool has_path = slash + 1 < rest.size();
  const bool is_plain = rest.find_first_of(" \r\n") == std::string_view::npos;
  if (!has_scheme || !is_plain || (collector.is_grpc && has_path)) {
    return invalid_argument(
        "\"{}\": expected http://HOST:PORT, perhaps with a path, or grpc://HOST:PORT; for TLS run "
        "a collector on this machine",
        text);
  }
  if (has_path) collector.path = rest.substr(slash);
  collector.address = SLUICE_TRY(rpc::wire::parse_address(rest.substr(0, slash)));
  if (collector.address.is_unix || collector.address.port == 0) {
    return invalid_argument("\"{}\": give HOST:PORT", text);
  }
  return collector;
}

Result<telemetry::SendSpans> send_to(const Collector& collector) {
  const rpc::wire::Address& address = collector.address;
  if (collector.is_grpc) return rpc::client::otlp_span_call(address.to_string(), kTimeoutNs);
  auto client = SLUICE_TRY(http_client::HttpClient::create(address, kTimeoutNs));
  return send_by_http(collector, std::move(client));
}

}  // namespace sluice::daemon
