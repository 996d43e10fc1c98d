// The reply of a program, as its bytes come.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"

namespace sluice::sandbox {

/// Length before a request or a reply of a program that stays: 8 bytes, the lowest first.
using LengthBytes = std::array<std::byte, sizeof(std::uint64_t)>;
LengthBytes length_bytes(std::size_t length);

class ReplyBytes {
 public:
  /// Longest reply.
  static constexpr std::size_t kMost = std::size_t{256} << 20;

  /// `has_length`: the reply follows its length. Otherwise the reply is all that the program writes
  /// until its output ends.
  explicit ReplyBytes(bool has_length) : has_length_(has_length) {}

  /// Allocates as much as has come, whatever a length announces.
  /// Fails: kInternal           more came than the length says
  ///        kResourceExhausted  it is longer than kMost
  Status take(std::span<const std::byte> bytes);
  bool is_complete() const {
    return has_length_ && num_length_bytes_ == length_.size() && bytes_.size() == wanted_bytes_;
  }
  std::vector<std::byte>& bytes() { return bytes_; }

 private:
  std::span<const std::byte> take_length(std::span<const std::byte> bytes);

  const bool has_length_;
  LengthBytes length_ = {};
  std::size_t num_length_bytes_ = 0;
  std::uint64_t wanted_bytes_ = 0;  ///< once the length has come
  std::vector<std::byte> bytes_;
};

}  // namespace sluice::sandbox
