// The fields of a call's head and trailer, as gRPC has them over HTTP/2
// (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::rpc::server {

/// The time that a client gives a call: "250m" is 250 milliseconds. kNoDeadline where it does not
/// fit; nullopt for what is none.
std::optional<std::int64_t> parse_timeout(std::string_view text);

/// A status message as a field: bytes that are not printed ASCII, and '%', as %XX.
std::string percent_encoded(std::string_view text);

/// Any bytes as a field: Base64 without padding (RFC 4648).
std::string base64(std::string_view bytes);

/// Whether the field's value is any bytes, as Base64.
inline bool is_binary(std::string_view name) { return name.ends_with("-bin"); }

}  // namespace sluice::rpc::server
