#include "sandbox/programs/reply_bytes.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace sluice::sandbox {

static_assert(std::endian::native == std::endian::little);

LengthBytes length_bytes(std::size_t length) {
  return std::bit_cast<LengthBytes>(static_cast<std::uint64_t>(length));
}

/// What comes behind the length.
std::span<const std::byte> ReplyBytes::take_length(std::span<const std::byte> bytes) {
  if (num_length_bytes_ == length_.size()) return bytes;
  const std::size_t taken = std::min(bytes.size(), length_.size() - num_length_bytes_);
  if (taken > 0) std::memcpy(length_.data() + num_length_bytes_, bytes.data(), taken);
  num_length_bytes_ += taken;
  wanted_bytes_ = std::bit_cast<std::uint64_t>(length_);
  return bytes.subspan(taken);
}

Status ReplyBytes::take(std::span<const std::byte> bytes) {
  const auto came = has_length_ ? take_length(bytes) : bytes;
  const bool has_wanted = has_length_ && num_length_bytes_ == length_.size();
  if ((has_wanted && wanted_bytes_ > kMost) || came.size() > kMost - bytes_.size()) {
    return make_error(Code::kResourceExhausted, "the program's reply is longer than {} bytes",
                      kMost);
  }
  if (has_wanted && came.size() > wanted_bytes_ - bytes_.size()) {
    return internal_error("the program wrote more than its reply");
  }
  bytes_.insert(bytes_.end(), came.begin(), came.end());
  return ok_status();
}

}  // namespace sluice::sandbox
