#include "runtime/request/awaited_reply.h"

#include <utility>

namespace sluice::runtime {

Reply AwaitedReply::wait(RequestSink& sink) {
  sink.wait([this] { return is_there_.load(std::memory_order_acquire); }, kNoDeadline);
  return std::move(reply_);
}

}  // namespace sluice::runtime
