#include "rpc/server/guard/goodbye.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "http2/frames.h"

namespace sluice::rpc::server {
namespace {

/// Eight bytes, of stream 0: the last stream is 2^31 - 1, the error none.
constexpr std::array<std::uint8_t, 17> kFrame = {0,    0,    8,    http2::kGoAway, 0, 0, 0, 0, 0,
                                                 0x7F, 0xFF, 0xFF, 0xFF,           0, 0, 0, 0};

constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();

}  // namespace

std::vector<std::byte> Goodbye::take(std::span<const std::byte> bytes) {
  const std::size_t place = follow(bytes);
  if (!is_asked_ || place == kNowhere) return {};
  is_asked_ = false;
  std::vector<std::byte> all(bytes.begin(), bytes.end());
  const auto frame = std::as_bytes(std::span(kFrame));
  all.insert(all.begin() + static_cast<std::ptrdiff_t>(place), frame.begin(), frame.end());
  return all;
}

/// The last place among the bytes between two frames.
std::size_t Goodbye::follow(std::span<const std::byte> bytes) {
  std::size_t place = is_between_frames() ? 0 : kNowhere;
  std::size_t at = 0;
  while (at < bytes.size()) {
    if (num_head_ < head_.size()) {
      const std::size_t size = std::min(bytes.size() - at, head_.size() - num_head_);
      std::memcpy(head_.data() + num_head_, bytes.data() + at, size);
      num_head_ += size;
      at += size;
      if (num_head_ < head_.size()) break;
      payload_left_ = std::to_integer<std::uint32_t>(head_[0]) << 16 |
                      std::to_integer<std::uint32_t>(head_[1]) << 8 |
                      std::to_integer<std::uint32_t>(head_[2]);
    } else {
      const std::size_t size = std::min<std::size_t>(bytes.size() - at, payload_left_);
      payload_left_ -= static_cast<std::uint32_t>(size);
      at += size;
    }
    if (payload_left_ > 0) continue;
    const auto type = std::to_integer<std::uint8_t>(head_[3]);
    const bool is_of_headers =
        type == http2::kHeaders || type == http2::kPushPromise || type == http2::kContinuation;
    const bool ends = (std::to_integer<std::uint8_t>(head_[4]) & http2::kEndHeaders) != 0;
    is_in_headers_ = is_of_headers && !ends;
    is_first_ = false;
    num_head_ = 0;
    if (is_between_frames()) place = at;
  }
  return place;
}

}  // namespace sluice::rpc::server
