#include "rpc/server/session/message_reader.h"

#include <algorithm>
#include <utility>

#include "base/no_memory.h"
#include "rpc/server/reactor/out_message.h"

namespace sluice::rpc::server {
namespace {

/// Memory of smaller buffers is not charged: the number of calls bounds it.
constexpr std::size_t kFreeBytes = 4096;

std::size_t length_of(std::string_view prefix) {
  std::size_t length = 0;
  for (const char byte : prefix.substr(1, kPrefixBytes - 1)) {
    length = length << 8U | static_cast<unsigned char>(byte);
  }
  return length;
}

}  // namespace

MessageReader::MessageReader(std::int64_t limit_bytes, std::shared_ptr<ByteBudget> budget)
    : limit_bytes_(limit_bytes), budget_(std::move(budget)) {}

Status MessageReader::add(std::string_view bytes) {
  drop();
  SLUICE_TRY(make_room(bytes_.size() + bytes.size()));
  bytes_ += bytes;
  return ok_status();
}

/// Doubles, so that a message is copied twice at most.
Status MessageReader::make_room(std::size_t num_bytes) {
  if (num_bytes <= bytes_.capacity()) return ok_status();
  const std::size_t room = std::max(num_bytes, 2 * bytes_.capacity());
  if (room > kFreeBytes) {
    const auto charged = static_cast<std::int64_t>(room);
    if (charge_.bytes() > 0) {
      SLUICE_TRY(charge_.resize(charged));
    } else {
      charge_ = SLUICE_TRY(ByteCharge::take(budget_, charged));
    }
  }
  return catch_no_memory([&] {
    bytes_.reserve(room);
    return ok_status();
  });
}

Result<std::optional<MessageReader::Message>> MessageReader::next() {
  const std::string_view rest = std::string_view(bytes_).substr(taken_);
  if (rest.empty()) return std::optional<Message>();
  if (static_cast<unsigned char>(rest.front()) > 1) {
    return invalid_argument("a message begins with neither 0 nor 1");
  }
  if (rest.size() < kPrefixBytes) return std::optional<Message>();
  const std::size_t length = length_of(rest);
  if (std::cmp_greater(length, limit_bytes_)) {
    return make_error(Code::kResourceExhausted, "Received message larger than max ({} vs. {})",
                      length, limit_bytes_);
  }
  if (rest.size() - kPrefixBytes < length) return std::optional<Message>();
  taken_ += kPrefixBytes + length;
  return std::optional(Message{rest.front() == 1, rest.substr(kPrefixBytes, length)});
}

void MessageReader::drop() {
  bytes_.erase(0, taken_);
  taken_ = 0;
  if (!bytes_.empty() || charge_.bytes() == 0) return;
  bytes_ = {};
  charge_ = {};
}

}  // namespace sluice::rpc::server
