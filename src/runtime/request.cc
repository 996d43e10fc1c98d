#include "runtime/request.h"

#include <atomic>
#include <utility>

namespace sluice::runtime {

Reply infer(RequestSink& sink, Request request) {
  std::atomic<bool> is_done = false;
  Reply reply;
  request.on_done = [&](Reply answer) {
    reply = std::move(answer);
    is_done.store(true, std::memory_order_release);
  };
  request.will_wait = true;
  const auto id = sink.submit(request);
  if (!id.is_ok()) return {runtime_code_of(id.status()), ErrorList(id.status()), {}, {}};
  // The deadline is the sink's to keep: it answers in any case.
  sink.wait([&] { return is_done.load(std::memory_order_acquire); }, kNoDeadline);
  return reply;
}

}  // namespace sluice::runtime
