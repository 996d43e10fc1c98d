// The rules that a client's HTTP/2 frames must keep before nghttp2 sees them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "service/clients/allowance.h"

namespace sluice::http2 {

struct FrameLimits {
  /// Limits of a HEADERS frame and the CONTINUATION frames behind it.
  std::uint32_t header_block_bytes = 64 << 10;
  std::uint32_t header_block_frames = 16;
  /// Limit of every frame but DATA, which flow control bounds.
  std::uint32_t frame_bytes = 16 << 10;
  std::uint32_t settings_bytes = 1 << 10;
  /// PING, SETTINGS, PRIORITY, GOAWAY, unknown frames, DATA that carries nothing.
  Rate control = {.burst = 100, .per_second = 20};
  /// A client that cancels all of its calls resets as many streams as a connection may have.
  Rate resets = {.burst = 1024, .per_second = 250};
  Rate window_updates = {.burst = 50'000, .per_second = 50'000};
  /// For the preface and the first SETTINGS; for the first call; for a header block.
  std::int64_t greeting_ns = 10'000'000'000;
  std::int64_t first_call_ns = 30'000'000'000;
  std::int64_t header_block_ns = 10'000'000'000;
};

/// Follows the frames of one connection, from the preface on. It keeps a few numbers and no bytes,
/// and decodes no headers. RFC 9113 defines the frames. Used by one thread.
///
///     preface --> first frame: SETTINGS --> any frame <--> header block: CONTINUATION only
class FrameRules {
 public:
  FrameRules(const FrameLimits& limits, std::int64_t now_ns);

  /// The next bytes that the client sent. After an error the connection must end.
  /// Fails: kInvalidArgument for bytes that are not HTTP/2; kResourceExhausted over a limit.
  Status take(std::span<const std::byte> bytes, std::int64_t now_ns);

  /// Fails: kDeadlineExceeded for a client that is too slow. For a look now and then.
  Status check_time(std::int64_t now_ns) const;

  /// The preface and the first SETTINGS are complete.
  bool is_greeted() const { return is_greeted_; }
  /// A header block was complete.
  bool has_called() const { return has_called_; }

 private:
  struct Frame {
    std::uint32_t num_bytes = 0;
    std::uint8_t type = 0;
    std::uint8_t flags = 0;
    std::uint32_t stream = 0;
  };

  std::size_t take_preface(std::span<const std::byte> bytes);
  std::size_t take_head(std::span<const std::byte> bytes);
  Status begin_frame(const Frame& frame, std::int64_t now_ns);
  Status check_rate(const Frame& frame, std::int64_t now_ns);
  Status begin_headers(const Frame& frame, std::int64_t now_ns);
  Status go_on_with_headers(const Frame& frame);
  void end_frame();

  FrameLimits limits_;
  std::int64_t opened_ns_;
  Allowance control_;
  Allowance resets_;
  Allowance window_updates_;
  std::size_t num_preface_ = 0;  ///< bytes of it that came
  std::array<std::byte, 9> head_ = {};
  std::size_t num_head_ = 0;
  std::uint32_t payload_left_ = 0;
  Frame frame_;
  std::uint32_t block_stream_ = 0;  ///< whose header block goes on; 0: none
  std::uint32_t block_bytes_ = 0;
  std::uint32_t block_frames_ = 0;
  std::int64_t block_since_ns_ = 0;
  bool is_greeted_ = false;
  bool has_called_ = false;
};

}  // namespace sluice::http2
