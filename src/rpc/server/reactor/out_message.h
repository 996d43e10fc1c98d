// A message on its way to a client.
#pragma once

#include <google/protobuf/message_lite.h>
#include <grpcpp/support/byte_buffer.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::rpc::server {

/// The bytes that gRPC has before a message: whether it is compressed, and its length.
inline constexpr std::size_t kPrefixBytes = 5;

/// A message with its prefix. Move-only.
class OutMessage {
 public:
  OutMessage() = default;
  explicit OutMessage(const google::protobuf::MessageLite& message);
  /// Holds the slices of `message`, and copies none.
  explicit OutMessage(const grpc::ByteBuffer& message);
  OutMessage(OutMessage&&) = default;
  OutMessage& operator=(OutMessage&&) = default;

  /// The message's own bytes, without the prefix.
  std::size_t size_bytes() const { return size_bytes_; }
  std::size_t num_unsent() const { return kPrefixBytes + size_bytes_ - num_sent_; }
  bool is_begun() const { return num_sent_ > 0; }
  /// The bytes that are left to be sent, as far as they lie together.
  std::string_view next() const;
  /// `num` bytes of `next` were sent.
  void remove(std::size_t num);

 private:
  void set_prefix();

  std::string bytes_;  ///< the prefix, and the message unless that is in `slices_`
  std::vector<grpc::Slice> slices_;
  std::size_t size_bytes_ = 0;
  std::size_t part_ = 0;  ///< 0: bytes_, then the slices
  std::size_t sent_ = 0;  ///< of the part
  std::size_t num_sent_ = 0;
};

}  // namespace sluice::rpc::server
