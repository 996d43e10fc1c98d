#include "http2/frame_rules.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "http2/frames.h"

namespace sluice::http2 {
namespace {

Status not_http2(std::string_view what) { return invalid_argument("not HTTP/2: {}", what); }

Status too_much(std::string_view what) {
  return make_error(Code::kResourceExhausted, "too much: {}", what);
}

std::uint32_t big_endian(std::span<const std::byte> bytes) {
  std::uint32_t number = 0;
  for (const std::byte byte : bytes) number = number << 8 | std::to_integer<std::uint32_t>(byte);
  return number;
}

}  // namespace

FrameRules::FrameRules(const FrameLimits& limits, std::int64_t now_ns)
    : limits_(limits),
      opened_ns_(now_ns),
      control_(limits.control, now_ns),
      resets_(limits.resets, now_ns),
      window_updates_(limits.window_updates, now_ns) {}

Status FrameRules::take(std::span<const std::byte> bytes, std::int64_t now_ns) {
  // A piece may end anywhere within a frame: members keep the part of the head that has arrived.
  while (!bytes.empty()) {
    std::size_t taken = 0;
    if (num_preface_ < kPreface.size()) {
      taken = take_preface(bytes);
      if (taken == 0) return not_http2("the preface is another one");
    } else if (num_head_ < head_.size()) {
      taken = take_head(bytes);
      if (num_head_ == head_.size()) {
        const std::span<const std::byte> head(head_);
        frame_ = {big_endian(head.first(3)), std::to_integer<std::uint8_t>(head[3]),
                  std::to_integer<std::uint8_t>(head[4]),
                  // The highest bit is reserved; a receiver ignores it.
                  big_endian(head.subspan(5)) & 0x7FFF'FFFF};
        SLUICE_TRY(begin_frame(frame_, now_ns));
        payload_left_ = frame_.num_bytes;
        if (payload_left_ == 0) end_frame();
      }
    } else {
      taken = std::min<std::size_t>(bytes.size(), payload_left_);
      payload_left_ -= static_cast<std::uint32_t>(taken);
      if (payload_left_ == 0) end_frame();
    }
    bytes = bytes.subspan(taken);
  }
  return ok_status();
}

/// 0 if they differ.
std::size_t FrameRules::take_preface(std::span<const std::byte> bytes) {
  const std::size_t size = std::min(bytes.size(), kPreface.size() - num_preface_);
  if (std::memcmp(bytes.data(), kPreface.data() + num_preface_, size) != 0) return 0;
  num_preface_ += size;
  return size;
}

std::size_t FrameRules::take_head(std::span<const std::byte> bytes) {
  const std::size_t size = std::min(bytes.size(), head_.size() - num_head_);
  std::memcpy(head_.data() + num_head_, bytes.data(), size);
  num_head_ += size;
  return size;
}

Status FrameRules::begin_frame(const Frame& frame, std::int64_t now_ns) {
  if (!is_greeted_ && (frame.type != kSettings || (frame.flags & kAck) != 0)) {
    return not_http2("the first frame is not SETTINGS");
  }
  // Inside a header block only its CONTINUATION frames are legal (section 6.10).
  if (block_stream_ != 0) return go_on_with_headers(frame);
  if (frame.type != kData && frame.num_bytes > limits_.frame_bytes) {
    return too_much("bytes of a frame");
  }
  if (frame.type == kHeaders) return begin_headers(frame, now_ns);
  return check_rate(frame, now_ns);
}

Status FrameRules::check_rate(const Frame& frame, std::int64_t now_ns) {
  switch (frame.type) {
    case kContinuation: return not_http2("CONTINUATION without HEADERS");
    case kPushPromise: return not_http2("a client promised a push");
    case kData:
      // DATA with content is bounded by flow control. Empty or padded frames cost work and no
      // window, so they count as control frames.
      if (frame.num_bytes > 0 && (frame.flags & kPadded) == 0) return ok_status();
      if ((frame.flags & kEndStream) != 0) return ok_status();
      break;
    case kSettings:
      if (frame.num_bytes > limits_.settings_bytes) return too_much("bytes of SETTINGS");
      break;
    case kResetStream:
      return resets_.take(now_ns) ? ok_status() : too_much("RST_STREAM frames a second");
    case kWindowUpdate:
      return window_updates_.take(now_ns) ? ok_status() : too_much("WINDOW_UPDATE frames a second");
    default: break;
  }
  return control_.take(now_ns) ? ok_status() : too_much("control frames a second");
}

Status FrameRules::begin_headers(const Frame& frame, std::int64_t now_ns) {
  if (frame.stream == 0) return not_http2("HEADERS of no stream");
  block_stream_ = frame.stream;
  block_bytes_ = frame.num_bytes;
  block_frames_ = 1;
  // Counted from HEADERS: slow CONTINUATION frames do not renew the time.
  block_since_ns_ = now_ns;
  return ok_status();
}

Status FrameRules::go_on_with_headers(const Frame& frame) {
  if (frame.type != kContinuation || frame.stream != block_stream_) {
    return not_http2("another frame in a header block");
  }
  // Neither can overflow: the lengths of frames have 24 bits.
  block_bytes_ += frame.num_bytes;
  ++block_frames_;
  if (block_bytes_ > limits_.header_block_bytes) return too_much("bytes of a header block");
  if (block_frames_ > limits_.header_block_frames) return too_much("frames of a header block");
  return ok_status();
}

void FrameRules::end_frame() {
  num_head_ = 0;
  is_greeted_ = true;  // the first frame was SETTINGS
  if (block_stream_ == 0 || (frame_.flags & kEndHeaders) == 0) return;
  block_stream_ = 0;
  has_called_ = true;
}

Status FrameRules::check_time(std::int64_t now_ns) const {
  const auto late = [](std::string_view what) {
    return make_error(Code::kDeadlineExceeded, "too slow: {}", what);
  };
  if (!is_greeted_ && now_ns - opened_ns_ > limits_.greeting_ns) return late("no HTTP/2 greeting");
  if (!has_called_ && now_ns - opened_ns_ > limits_.first_call_ns) return late("no call");
  if (block_stream_ != 0 && now_ns - block_since_ns_ > limits_.header_block_ns) {
    return late("a header block stays incomplete");
  }
  return ok_status();
}

}  // namespace sluice::http2
