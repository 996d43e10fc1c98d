// Asks an HTTP/2 client to send its next calls over a new connection.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "http2/frames.h"

namespace sluice::rpc::server {

/// Follows the frames that a server sends, and puts one frame GOAWAY between two of them once it is
/// asked to. The frame names the highest stream (RFC 9113, section 6.8): calls in flight go on, and
/// so do those that the client begins before it has read the frame. gRPC's own GOAWAY, of
/// Server::Shutdown, cancels the latter. Used by one thread.
class Goodbye {
 public:
  /// The frame goes out once, at the next place between two frames.
  void ask() { is_asked_ = true; }
  /// Follows bytes that are sent. Returns them with the frame, or nothing if it has no place there:
  /// then they are sent as they are. `bytes` may be empty: they were followed before.
  std::vector<std::byte> take(std::span<const std::byte> bytes);

 private:
  std::size_t follow(std::span<const std::byte> bytes);
  bool is_between_frames() const { return num_head_ == 0 && !is_first_ && !is_in_headers_; }

  std::array<std::byte, http2::kFrameHeadBytes> head_ = {};
  std::size_t num_head_ = 0;  ///< bytes of it that came; 0: between two frames
  std::uint32_t payload_left_ = 0;
  bool is_first_ = true;        ///< SETTINGS, which no other frame may precede
  bool is_in_headers_ = false;  ///< a header block goes on
  bool is_asked_ = false;
};

}  // namespace sluice::rpc::server
