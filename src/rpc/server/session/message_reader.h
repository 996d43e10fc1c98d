// The messages in the bytes of a call.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/byte_budget.h"
#include "base/result.h"

namespace sluice::rpc::server {

/// Cuts what a client sends into messages: a byte that says whether the message is compressed, its
/// length in four bytes, its bytes. Memory grows with what came, not with the length that a client
/// announces. Used by one thread.
class MessageReader {
 public:
  /// `limit_bytes`: of one message. `budget`: of what is held.
  MessageReader(std::int64_t limit_bytes, std::shared_ptr<ByteBudget> budget);

  struct Message {
    bool is_compressed = false;
    std::string_view bytes;  ///< until `drop` or `add`
  };

  /// Fails: kResourceExhausted beyond the budget. Then nothing else may be called.
  Status add(std::string_view bytes);
  /// The next message; none: it has yet to come. Fails: kResourceExhausted for one over the limit;
  /// kInvalidArgument for a first byte that is neither 0 nor 1.
  Result<std::optional<Message>> next();
  /// Frees the memory of the messages that were taken.
  void drop();
  /// Part of a message has come.
  bool is_within_message() const { return taken_ < bytes_.size(); }

 private:
  Status make_room(std::size_t num_bytes);

  const std::int64_t limit_bytes_;
  const std::shared_ptr<ByteBudget> budget_;
  std::string bytes_;
  std::size_t taken_ = 0;  ///< bytes of the front that were taken
  ByteCharge charge_;
};

}  // namespace sluice::rpc::server
