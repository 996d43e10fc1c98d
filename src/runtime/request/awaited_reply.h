// The reply of a request, for the thread that waits for it.
#pragma once

#include <atomic>
#include <functional>
#include <utility>

#include "runtime/request/request.h"

namespace sluice::runtime {

/// Used by the thread that submits: `on_done`, then RequestSink::submit, then `wait` if the request
/// was taken. Outlives the request.
class AwaitedReply {
 public:
  /// For the request, whose will_wait is set.
  std::function<void(Reply)> on_done() {
    return [this](Reply reply) {
      reply_ = std::move(reply);
      is_there_.store(true, std::memory_order_release);
    };
  }
  /// Works at the model until the reply is there. No deadline: the sink itself ends the request at
  /// its deadline.
  Reply wait(RequestSink& sink);

 private:
  Reply reply_;
  std::atomic<bool> is_there_ = false;
};

}  // namespace sluice::runtime
