// A request and its reply on one stream of HTTP/2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "http/connections/arrival.h"

namespace sluice::http {

///     the head comes --> the body comes --> computing --> replying --> (closed)
///           |                  |                             ^
///           +---- is refused --+-----------------------------+
///
/// Used by one thread.
struct Http2Stream {
  explicit Http2Stream(terms::Peer peer) : arrival(std::move(peer)) {}

  /// A field of the head, pseudo-fields too. Returns why the request is refused.
  std::optional<Refusal> take_field(std::string_view name, std::string_view value);
  /// From now on the reply is sent.
  void begin_reply(Reply of_request);
  /// The next bytes of the reply, at most as many as fit; 0: none now.
  std::size_t read(std::span<std::uint8_t> to);
  /// Nothing of the reply is left, and nothing comes.
  bool is_read() const { return unsent.empty() && reply.stream == nullptr; }
  /// When the client is too slow, after `moved_ns`; kNoDeadline: it has nothing to do.
  std::int64_t late_ns(std::int64_t idle_ns) const;

  Arrival arrival;
  std::size_t head_bytes = 0;
  std::size_t announced_bytes = 0;  ///< of the body; 0: not said
  std::int64_t moved_ns = 0;        ///< when bytes came or went last
  std::optional<Refusal> refusal;   ///< found in the head
  bool is_head_only = false;        ///< the client wants no body
  bool is_complete = false;         ///< all of the request has come
  bool is_computing = false;
  bool is_replying = false;
  bool is_deferred = false;  ///< the reply waits for whoever computes it
  bool is_reset = false;
  Cancel cancel;
  Reply reply;
  std::vector<std::string_view> unsent;  ///< of the reply, behind its head
  std::string piece;                     ///< of its stream
};

}  // namespace sluice::http
