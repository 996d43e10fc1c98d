// What tensor queues add to a request of a small model: per tensor, with a thread that enqueues as
// fast as it can, and with one that waits for each request. Target of the latter: at most 1
// microsecond.
#include <algorithm>
#include <atomic>
#include <vector>

#include "runtime/inference/thread_driver.h"
#include "runtime/networks.h"
#include "session/queue_manager.h"

namespace sluice::bench {
namespace {

constexpr int kWidth = 64;
constexpr int kRequests = 20'000;
constexpr int kRounds = 21;
constexpr int kDepth = 4;
constexpr std::int64_t kBytes = kWidth * 4;

template <typename Run>
double best_ns(const Run& run) {
  double best = 1e18;
  for (int round = 0; round < kRounds; ++round) {
    const std::int64_t start = system_clock().now_ns();
    run();
    best = std::min(best, static_cast<double>(system_clock().now_ns() - start) / kRequests);
  }
  return best;
}

void count(void* context, const session::QueueCompletion& /*completion*/) {
  static_cast<std::atomic<int>*>(context)->fetch_add(1, std::memory_order_release);
}

/// Nanoseconds of a request that passes the queues.
double through_queues(runtime::RequestSink& model, bool waits_for_each, std::byte* x,
                      std::byte* y) {
  session::QueueOptions options;
  options.capacity = 64;
  const auto queues = value_of(session::QueueManager::create(model, options));
  return best_ns([&] {
    std::atomic<int> num_done = 0;
    int num_enqueued = 0;
    const auto is_done = [&] { return num_done.load(std::memory_order_acquire) == num_enqueued; };
    for (int i = 0; i < kRequests; ++i) {
      check(queues->inputs()[0].enqueue(x, kBytes, {}, kNoDeadline));
      check(queues->outputs()[0].enqueue(y, kBytes, {count, &num_done}, kNoDeadline));
      ++num_enqueued;
      if (waits_for_each) model.wait(is_done, kNoDeadline);
    }
    model.wait(is_done, kNoDeadline);
  });
}

void run() {
  const auto registry = backend::BackendRegistry::discover();
  runtime::ThreadDrivers drivers;
  runtime::Engine engine(registry, drivers, this_machine());
  runtime::LoadRequest request;
  request.executable = products(3, kWidth);
  request.depth = kDepth;
  const auto model = value_of(engine.sink(value_of(engine.load(request))));
  Caller caller(kWidth);
  const double direct = best_ns([&] {
    for (int i = 0; i < kRequests; ++i) {
      check(runtime::infer(*model, caller.request()).errors.to_status());
    }
  });
  fmt::print("a request of the engine       {:8.0f} ns\n", direct);
  MutableBytes memory(2 * kBytes);
  std::byte* x = memory.view().data();
  for (const bool waits_for_each : {false, true}) {
    const double queued = through_queues(*model, waits_for_each, x, x + kBytes);
    fmt::print("through queues, {} {:8.0f} ns: {:.2f} us per tensor\n",
               waits_for_each ? "one by one " : "all at once", queued, (queued - direct) / 2e3);
  }
}

}  // namespace
}  // namespace sluice::bench

int main() { sluice::bench::run(); }
