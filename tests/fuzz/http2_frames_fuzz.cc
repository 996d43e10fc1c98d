// Reads any bytes as HTTP/2 frames of a client. A plain reader of whole frames, written for this,
// agrees with what passed. The rules judge single bytes as they judge the whole stream.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "http2/frame_rules.h"

namespace {

using sluice::http2::FrameLimits;
using sluice::http2::FrameRules;

constexpr std::size_t kPrefaceBytes = 24;
constexpr std::size_t kHeadBytes = 9;

/// Checks what the rules let pass: gRPC holds no more of a header block than the limit.
void check_passed(std::span<const std::uint8_t> bytes) {
  const FrameLimits limits;
  std::size_t block_bytes = 0;
  std::uint32_t block_stream = 0;
  for (std::size_t at = kPrefaceBytes; at + kHeadBytes <= bytes.size();) {
    const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(bytes[at + i]); };
    const std::size_t size = byte(0) << 16 | byte(1) << 8 | byte(2);
    const std::uint32_t type = byte(3);
    const std::uint32_t stream = (byte(5) << 24 | byte(6) << 16 | byte(7) << 8 | byte(8)) << 1 >> 1;
    const bool is_first = at == kPrefaceBytes;
    if (is_first && type != 4) std::abort();
    if (type != 0 && size > limits.frame_bytes && type != 9) std::abort();
    if ((block_stream != 0) != (type == 9)) std::abort();
    if (block_stream != 0 && stream != block_stream) std::abort();
    if (type == 1) block_bytes = 0;
    if (type == 1 || type == 9) {
      block_bytes += size;
      if (block_bytes > limits.header_block_bytes) std::abort();
      block_stream = (byte(4) & 4) != 0 ? 0 : stream;
    }
    at += kHeadBytes + size;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data, size));
  FrameRules at_once({}, 0);
  const bool has_passed = at_once.take(bytes, 0).is_ok();
  FrameRules one_by_one({}, 0);
  bool has_passed_slowly = true;
  for (std::size_t i = 0; i < size && has_passed_slowly; ++i) {
    has_passed_slowly = one_by_one.take(bytes.subspan(i, 1), 0).is_ok();
  }
  if (has_passed != has_passed_slowly) std::abort();
  if (!has_passed) return 0;
  if (at_once.is_greeted() != one_by_one.is_greeted()) std::abort();
  if (at_once.has_called() != one_by_one.has_called()) std::abort();
  if (at_once.is_greeted()) check_passed(std::span(data, size));
  return 0;
}
