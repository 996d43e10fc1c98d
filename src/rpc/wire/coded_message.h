// Messages that clients send in gRPC's compression. gRPC inflates a message without a bound, so the
// daemon's servers leave messages as they come (server/door/grpc_limits.h), and a call inflates its
// message once it is known who sent it: a few bytes may become many. The code that protoc makes of
// our services includes this before it reads a message.
#pragma once

#include <google/protobuf/message.h>
#include <grpcpp/impl/codegen/proto_utils.h>

#include <cstdint>
#include <type_traits>

#include "base/status.h"

namespace sluice::rpc::wire {

/// The limit of an inflated message that carries neither a tensor nor a package.
constexpr std::int64_t kMaxNamesBytes = std::int64_t{4} << 20;

/// The limit of any other message, in all servers of the process. Any thread. Before it is set, it
/// is 0.
void set_max_inflated_bytes(std::int64_t bytes);
std::int64_t max_inflated_bytes();

/// Parses what came, or keeps the bytes of a compressed message for `inflate`.
/// Fails: INVALID_ARGUMENT for what is no message.
grpc::Status read_message(grpc::ByteBuffer* buffer, google::protobuf::Message& message);

/// Whether the message came compressed, and is not inflated yet.
bool is_coded(const google::protobuf::Message& message);

/// Inflates a message that was read and came compressed, and parses it meanwhile, so that memory
/// grows with the message alone. Others stay as they are. gRPC passes requests as const; no other
/// thread may read this one.
/// Fails: kResourceExhausted over the limit, kInvalidArgument for what is no message.
Status inflate(const google::protobuf::Message& message, std::int64_t limit_bytes = kMaxNamesBytes);

}  // namespace sluice::rpc::wire

namespace grpc {

/// In place of gRPC's own for the messages of our services, which it is like but for `Deserialize`.
template <class T>
requires std::is_base_of_v<google::protobuf::Message, T>
class SerializationTraits<
    T, typename std::enable_if<std::is_base_of<grpc::protobuf::MessageLite, T>::value>::type> {
 public:
  // The names are gRPC's. NOLINTBEGIN(readability-identifier-naming)
  static Status Serialize(const grpc::protobuf::MessageLite& message, ByteBuffer* buffer,
                          bool* is_own) {
    return GenericSerialize<ProtoBufferWriter, T>(message, buffer, is_own);
  }
  static Status Deserialize(ByteBuffer* buffer, grpc::protobuf::MessageLite* message) {
    return sluice::rpc::wire::read_message(buffer, static_cast<T&>(*message));
  }
  // NOLINTEND(readability-identifier-naming)
};

}  // namespace grpc
