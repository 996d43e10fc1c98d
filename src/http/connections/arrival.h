// A request while it arrives, whatever its wire.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "http/call.h"

namespace sluice::http {

/// Why a request is not served: the reply's status and its message.
struct Refusal {
  int status = 400;
  std::string message;
};

/// Used by one thread.
class Arrival {
 public:
  explicit Arrival(terms::Peer peer) { request_.peer = std::move(peer); }

  /// A field of the head; its name has any case. The first of repeated fields counts, where two are
  /// no fault. Returns why the request is refused.
  std::optional<Refusal> take_field(std::string_view name, std::string_view value);
  bool has_host() const { return has_host_; }
  /// The client waits for a word before it sends the body (RFC 9110, section 10.1.1).
  bool waits_for_word() const { return waits_for_word_; }
  Request& request() { return request_; }

  /// The head is complete. `announced_bytes`: of the body; 0 if the head does not say.
  void begin_body(std::shared_ptr<ByteBudget> budget, std::size_t announced_bytes,
                  std::int64_t limit_bytes, std::int64_t now_ns);
  bool has_body() const { return body_ != nullptr; }
  Body& body() { return *body_; }
  /// Announced bytes that have yet to come.
  std::size_t left_bytes() const { return announced_bytes_ - body_->size(); }
  /// Room for more of the body, if there is none. It grows with what has come, because the head may
  /// lie. Fails: as Body::reserve.
  Status make_room();
  /// Fails: as make_room.
  Status add(std::string_view bytes);
  /// When the next byte of the body is late, after one at `last_ns`. A body may come slowly, but
  /// not a byte at a time: what it takes of the budget is everybody's.
  std::int64_t late_ns(std::int64_t last_ns, std::int64_t idle_ns) const;

  /// The body is complete. Once.
  Request take();

 private:
  std::optional<Refusal> take_coding(std::string_view value);

  Request request_;
  std::shared_ptr<Body> body_;
  std::size_t announced_bytes_ = 0;
  std::int64_t body_began_ns_ = 0;
  bool has_host_ = false;
  bool has_origin_ = false;
  bool has_coding_ = false;
  bool waits_for_word_ = false;
};

/// The status and the words for a body that does not fit.
Refusal body_refusal(const Status& status);

}  // namespace sluice::http
