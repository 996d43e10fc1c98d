// Messages that clients send in gRPC's compression. A few bytes may become many, so a call inflates
// its message once it is known who sent it.
#pragma once

#include <google/protobuf/message.h>
#include <grpcpp/support/status.h>

#include <cstdint>
#include <string_view>

#include "base/status.h"

namespace sluice::rpc::wire {

/// The limit of an inflated message that carries neither a tensor nor a package.
constexpr std::int64_t kMaxNamesBytes = std::int64_t{4} << 20;

/// The limit of any other message, in all servers of the process. Any thread. Before it is set, it
/// is 0.
void set_max_inflated_bytes(std::int64_t bytes);
std::int64_t max_inflated_bytes();

enum class Coding : std::uint8_t { kNone, kGzip, kZlib };

/// Parses what came, or keeps the bytes of a compressed message for `inflate`.
/// Fails: INVALID_ARGUMENT for what is no message.
grpc::Status read_message(std::string_view bytes, Coding coding,
                          google::protobuf::Message& message);

/// Whether the message came compressed, and is not inflated yet.
bool is_coded(const google::protobuf::Message& message);

/// Inflates a message that was read and came compressed, and parses it meanwhile, so that memory
/// grows with the message alone. Others stay as they are. Handlers get requests as const; no other
/// thread may read this one.
/// Fails: kResourceExhausted over the limit, kInvalidArgument for what is no message.
Status inflate(const google::protobuf::Message& message, std::int64_t limit_bytes = kMaxNamesBytes);

}  // namespace sluice::rpc::wire
